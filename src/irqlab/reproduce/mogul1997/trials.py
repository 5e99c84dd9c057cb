# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of the router: with a process on the forwarding path or without, and one that takes the CPU time that is left."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.config.costs import Costs
from irqlab.config.traffic import Arrivals, Load
from irqlab.config.workload import Workload
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult, ApplicationTrial, Tuning

PLAN = Workload(size=64)
QUICK_PLAN = Workload(size=64, duration_ns=80_000_000, warmup_ns=20_000_000, relative_width=0.01)


def plan_of(quick: bool) -> Workload:
    """How long a trial is."""
    return QUICK_PLAN if quick else PLAN


def spec_of(
    rate_pps: float,
    tuning: Tuning,
    screend: bool,
    quick: bool,
    competes: bool = False,
    arrivals: Arrivals = "constant",
    costs: Costs | None = None,
) -> ApplicationTrial:
    """A trial of the router."""
    plan = plan_of(quick)
    return ApplicationTrial(
        Load(rate_pps=round(rate_pps, 1), size=plan.size, arrivals=arrivals),
        tuning,
        kind="screen" if screend else "forward",
        soaker_competes=competes,
        duration_ns=plan.duration_ns,
        warmup_ns=plan.warmup_ns,
        costs=costs,
    )


def trials(runner: TrialRunner, specs: Sequence[ApplicationTrial]) -> list[ApplicationResult]:
    """Runs them, side by side if possible."""
    return runner.trials(specs, lambda r: f"{r.offered_pps / 1e3:.1f} kpps offered, {r.returned_pps / 1e3:.1f} forwarded")
