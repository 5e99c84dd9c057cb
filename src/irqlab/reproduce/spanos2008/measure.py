# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything the paper measured, in the order in which one needs it."""

from __future__ import annotations

from dataclasses import fields

from irqlab.reproduce.session import Session
from irqlab.reproduce.spanos2008 import causes, curves, durations, hardware, interrupts, model, phases, throughput, today
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.tables import RunTables, Tables


def measure(session: Session) -> Tables:
    """All tables; those with the costs of hardware if the session has a board."""
    run = Run(session)
    plain, searched = _run(run)
    measured = {field.name: getattr(plain, field.name) for field in fields(plain)} | {
        "causes_throughput": causes.throughputs(run),
        "causes_collapse": causes.collapses(run),
        "causes_interrupts": causes.table3(run),
        "long_trials": durations.measure(run, searched.wire) if session.long else None,
        "long_disturbed": durations.disturbed(run, searched.wire) if session.long else None,
    }
    board = session.hardware
    if board is None:
        return Tables(**measured)
    charged, found = _run(Run(session, board))
    cells = hardware.cells(board, plain.table1_throughput, charged.table1_throughput, found.free)
    return Tables(
        **measured,
        hardware=charged,
        hardware_cells=hardware.table(cells),
        hardware_errors=hardware.errors(cells),
        hardware_terms=hardware.terms(board, cells),
    )


def _run(run: Run) -> tuple[RunTables, throughput.Searched]:
    sizes = throughput.QUICK_SIZES if run.quick else throughput.SIZES
    found = throughput.search(run, sizes)
    loads = curves.measure(run, found.wire)
    profiles = phases.measure(run, found.wire, sizes[:1])
    arrived = interrupts.measure(run)
    table1 = throughput.table1(found)
    fits = model.fits(table1)
    tables = RunTables(
        table1_throughput=table1,
        table2_improvement=throughput.table2(table1),
        table3_interrupts=interrupts.table3(arrived),
        figure5_curves=curves.figure5(loads),
        figure5_collapse=curves.livelock(loads),
        table4_model=model.table4(fits),
        figure6_model=model.figure6(fits, table1),
        table5_phases=phases.table5(profiles, None if run.quick else found.wire),
        today=None if run.quick else today.measure(run, sizes, table1),
    )
    return tables, found
