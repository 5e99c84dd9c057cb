# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the reproduction; their fields' names are those of the CSV files."""

from __future__ import annotations

from dataclasses import dataclass

from irqlab.reproduce.salah2009.cliffs import CliffRow, CostRow, SweepRow
from irqlab.reproduce.salah2009.experiments import ConditionRow, ExperimentRow
from irqlab.reproduce.salah2009.loads import EchoingRow, ReceivingRow
from irqlab.reproduce.salah2009.overload import OverloadRow, StarvationRow
from irqlab.reproduce.salah2009.ping import PingRow
from irqlab.reproduce.salah2009.switching import EstimateRow, OverTimeRow, SettlingRow, SwitchRow
from irqlab.reproduce.table import Table


@dataclass(frozen=True)
class Tables:
    """What the paper measured, and today's schemes."""

    cliff: Table[CliffRow]
    cliff_costs: Table[CostRow]
    cliff_sweep: Table[SweepRow]
    budget: Table[ReceivingRow]
    """NAPI with each budget (figure 6)."""
    budget_round_trip: Table[EchoingRow]
    application: Table[ReceivingRow]
    """Figure 7, and the schemes of today's kernel with their best settings; the paper's driver first."""
    round_trip: Table[EchoingRow]
    sweep: Table[ReceivingRow]
    """Every setting of today's schemes."""
    sweep_round_trip: Table[EchoingRow]
    ping: Table[PingRow]
    switches: Table[SwitchRow]
    estimator: Table[EstimateRow]
    over_time: Table[OverTimeRow]
    """The estimate under loads that change."""
    settling: Table[SettlingRow]
    overload: Table[OverloadRow]
    starvation: Table[StarvationRow]
    experiments: Table[ExperimentRow] | None = None
    """None: not asked for (--long)."""
    cliff_conditions: Table[ConditionRow] | None = None
    """The same."""

    @property
    def driver(self) -> str:
        """The driver on which the paper's schemes were compared."""
        return self.application.rows[0].driver
