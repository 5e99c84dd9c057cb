# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the reproduction; their fields' names are those of the CSV files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irqlab.reproduce.spanos2008.causes import CollapseCauseRow, InterruptCauseRow, ThroughputCauseRow
from irqlab.reproduce.spanos2008.curves import CollapseRow, LoadRow
from irqlab.reproduce.spanos2008.durations import DisturbedRow, LongRow
from irqlab.reproduce.spanos2008.hardware import CellRow, ErrorRow, TermRow
from irqlab.reproduce.spanos2008.interrupts import InterruptRow
from irqlab.reproduce.spanos2008.model import ModelRow, ModelSizeRow
from irqlab.reproduce.spanos2008.phases import PhaseRow
from irqlab.reproduce.spanos2008.throughput import GainRow, ThroughputRow
from irqlab.reproduce.spanos2008.today import TodayRow
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
