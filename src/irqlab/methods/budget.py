# SPDX-License-Identifier: GPL-2.0-or-later
"""netdev_budget: which one serves a goal (Salah & Qahtan, figure 6).

Of a driver built on irqmod the weight of a poll is lowered with it: on today's kernels the budget is looked at between polls
only, so that 64 frames are taken however small it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from irqlab.config.schemes import Schemes
from irqlab.config.workload import Workload
from irqlab.methods import application, cliff
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import Tuning

BUDGETS = (2, 4, 6, 12, 24, 64, 128, 300)
DEFAULT = 300
WEIGHT = 64
"""NAPI_POLL_WEIGHT."""
AS_GOOD = 0.01
"""The default is kept if it is within this share of the best."""

Goal = Literal["application", "latency", "forwarding"]
GOALS: dict[Goal, str] = {
    "application": "application_pps",
    "latency": "p99_ns",
    "forwarding": "forwarded_pps",
}
"""What each goal looks at."""
OVERLOAD, MODERATE, ROUTED = 2.0, 0.5, 4.0
"""Loads of the three, as shares of the cliff (latency: of an echoing application). A router takes more than an application."""


@dataclass(frozen=True)
class Trial:
    """One budget."""

    budget: int
    application_pps: float
    """At twice the cliff."""
    p99_ns: int
    """Round trip at half the cliff of an echoing application."""
    forwarded_pps: float
    """As a router, at four times the cliff."""

    def value(self, goal: Goal) -> float:
        """The figure that the goal looks at."""
        return float(getattr(self, GOALS[goal]))


def tuning(base: Tuning, budget: int, ours: bool) -> Tuning:
    """The budget, with the weight that makes it count on a driver of ours."""
    weight = min(budget, WEIGHT)
    schemes = replace(base.schemes, rx=base.schemes.rx or "napi", weight=weight) if ours else Schemes()
    return replace(base, budget=budget, schemes=schemes)


def sweep(
    runner: TrialRunner, workload: Workload, cliff_pps: float, echo_cliff_pps: float, budgets: Sequence[int] = BUDGETS
) -> list[Trial]:
    """Every budget at the loads that the goals look at; the cliffs are those of a receiving and of an echoing application."""
    ours = runner.testbed.scheme_names()["rx_scheme"] is not None
    found = []
    for budget in budgets:
        tuned = tuning(Tuning(), budget, ours)
        receiving = application.spec_of(workload, OVERLOAD * cliff_pps, tuned)
        echoing = application.spec_of(workload, MODERATE * echo_cliff_pps, tuned, echo=True)
        forwarding = replace(application.spec_of(workload, ROUTED * cliff_pps, tuned), kind="forward")
        r, e, f = application.trials(runner, [receiving, echoing, forwarding])
        p99_ns = e.latency["p99_ns"] if e.latency else 0
        found.append(Trial(budget, r.application_pps, p99_ns, f.returned_pps))
    return found


def recommend(trials: Sequence[Trial], goal: Goal) -> Trial:
    """The best for the goal; the default if it is as good to AS_GOOD, else the largest that is."""
    lower_is_better = goal == "latency"
    values = [t.value(goal) for t in trials]
    best = min(values) if lower_is_better else max(values)

    def good(trial: Trial) -> bool:
        value = trial.value(goal)
        return value <= best * (1 + AS_GOOD) if lower_is_better else value >= best * (1 - AS_GOOD)

    return max((t for t in trials if good(t)), key=lambda t: (t.budget == DEFAULT, t.budget))


def to_json(trial: Trial) -> dict[str, Any]:
    """As it stands in `points` (docs/results.md)."""
    return {name: getattr(trial, name) for name in trial.__dataclass_fields__}


def run(runner: TrialRunner, workload: Workload, goal: Goal, tuning: Tuning) -> MethodResult:
    """The sweep and the recommendation, as a result row."""
    receiving = cliff.external(runner, workload, tuning)
    echoing = cliff.external(runner, workload, tuning, echo=True)
    trials = sweep(runner, workload, receiving.cliff_pps, echoing.cliff_pps)
    best = recommend(trials, goal)
    result = runner.result("budget", workload)
    result.samples = [to_json(trial) for trial in trials]
    result.summary = {
        "goal": goal,
        "budget": best.budget,
        "cliff_pps": receiving.cliff_pps,
        "echo_cliff_pps": echoing.cliff_pps,
    }
    return result
