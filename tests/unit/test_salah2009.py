# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings and report of salah2009 on schemes that are formulas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irqlab.methods.cliff import External, Internal
from irqlab.methods.receiving import spec_of
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.salah2009 import cliffs, loads, overload, ping, rows
from irqlab.reproduce.salah2009.findings import findings
from irqlab.reproduce.salah2009.loads import PLAN, Cliffs, Curve, Offer
from irqlab.reproduce.salah2009.report import sections
from irqlab.reproduce.salah2009.rows import Row
from irqlab.trials.application import ApplicationResult, ApplicationTrial
from tests.unit.test_application import formula

AT = Cliffs(25_000.0, 16_000.0)
GAIN = {rows.DE: 0.01, rows.NAPI: 1.0, rows.NAPI_2: 0.7, rows.HYBRID: 0.7, rows.ADAPTIVE: 0.99}
"""The schemes in an overload, compared with the formula."""


def measured(row: Row, spec: ApplicationTrial) -> ApplicationResult:
    made = formula(spec)
    gain = GAIN.get(row.scheme, 0.5)
    latency = {name: round(50_000 / max(gain, 0.5)) for name in ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")}
    received = made.application_pps * (gain if made.offered_pps > 30_000 else 1)
    return replace(
        made, application_pps=received, latency={"count": 9, **latency}, interrupts_per_s=made.offered_pps if gain < 1 else 100.0,
        ksoftirqd_share=0.5 if made.offered_pps > 30_000 else 0.0, switches=2,
    )  # fmt: skip


def curve(row: Row, offer: Offer) -> Curve:
    receiving = tuple((load, measured(row, spec_of(PLAN, load * AT.receiving_pps, row.tuning))) for load in offer.receiving)
    echoing = tuple((load, measured(row, spec_of(PLAN, load * AT.echoing_pps, row.tuning, echo=True))) for load in offer.echoing)
    return Curve(row, receiving, echoing)


@pytest.fixture
def tables() -> Tables:
    competing = rows.competing(AT.receiving_pps)
    offer = Offer.of(quick=True)
    named = [("ours", curve(row, offer)) for row in competing]
    today = [("ours", curve(settings[0], offer)) for settings in rows.of_today(True, True).values()]
    budgets = [("ours", curve(row, Offer.brief(quick=True))) for row in (rows.napi(2), rows.napi(300), rows.budget_alone(2))]
    sweep = tuple(formula(spec_of(PLAN, rate, rows.de().tuning)) for rate in (10_000.0, 50_000.0))
    outside = External({"cpu": 25_000.0, "throughput": 40_000.0, "loss": None}, sweep)
    inside = Internal(12_500.0, 7000.0, 40_000.0, 500.0, 1.0)
    found = (outside, replace(outside, signs_pps={"cpu": 16_000.0, "throughput": None, "loss": None}), inside)
    at_overload = [
        (load, row, (measured(row, spec_of(PLAN, load * AT.receiving_pps, row.tuning)), dict.fromkeys(PARTS, 0.25)))
        for load in overload.LOADS
        for row in competing
    ]
    long = [(row, measured(row, spec_of(PLAN, 4 * AT.receiving_pps, row.tuning))) for row in competing]
    estimator = Data("e", ("load_of_cliff", "offered_pps", "taken_pps", "missed_pps", "estimate_pps", "error", "read_in_window"))
    estimator.add(load_of_cliff=0.5, offered_pps=10_000.0, taken_pps=10_000.0, missed_pps=0.0, estimate_pps=9_990, error=-0.001)
    estimator.add(
        load_of_cliff=4.0, offered_pps=100_000.0, taken_pps=40_000.0, missed_pps=60_000.0, estimate_pps=40_000, error=-0.6
    )
    switches = Data("s", ("arrivals", "epsilon", "offered_pps", "application_pps", "switches", "switches_per_s"))
    for epsilon, per_s in ((0.0, 20.0), (0.15, 0.0)):
        switches.add(arrivals="poisson", epsilon=epsilon, switches=1, switches_per_s=per_s)
    settling = Data("t", ("step_of_cliff", "windows"), [[2.0, 4], [4.0, 2]])
    return {
        "cliff": cliffs.table(found), "cliff_costs": cliffs.internal_table(found), "cliff_sweep": cliffs.curve_table(found),
        "budget": loads.receiving_table("b", budgets), "budget_round_trip": loads.echoing_table("b", budgets),
        "application": loads.receiving_table("a", [*named, *today]), "round_trip": loads.echoing_table("r", [*named, *today]),
        "sweep": loads.receiving_table("w", today), "sweep_round_trip": loads.echoing_table("w", today),
        "ping": ping.table([(row, [measured(row, spec_of(PLAN, 1000.0, row.tuning))]) for row in competing]),
        "overload": overload.profile_table(at_overload), "starvation": overload.starvation_table(long),
        "estimator": estimator, "switches": switches, "settling": settling,
    }  # fmt: skip


PARTS = ("hardirq", "softirq", "process_kernel", "user")


def test_findings_say_where_hybrid_loses(tables: Tables) -> None:
    said = "\n".join(findings(tables))
    assert "DE starves the application" in said
    assert "hybrid does not starve the application" in said
    assert "At 4 times the cliff hybrid gives the application" in said
    assert "less than NAPI (300)'s" in said
    assert "at least DE's" in said
    assert "Adaptive is never more than" in said
    assert "fewest at e = 0.15 (the paper: 0.15)" in said
    assert "Hybrid's interrupts do not fall to zero (the paper: at 1.3 times the cliff)" in said
    assert "more than two windows after a step from nothing to 2 times the cliff: 4" in said
    assert "at 4 times the cliff (-60 %)" in said
    assert "8139cp" not in said


def test_findings_change_with_the_figures(tables: Tables) -> None:
    for data in (tables["application"], tables["starvation"]):
        for row in data.rows:
            row[data.columns.index("application_pps")] = 1000.0
    said = "\n".join(findings(tables))
    assert "starves the application" not in said
    assert "less than NAPI (300)'s" not in said


def test_interrupts_that_fall_to_zero_are_said_to(tables: Tables) -> None:
    data = tables["application"]
    load, interrupts = data.columns.index("load_of_cliff"), data.columns.index("interrupts_per_s")
    for row in data.rows:
        row[interrupts] = 100.0 if row[load] == 4.0 else row[data.columns.index("offered_pps")]
    said = "\n".join(findings(tables))
    assert "gone, to 1.0 % of the frames, from 4 times the cliff on (the paper: 1.3)" in said
    assert "at 2 times a poll finds the ring empty behind the frames it takes, and unmasks (1.00 interrupts a frame)" in said


def test_an_estimator_that_is_right_is_said_to_be(tables: Tables) -> None:
    tables["estimator"].rows[1][tables["estimator"].columns.index("error")] = -0.007
    said = "\n".join(findings(tables))
    assert "within 3 % of the offered rate at every load from 10.0 to 100.0 kpps (0.70 % at worst)" in said
    assert "the NIC refuses up to 60.0 % of the frames" in said


def test_every_section_has_its_plots_and_tables(tables: Tables) -> None:
    found = {section.id: section for section in sections(tables)}
    assert list(found) == ["cliff", "budget", "figure7", "ping", "switching", "today", "why"]
    assert len(found["figure7"].groups[0].plots) == 8
    assert all("<svg" in str(plot.svg) for section in found.values() for group in section.groups for plot in group.plots)


def test_in_tree_drivers_have_no_schemes_to_set() -> None:
    theirs = rows.of_today(ours=False, quick=False)
    assert list(theirs) == [rows.NAPI, rows.THREADED, rows.DEFERRED, rows.BUSY]
    assert not any(row.tuning.schemes.asked for settings in theirs.values() for row in settings)
    assert len({row.name for settings in theirs.values() for row in settings}) == sum(len(s) for s in theirs.values())
