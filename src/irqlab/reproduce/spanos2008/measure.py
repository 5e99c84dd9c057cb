# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything the paper measured, in the order in which one needs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from irqlab.reproduce.session import Session
from irqlab.reproduce.spanos2008 import causes, curves, durations, fills, hardware, interrupts, model, phases, throughput
from irqlab.reproduce.spanos2008.causes import CollapseCauseRow, InterruptCauseRow, ThroughputCauseRow
from irqlab.reproduce.spanos2008.curves import CollapseRow, LoadRow
from irqlab.reproduce.spanos2008.durations import DisturbedRow, LongRow
from irqlab.reproduce.spanos2008.fills import FillFitRow, FillRow
from irqlab.reproduce.spanos2008.hardware import CellRow, ErrorRow, TermRow
from irqlab.reproduce.spanos2008.interrupts import InterruptRow
from irqlab.reproduce.spanos2008.model import ModelRow, ModelSizeRow
from irqlab.reproduce.spanos2008.phases import PhaseRow
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.throughput import GainRow, ThroughputRow, TodayRow
from irqlab.reproduce.table import Table


@dataclass(frozen=True)
class RunTables:
    """What the paper measured, measured once, and schemes of today."""

    table1_throughput: Table[ThroughputRow]
    table2_improvement: Table[GainRow]
    table3_interrupts: Table[InterruptRow]
    figure5_curves: Table[LoadRow]
    figure5_collapse: Table[CollapseRow]
    table4_model: Table[ModelRow]
    figure6_model: Table[ModelSizeRow]
    table5_phases: Table[PhaseRow]
    today: Table[TodayRow] | None = None
    """None: the quick look."""


@dataclass(frozen=True)
class Tables(RunTables):
    """Measured on the instruction clock alone, and once more with the costs of hardware if that was asked for."""

    causes_throughput: Table[ThroughputCauseRow] | None = None
    causes_collapse: Table[CollapseCauseRow] | None = None
    causes_interrupts: Table[InterruptCauseRow] | None = None
    long_trials: Table[LongRow] | None = None
    """None: not asked for (`--long`)."""
    long_disturbed: Table[DisturbedRow] | None = None
    fills: Table[FillRow] | None = None
    fills_fits: Table[FillFitRow] | None = None
    hardware: RunTables | None = None
    hardware_cells: Table[CellRow] | None = None
    hardware_errors: Table[ErrorRow] | None = None
    hardware_terms: Table[TermRow] | None = None

    def runs(self) -> Iterator[tuple[str, RunTables]]:
        """Both, with what each is called; without a name if there is but one."""
        if self.hardware is None:
            yield "", self
        else:
            yield "Instructions alone", self
            yield "With the costs of hardware", self.hardware


def measure(session: Session) -> Tables:
    """All tables; those with the costs of hardware if the session has a board."""
    run = Run(session)
    plain, searched = _run(run)
    filled = fills.measure(run, searched.free) if session.long and session.first and not session.quick else None
    measured = {field.name: getattr(plain, field.name) for field in fields(plain)} | {
        "causes_throughput": causes.throughputs(run),
        "causes_collapse": causes.collapses(run),
        "causes_interrupts": causes.table3(run),
        "long_trials": durations.measure(run, searched.wire) if session.long else None,
        "long_disturbed": durations.disturbed(run, searched.wire) if session.long else None,
        "fills": filled,
        "fills_fits": fills.fits(filled) if filled else None,
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
        today=None if run.quick else throughput.today(run, sizes, table1),
    )
    return tables, found
