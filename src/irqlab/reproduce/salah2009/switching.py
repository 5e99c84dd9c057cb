# SPDX-License-Identifier: GPL-2.0-or-later
"""Hybrid's switching: how often at the cliff, how soon after a step, and how well it estimates the rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from irqlab.config.traffic import Arrivals, Load
from irqlab.present.columns import Col
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import Batch, run, trial_table
from irqlab.trials.application import ApplicationResult, ApplicationTrial
from irqlab.trials.testbed import Testbed

EPSILONS_PERMILLE = (0, 50, 150, 300)
QUICK_EPSILONS_PERMILLE = (0, 150)
ARRIVALS: tuple[Arrivals, ...] = ("constant", "poisson", "bursts")
BURST_NS = 10_000_000
"""On and off: longer than a window of 8 ms, and no multiple of one."""
DURATION_NS, QUICK_DURATION_NS = 1_000_000_000, 200_000_000
WINDOW_NS = 8_000_000

ESTIMATED = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
QUICK_ESTIMATED = (0.9, 4.0)
LOWEST_PPS = 1000.0
READ_AFTER_NS = 150_000_000

READ_EVERY_NS = 8_000_000
READ_FROM_NS = 1_000_000
OVER_TIME_NS = 240_000_000
RAMP_STEPS = 20
LOW, HIGH = 0.5, 2.0
"""Of the cliff: between which the load changes."""
STEP_NS = OVER_TIME_NS // 2
STEP_DOWN = "step down"

STEPS = (1.5, 2.0, 3.0, 4.0)
QUICK_STEPS = (4.0,)
WINDOWS = (1, 2, 3, 4)


@dataclass(frozen=True)
class SwitchRow:
    """Hybrid with the mean of the load at the cliff."""

    arrivals: Annotated[str, Col("Arrivals")]
    epsilon: Annotated[float, Col("e")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    switches: Annotated[int | None, Col("Switches")]
    switches_per_s: Annotated[float | None, Col("a second")]


@dataclass(frozen=True)
class EstimateRow:
    """The driver's estimate of a constant load, read under that load; what it is made of, over the whole trial."""

    load_of_cliff: Annotated[float, Col("Load", "of the cliff")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    taken_pps: Annotated[float, Col("Taken off the ring", "frames/s")]
    missed_pps: Annotated[float, Col("Missed by the NIC", "frames/s")]
    estimate_pps: Annotated[int, Col("Estimate", "frames/s")]
    error: Annotated[float, Col("Error", "share")]
    read_in_window: Annotated[bool, Col("Read in the window")]


@dataclass(frozen=True)
class OverTimeRow:
    """The driver's estimate at an instant of a load that changes, or that is random.

    Offered: the rate at that instant, or the mean.
    """

    pattern: Annotated[str, Col("Load")]
    at_ms: Annotated[float, Col("At", "ms")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    estimate_pps: Annotated[int, Col("Estimate", "frames/s")]
    error: Annotated[float, Col("Error", "share")]


@dataclass(frozen=True)
class SettlingRow:
    """A step of the load from nothing: the shortest burst after which hybrid had switched."""

    step_of_cliff: Annotated[float, Col("Step to", "of the cliff")]
    windows: Annotated[int | None, Col("Burst", "windows")]
    """None: not within the longest burst."""


def _load(arrivals: Arrivals, mean_pps: float) -> Load:
    if arrivals == "bursts":
        return Load(rate_pps=2 * mean_pps, arrivals="bursts", on_ns=BURST_NS, off_ns=BURST_NS)
    return Load(rate_pps=mean_pps, arrivals=arrivals)


def at_the_cliff(session: Session, testbed: Testbed, cliff_pps: float) -> Table[SwitchRow]:
    """Switches per second with the mean of the load at the cliff."""
    duration_ns = QUICK_DURATION_NS if session.quick else DURATION_NS
    asked = [
        (
            {"arrivals": arrivals, "epsilon": epsilon / 1000},
            ApplicationTrial(_load(arrivals, cliff_pps), rows.hybrid(cliff_pps, epsilon).tuning, duration_ns=duration_ns),
        )
        for arrivals in ARRIVALS
        for epsilon in (QUICK_EPSILONS_PERMILLE if session.quick else EPSILONS_PERMILLE)
    ]
    return trial_table(
        "Hybrid at the cliff: switches per second",
        SwitchRow,
        run(session, "hybrid's switching", [Batch("switches", testbed, asked)]),
        lambda r: {"switches_per_s": None if r.switches is None else r.switches / r.spec.loaded_s},
    )


def estimates(session: Session, testbed: Testbed, cliff_pps: float) -> Table[EstimateRow]:
    """The driver's estimate of a constant load, read under that load; beside it what it is made of, over the whole trial."""
    rates = [LOWEST_PPS, *(share * cliff_pps for share in (QUICK_ESTIMATED if session.quick else ESTIMATED))]
    tuning = rows.hybrid(cliff_pps).tuning
    asked = [
        ({"load_of_cliff": rate / cliff_pps}, ApplicationTrial(Load(rate_pps=rate), tuning, rate_after_ns=(READ_AFTER_NS,)))
        for rate in rates
    ]

    def figures(r: ApplicationResult) -> dict[str, Any]:
        at_ns, estimate = r.rate_estimates_pps[0]
        return {
            "missed_pps": r.nic_missed / r.spec.loaded_s,
            "estimate_pps": estimate,
            "error": estimate / r.offered_pps - 1,
            "read_in_window": at_ns <= r.spec.duration_ns,
        }

    found = run(session, "hybrid's estimate", [Batch("estimator", testbed, asked)])
    return trial_table("Hybrid's estimate of the rate", EstimateRow, found, figures)


Phases = tuple[Load, ...]
"""A load, phase by phase."""


def patterns(cliff_pps: float) -> dict[str, Phases]:
    """Loads around the cliff: steps, a ramp, Poisson arrivals, bursts."""
    low, high, half, part = LOW * cliff_pps, HIGH * cliff_pps, STEP_NS, OVER_TIME_NS // RAMP_STEPS
    ramp = [
        Load(low + (high - low) * (n + 0.5) / RAMP_STEPS, begin_ns=n * part, end_ns=(n + 1) * part) for n in range(RAMP_STEPS)
    ]
    return {
        "step up": (Load(low, end_ns=half), Load(high, begin_ns=half)),
        STEP_DOWN: (Load(high, end_ns=half), Load(low, begin_ns=half)),
        "ramp": tuple(ramp),
        "poisson": (_load("poisson", cliff_pps),),
        "bursts": (_load("bursts", cliff_pps),),
    }


def _mean_at(phases: Phases, at_ns: int) -> float:
    """The rate that is offered at an instant; of bursts, the mean."""
    for load in phases:
        if load.begin_ns <= at_ns < (load.end_ns or OVER_TIME_NS):
            return load.rate_pps / 2 if load.arrivals == "bursts" else load.rate_pps
    return 0.0


def over_time(session: Session, testbed: Testbed, cliff_pps: float) -> Table[OverTimeRow]:
    """The estimate in each of its windows, under loads that change.

    With RX masked above the cliff (rx_above), so that the process that reads it has the CPU.
    """
    every = patterns(cliff_pps)
    row = rows.hybrid(cliff_pps)
    tuning = replace(row.tuning, schemes=replace(row.tuning.schemes, above="paced", weight=None), budget=rows.DEFAULT_BUDGET)
    reads = tuple(range(READ_FROM_NS, OVER_TIME_NS - READ_EVERY_NS, READ_EVERY_NS))
    trial = ApplicationTrial(Load(1.0), tuning, duration_ns=OVER_TIME_NS, warmup_ns=0, rate_after_ns=reads)
    asked = [
        ({"pattern": name}, replace(trial, load=every[name][0], more=every[name][1:]))
        for name in ((STEP_DOWN,) if session.quick else every)
    ]
    table = [
        OverTimeRow(columns["pattern"], at_ns / 1e6, offered, estimate, estimate / offered - 1)
        for columns, r in run(session, "hybrid's estimate over time", [Batch("estimator over time", testbed, asked)])
        for at_ns, estimate in r.rate_estimates_pps
        if (offered := _mean_at(every[columns["pattern"]], at_ns))
    ]
    return Table("Hybrid's estimate under a load that changes", OverTimeRow, tuple(table))


def settling(session: Session, testbed: Testbed, cliff_pps: float) -> Table[SettlingRow]:
    """A step from nothing to a multiple of the cliff: the shortest burst, in windows, after which hybrid has switched."""
    steps = QUICK_STEPS if session.quick else STEPS
    trial = ApplicationTrial(Load(1.0), rows.hybrid(cliff_pps).tuning)
    asked = [
        ({"step": step, "windows": windows}, _burst(step * cliff_pps, windows, trial)) for step in steps for windows in WINDOWS
    ]
    found = run(session, "hybrid after a step", [Batch("settling", testbed, asked)])
    switched = {step: [c["windows"] for c, r in found if c["step"] == step and r.switches] for step in steps}
    table = (SettlingRow(step, min(windows, default=None)) for step, windows in switched.items())
    return Table("Hybrid after a step of the load from nothing", SettlingRow, tuple(table))


def _burst(rate_pps: float, windows: int, spec: ApplicationTrial) -> ApplicationTrial:
    duration_ns = (max(WINDOWS) + 2) * WINDOW_NS
    load = Load(rate_pps=rate_pps, begin_ns=WINDOW_NS, end_ns=(1 + windows) * WINDOW_NS)
    return replace(spec, load=load, duration_ns=duration_ns, warmup_ns=0)
