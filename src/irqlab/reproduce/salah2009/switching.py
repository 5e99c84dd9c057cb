# SPDX-License-Identifier: GPL-2.0-or-later
"""Hybrid's switching: how often at the cliff, how soon after a step, and how well it estimates the rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irqlab.config.traffic import Arrivals, Load
from irqlab.methods import receiving
from irqlab.reproduce.paper import Data
from irqlab.reproduce.salah2009 import rows
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult, ApplicationTrial

EPSILONS_PERMILLE = (0, 50, 150, 300)
QUICK_EPSILONS_PERMILLE = (0, 150)
ARRIVALS: tuple[Arrivals, ...] = ("constant", "poisson", "bursts")
BURST_NS = 10_000_000
"""On and off: longer than a window of 8 ms, and no multiple of one."""
DURATION_NS, QUICK_DURATION_NS = 1_000_000_000, 300_000_000
WINDOW_NS = 8_000_000

ESTIMATED = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
QUICK_ESTIMATED = (0.9, 4.0)
LOWEST_PPS = 1000.0
READ_AFTER_NS = 150_000_000

STEPS = (1.5, 2.0, 3.0, 4.0)
QUICK_STEPS = (4.0,)
WINDOWS = (1, 2, 3, 4)


def _load(arrivals: Arrivals, mean_pps: float) -> Load:
    if arrivals == "bursts":
        return Load(rate_pps=2 * mean_pps, arrivals="bursts", on_ns=BURST_NS, off_ns=BURST_NS)
    return Load(rate_pps=mean_pps, arrivals=arrivals)


def at_the_cliff(runner: TrialRunner, cliff_pps: float, quick: bool) -> Data:
    """Switches per second with the mean of the load at the cliff."""
    duration_ns = QUICK_DURATION_NS if quick else DURATION_NS
    cases = [
        (arrivals, epsilon) for arrivals in ARRIVALS for epsilon in (QUICK_EPSILONS_PERMILLE if quick else EPSILONS_PERMILLE)
    ]
    specs = [
        ApplicationTrial(_load(arrivals, cliff_pps), rows.hybrid(cliff_pps, epsilon).tuning, duration_ns=duration_ns)
        for arrivals, epsilon in cases
    ]
    data = Data(
        "Hybrid at the cliff: switches per second",
        ("arrivals", "epsilon", "offered_pps", "application_pps", "switches", "switches_per_s"),
    )
    for (arrivals, epsilon), r in zip(cases, receiving.trials(runner, specs), strict=True):
        data.add(
            arrivals=arrivals, epsilon=epsilon / 1000, offered_pps=r.offered_pps, application_pps=r.application_pps,
            switches=r.switches, switches_per_s=None if r.switches is None else r.switches / r.spec.loaded_s,
        )  # fmt: skip
    return data


def estimates(runner: TrialRunner, cliff_pps: float, quick: bool) -> Data:
    """The driver's estimate of a constant load, read under that load; beside it what it is made of, over the whole trial."""
    rates = [LOWEST_PPS, *(share * cliff_pps for share in (QUICK_ESTIMATED if quick else ESTIMATED))]
    tuning = rows.hybrid(cliff_pps).tuning
    specs = [ApplicationTrial(Load(rate_pps=rate), tuning, rate_after_ns=(READ_AFTER_NS,)) for rate in rates]
    data = Data(
        "Hybrid's estimate of the rate",
        ("load_of_cliff", "offered_pps", "taken_pps", "missed_pps", "estimate_pps", "error", "read_in_window"),
    )
    for rate, r in zip(rates, receiving.trials(runner, specs), strict=True):
        at_ns, estimate = r.rate_estimates_pps[0]
        taken = (r.places.sent - r.places.nic) / r.spec.loaded_s
        data.add(
            load_of_cliff=rate / cliff_pps, offered_pps=r.offered_pps, taken_pps=taken,
            missed_pps=r.nic_missed / r.spec.loaded_s, estimate_pps=estimate, error=estimate / r.offered_pps - 1,
            read_in_window=at_ns <= r.spec.duration_ns,
        )  # fmt: skip
    return data


def settling(runner: TrialRunner, cliff_pps: float, quick: bool) -> Data:
    """A step from nothing to a multiple of the cliff: the shortest burst, in windows, after which hybrid has switched."""
    steps = QUICK_STEPS if quick else STEPS
    tuning = rows.hybrid(cliff_pps).tuning
    specs = [_burst(step * cliff_pps, windows, ApplicationTrial(Load(1.0), tuning)) for step in steps for windows in WINDOWS]
    found = receiving.trials(runner, specs)
    data = Data("Hybrid after a step of the load from nothing", ("step_of_cliff", "windows"))
    for number, step in enumerate(steps):
        of_step = found[number * len(WINDOWS) : (number + 1) * len(WINDOWS)]
        data.add(step_of_cliff=step, windows=_first(of_step))
    return data


def _burst(rate_pps: float, windows: int, spec: ApplicationTrial) -> ApplicationTrial:
    duration_ns = (max(WINDOWS) + 2) * WINDOW_NS
    load = Load(rate_pps=rate_pps, begin_ns=WINDOW_NS, end_ns=(1 + windows) * WINDOW_NS)
    return replace(spec, load=load, duration_ns=duration_ns, warmup_ns=0)


def _first(results: Sequence[ApplicationResult]) -> int | None:
    return next((windows for windows, r in zip(WINDOWS, results, strict=True) if r.switches), None)
