# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything the paper measured, in the order in which one needs it."""

from __future__ import annotations

from irqlab.reproduce.paper import Tables
from irqlab.reproduce.session import Session
from irqlab.reproduce.spanos2008 import curves, hardware, interrupts, model, phases, throughput
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.throughput import Results

WITH_COSTS = "_hardware"
"""Behind the names of tables that were measured with the costs of hardware."""


def measure(session: Session) -> Tables:
    """The tables by the name of their CSV file."""
    tables, _ = _run(Run(session))
    board = session.hardware
    if board is None:
        return tables
    charged, found = _run(Run(session, board))
    cells = hardware.cells(board, tables["table1_throughput"], charged["table1_throughput"], found)
    return {
        **tables,
        **{f"{name}{WITH_COSTS}": data for name, data in charged.items()},
        "hardware_cells": hardware.table(cells),
        "hardware_errors": hardware.errors(cells),
        "hardware_terms": hardware.terms(board, cells),
    }


def _run(run: Run) -> tuple[Tables, Results]:
    sizes = throughput.QUICK_SIZES if run.quick else throughput.SIZES
    found = throughput.search(run, sizes)
    loads = curves.measure(run, found.wire)
    profiles = phases.measure(run, found.wire, sizes[:1])
    arrived = interrupts.measure(run)
    table1 = throughput.table1(found)
    fits = model.fits(table1)
    return {
        "table1_throughput": table1,
        "table2_improvement": throughput.table2(table1),
        "table3_interrupts": interrupts.table3(arrived),
        "figure5_curves": curves.figure5(loads),
        "figure5_collapse": curves.livelock(loads),
        "table4_model": model.table4(fits),
        "figure6_model": model.figure6(fits, table1),
        "table5_phases": phases.table5(profiles, found.wire),
    }, found.wire
