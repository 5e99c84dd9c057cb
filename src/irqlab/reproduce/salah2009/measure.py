# SPDX-License-Identifier: GPL-2.0-or-later
"""All of the paper's measurements, in their order: the cliff first, since all loads are shares of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from irqlab.errors import IrqlabError
from irqlab.reproduce.salah2009 import cliffs, experiments, loads, overload, ping, rows, switching
from irqlab.reproduce.salah2009.cliffs import CliffRow, CostRow, SweepRow
from irqlab.reproduce.salah2009.experiments import ConditionRow, ExperimentRow
from irqlab.reproduce.salah2009.loads import Cliffs, EchoingRow, Offer, ReceivingRow
from irqlab.reproduce.salah2009.overload import OverloadRow, StarvationRow
from irqlab.reproduce.salah2009.ping import PingRow
from irqlab.reproduce.salah2009.rows import Row
from irqlab.reproduce.salah2009.switching import EstimateRow, OverTimeRow, SettlingRow, SwitchRow
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import Batch, Done, run
from irqlab.runner.jobs import Job
from irqlab.trials.testbed import Testbed

INTREE = ("8139cp", "e1000")


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


def measure(session: Session) -> Tables:
    """Every table. Raises IrqlabError for a driver whose receive scheme cannot be set."""
    testbed = session.testbed()
    if testbed.scheme_names()["rx_scheme"] is None:
        raise IrqlabError(
            f"the paper compares receive schemes, and {testbed.driver} has none that can be set: try irqmod_rtl8139cp"
        )
    find = partial(cliffs.find, row=rows.de(), quick=session.quick)
    found = session.all("the cliff", {"": Job("the cliff", testbed, find)})[""]
    at = cliffs.cliffs_of(found)
    chosen, cliff_pps = rows.competing(at.receiving_pps), at.receiving_pps
    paper = _curves(session, testbed, chosen, at, Offer.of(session.quick))
    today, sweeps = _today(session, at)
    every = [*paper, *today]
    budgets = _curves(session, testbed, _budgets(session.quick), at, Offer.budgets(session.quick))
    return Tables(
        cliff=cliffs.table(found),
        cliff_costs=cliffs.internal_table(found),
        cliff_sweep=cliffs.curve_table(found),
        budget=loads.receiving_table("Figure 6(a): NAPI's budget, receiving", budgets),
        budget_round_trip=loads.echoing_table("Figure 6(b): NAPI's budget, round trip", budgets),
        application=loads.receiving_table("Figure 7: the receiving application", every),
        round_trip=loads.echoing_table("Figure 7(c), (d): round trip through the application", every),
        sweep=loads.receiving_table("Settings of today's schemes, receiving", sweeps),
        sweep_round_trip=loads.echoing_table("Settings of today's schemes, round trip", sweeps),
        ping=ping.measure(session, testbed, chosen),
        switches=switching.at_the_cliff(session, testbed, cliff_pps),
        estimator=switching.estimates(session, testbed, cliff_pps),
        over_time=switching.over_time(session, testbed, cliff_pps),
        settling=switching.settling(session, testbed, cliff_pps),
        overload=overload.profiles(session, testbed, chosen, cliff_pps),
        starvation=overload.starvation(session, testbed, chosen, cliff_pps),
        experiments=experiments.measure(session, cliff_pps) if session.long else None,
        cliff_conditions=experiments.cliffs(session) if session.long else None,
    )


def _curves(session: Session, testbed: Testbed, chosen: Sequence[Row], at: Cliffs, offer: Offer) -> list[Done]:
    batches = [Batch(row.name, testbed, loads.curve(row, at, offer)) for row in chosen]
    found = run(session, f"{testbed.driver} under an application", batches)
    return [({"driver": testbed.driver, **columns}, r) for columns, r in found]


def _budgets(quick: bool) -> list[Row]:
    budgets = rows.PAPER_BUDGETS if quick else rows.BUDGETS
    return [*(rows.napi(budget) for budget in budgets), rows.budget_alone(rows.HYBRID_BUDGET)]


def _today(session: Session, at: Cliffs) -> tuple[list[Done], list[Done]]:
    """Today's schemes: the best setting of each at all loads, and the sweep that found it. The quick look has none."""
    best: list[Done] = []
    sweeps: list[Done] = []
    if session.quick:
        return best, sweeps
    testbed = session.testbed()
    for one in (testbed, *(_intree(session, name) for name in INTREE)):
        chosen: list[Row] = []
        for settings in rows.of_today(one is testbed).values():
            if len(settings) > 1:
                curves = _curves(session, one, settings, at, Offer.sweep())
                sweeps += curves
                scores = {row.name: (loads.score(row, curves), -len(row.setting)) for row in settings}
                settings = [max(settings, key=lambda row: scores[row.name])]
            chosen += settings
        best += _curves(session, one, chosen, at, Offer.of(quick=False) if one is testbed else Offer.brief())
    return best, sweeps


def _intree(session: Session, name: str) -> Testbed:
    config = session.config
    return session.testbed(driver=name, nic=None, dut=replace(config.dut, ring=None, module_parameters=""))
