# SPDX-License-Identifier: GPL-2.0-or-later
"""All of the paper's measurements, in their order: the cliff first, since all loads are shares of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from irqlab.errors import IrqlabError
from irqlab.reproduce.salah2009 import cliffs, experiments, loads, overload, ping, rows, switching
from irqlab.reproduce.salah2009.cliffs import CliffRow, CostRow, SweepRow
from irqlab.reproduce.salah2009.experiments import ConditionRow, ExperimentRow
from irqlab.reproduce.salah2009.loads import Cliffs, Curve, EchoingRow, Offer, ReceivingRow
from irqlab.reproduce.salah2009.overload import OverloadRow, StarvationRow
from irqlab.reproduce.salah2009.ping import PingRow
from irqlab.reproduce.salah2009.rows import Row
from irqlab.reproduce.salah2009.switching import EstimateRow, OverTimeRow, SettlingRow, SwitchRow
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table
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
    paper = _curves(session, testbed, rows.competing(at.receiving_pps), at, Offer.of(session.quick))
    today, sweeps = _today(session, at)
    every = [*((testbed.driver, curve) for curve in paper), *today]
    budgets = [
        (testbed.driver, curve) for curve in _curves(session, testbed, _budgets(session.quick), at, Offer.budgets(session.quick))
    ]
    pings = _pings(session, testbed, at)
    switches, estimator, over_time, settling = _switching(session, testbed, at)
    profiles, starvation = _why(session, testbed, at)
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
        ping=pings,
        switches=switches,
        estimator=estimator,
        over_time=over_time,
        settling=settling,
        overload=profiles,
        starvation=starvation,
        experiments=experiments.measure(session, at.receiving_pps) if session.long else None,
        cliff_conditions=experiments.cliffs(session) if session.long else None,
    )


def _curves(session: Session, testbed: Testbed, chosen: Sequence[Row], at: Cliffs, offer: Offer) -> list[Curve]:
    jobs = {n: Job(row.name, testbed, partial(loads.curve, row=row, cliffs=at, offer=offer)) for n, row in enumerate(chosen)}
    return list(session.all(f"{testbed.driver} under an application", jobs).values())


def _budgets(quick: bool) -> list[Row]:
    budgets = rows.PAPER_BUDGETS if quick else rows.BUDGETS
    return [*(rows.napi(budget) for budget in budgets), rows.budget_alone(rows.HYBRID_BUDGET)]


def _today(session: Session, at: Cliffs) -> tuple[list[tuple[str, Curve]], list[tuple[str, Curve]]]:
    """Today's schemes: the best setting of each at all loads, and the sweep that found it. The quick look has none."""
    if session.quick:
        return [], []
    best: list[tuple[str, Curve]] = []
    sweeps: list[tuple[str, Curve]] = []
    testbed = session.testbed()
    for one in (testbed, *(_intree(session, name) for name in INTREE)):
        chosen: list[Row] = []
        for settings in rows.of_today(one is testbed).values():
            if len(settings) > 1:
                curves = _curves(session, one, settings, at, Offer.sweep())
                sweeps += [(one.driver, curve) for curve in curves]
                settings = [max(curves, key=lambda c: (c.score(), -len(c.row.setting))).row]
            chosen += settings
        offer = Offer.of(quick=False) if one is testbed else Offer.brief()
        best += [(one.driver, curve) for curve in _curves(session, one, chosen, at, offer)]
    return best, sweeps


def _intree(session: Session, name: str) -> Testbed:
    config = session.config
    return session.testbed(driver=name, nic=None, dut=replace(config.dut, ring=None, module_parameters=""))


def _pings(session: Session, testbed: Testbed, at: Cliffs) -> Table[PingRow]:
    chosen = rows.competing(at.receiving_pps)
    jobs = {n: Job(row.name, testbed, partial(ping.measure, row=row, quick=session.quick)) for n, row in enumerate(chosen)}
    found = session.all("pings", jobs)
    return ping.table([(row, found[n]) for n, row in enumerate(chosen)])


Switching = tuple[Table[SwitchRow], Table[EstimateRow], Table[OverTimeRow], Table[SettlingRow]]


def _switching(session: Session, testbed: Testbed, at: Cliffs) -> Switching:
    given: dict[str, Any] = {"cliff_pps": at.receiving_pps, "quick": session.quick}
    works: dict[str, Callable[..., Any]] = {
        "switches": switching.at_the_cliff,
        "estimator": switching.estimates,
        "estimator over time": switching.over_time,
        "settling": switching.settling,
    }
    jobs = {name: Job(name, testbed, partial(work, **given)) for name, work in works.items()}
    switches, estimator, over_time, settling = session.all("hybrid's switching", jobs).values()
    return switches, estimator, over_time, settling


def _why(session: Session, testbed: Testbed, at: Cliffs) -> tuple[Table[OverloadRow], Table[StarvationRow]]:
    chosen = rows.competing(at.receiving_pps)
    cliff_pps, plan = at.receiving_pps, loads.profiled_of(session.quick)
    jobs = {
        (load, n): Job(
            f"{row.name} at {load:g}x",
            testbed,
            partial(overload.profile, row=row, load=load, workload=plan, cliff_pps=cliff_pps),
        )
        for load in (overload.QUICK_LOADS if session.quick else overload.LOADS)
        for n, row in enumerate(chosen)
    }
    profiles = session.all("profiles", jobs)
    long_jobs = {
        n: Job(row.name, testbed, partial(overload.long, row=row, quick=session.quick, cliff_pps=cliff_pps))
        for n, row in enumerate(chosen)
    }
    long = session.all("seconds of overload", long_jobs)
    return (
        overload.profile_table([(load, chosen[n], found) for (load, n), found in profiles.items()]),
        overload.starvation_table([(row, long[n]) for n, row in enumerate(chosen)]),
    )
