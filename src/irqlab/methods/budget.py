# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the netdev_budget that is best for a goal (Salah & Qahtan, figure 6).

With a driver built on irqmod, the NAPI weight is lowered along with the budget: current kernels check the budget only
between polls, so a poll could take 64 frames however small the budget is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec
import typer

from irqlab import units
from irqlab.config.schemes import Schemes
from irqlab.config.values import Count, Rate
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers, cliff, receiving
from irqlab.methods.method import RUN, Lines, Method
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import kpps_text, legend_of, line_of
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import INTERFACE, Tuning

BUDGETS = (2, 4, 6, 12, 24, 64, 128, 300)
DEFAULT = 300
WEIGHT = 64
"""NAPI_POLL_WEIGHT."""
AS_GOOD = 0.01
"""The default is recommended if it comes within this share of the best value."""

GOALS = {
    "application": "application_pps",
    "latency": "p99_ns",
    "forwarding": "forwarded_pps",
}
"""The metric of each goal."""
OVERLOAD, MODERATE, ROUTED = 2.0, 0.5, 4.0
"""Loads for the three goals, as shares of the cliff (latency: of the cliff with echo). Forwarding needs a higher load."""


@dataclass(frozen=True)
class Options:
    """The goal."""

    goal: Annotated[str, typer.Option("--goal", help=f"What to optimise for: {', '.join(GOALS)}.")] = "application"

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise IrqlabError(f"--goal {self.goal}: allowed are {', '.join(GOALS)}")


@dataclass(frozen=True)
class Sample:
    """One budget."""

    budget: Annotated[Annotated[int, msgspec.Meta(ge=1)], Col("Budget", "frames", str)]
    application_pps: Annotated[Rate, Col("Received", "kpps", units.kpps, title="by an application, at twice the cliff")]
    p99_ns: Annotated[
        Count, Col("Round trip p99", format=units.duration, title="at half the cliff of an application that echoes")
    ]
    forwarded_pps: Annotated[Rate, Col("Forwarded", "kpps", units.kpps, title="as a router, at four times the cliff")]

    def value(self, goal: str) -> float:
        """The value of the goal's metric."""
        return float(getattr(self, GOALS[goal]))


@dataclass(frozen=True)
class Summary:
    """The recommendation."""

    goal: str
    budget: int
    """The recommended budget."""
    cliff_pps: Rate
    echo_cliff_pps: Rate


def tuning(base: Tuning, budget: int, ours: bool) -> Tuning:
    """Tuning for a budget; on an irqmod driver also with the NAPI weight that makes it effective."""
    weight = min(budget, WEIGHT)
    schemes = replace(base.schemes, rx=base.schemes.rx or "napi", weight=weight) if ours else Schemes()
    return replace(base, budget=budget, schemes=schemes)


def sweep(
    runner: TrialRunner, workload: Workload, cliff_pps: float, echo_cliff_pps: float, budgets: Sequence[int] = BUDGETS
) -> list[Sample]:
    """Measures every budget at the load of each goal. The cliffs are those of a receiving and of an echoing application."""
    ours = runner.bench.scheme_names()["rx_scheme"] is not None
    found = []
    for budget in budgets:
        tuned = tuning(Tuning(), budget, ours)
        taking = receiving.spec_of(workload, OVERLOAD * cliff_pps, tuned)
        echoing = receiving.spec_of(workload, MODERATE * echo_cliff_pps, tuned, echo=True)
        forwarding = replace(receiving.spec_of(workload, ROUTED * cliff_pps, tuned), kind="forward")
        r, e, f = receiving.trials(runner, [taking, echoing, forwarding])
        p99_ns = e.latency.p99_ns if e.latency else 0
        found.append(Sample(budget, r.application_pps, p99_ns, f.returned_pps))
    return found


def recommend(trials: Sequence[Sample], goal: str) -> Sample:
    """The best budget for the goal: of those within AS_GOOD of the best value, the default, else the largest."""
    lower_is_better = goal == "latency"
    values = [t.value(goal) for t in trials]
    best = min(values) if lower_is_better else max(values)

    def good(trial: Sample) -> bool:
        value = trial.value(goal)
        return value <= best * (1 + AS_GOOD) if lower_is_better else value >= best * (1 - AS_GOOD)

    return max((t for t in trials if good(t)), key=lambda t: (t.budget == DEFAULT, t.budget))


def differs(trials: Sequence[Sample], goal: str) -> bool:
    """Whether the budget matters for the goal: the values differ by more than AS_GOOD."""
    values = [t.value(goal) for t in trials]
    return max(values) - min(values) > AS_GOOD * max(values)


def run(runner: TrialRunner, workload: Workload, goal: str) -> MethodResult:
    """Runs the sweep and makes the recommendation."""
    usual = receiving.usual_tuning(runner, "napi")
    taking = cliff.external(runner, workload, usual)
    echoing = cliff.external(runner, workload, usual, echo=True)
    result = runner.result("budget", workload)
    result.samples = sweep(runner, workload, taking.cliff_pps, echoing.cliff_pps)
    best = recommend(result.samples, goal)
    result.summary = Summary(goal, best.budget, taking.cliff_pps, echoing.cliff_pps)
    return result


def _advice(row: Row, _: Options) -> Iterable[str]:
    best = row.summary.budget
    if not differs(row.samples, row.summary.goal):
        return
    yield f"For {row.summary.goal}: sysctl -w net.core.netdev_budget={best}"
    if row.data["rx_scheme"] is not None and best < WEIGHT:
        yield f"  and also (otherwise a poll still takes 64 frames): echo {best} > /sys/class/net/{INTERFACE}/irqmod/rx_weight"


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """One curve per goal."""
    group = Group(legend=legend_of(rows))
    for value, scale, title, unit in (
        ("application_pps", 1e-3, "Received by an application in overload", "kpps"),
        ("p99_ns", 1e-3, "Round trip at a moderate load, p99", "µs"),
        ("forwarded_pps", 1e-3, "Forwarded in overload", "kpps"),
    ):
        drawn = [line_of(row, [(s.budget, getattr(s, value) * scale) for s in row.samples]) for row in rows]
        group.plots.append(number.plot(title, plots.by_size(drawn, "netdev_budget, frames", unit, title)))
    group.note = " ".join(
        f"{row.variant.label}: {row.summary.budget} frames is best for {row.summary.goal}."
        if differs(row.samples, row.summary.goal)
        else f"{row.variant.label}: no difference for {row.summary.goal}."
        for row in rows
    )
    return group


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """The recommendation, and what it gains over the default."""

    def at(budget: int, goal: str) -> answers.Value:
        return lambda row: next((s.value(goal) for s in row.samples if s.budget == budget), None)

    def written(value: float, goal: str) -> str:
        return units.duration(value) if goal == "latency" else kpps_text(value)

    def said(row: Row) -> str:
        goal, best = row.summary.goal, row.summary.budget
        found, usual = (answers.spread(row, at(n, goal), lambda v: written(v, goal)) for n in (best, DEFAULT))
        if not differs(row.samples, goal):
            return f"no difference for {goal}: {found} with every netdev_budget that was tried, {BUDGETS[0]} to {BUDGETS[-1]}"
        if best == DEFAULT:
            return (
                f"keep the default, {DEFAULT}, for {goal}: {found}; no value that was tried is better by more than {AS_GOOD:.0%}"
            )
        return f"netdev_budget={best} for {goal}: {found}; with the default, {DEFAULT}: {usual}"

    return answers.by_row(rows, said, "Recommended netdev_budget", lambda row: float(row.summary.budget), units.whole)


METHOD = Method(
    name="budget",
    place=90,
    title="netdev_budget",
    help="Recommend a netdev_budget for application throughput, latency, or forwarding.",
    intro="The budget is the maximum number of frames that one run of the receive softirq processes. Each value is tried with a "
    "receiving application in overload, with an echoing application at a moderate load, and with forwarding in overload "
    "(Salah & Qahtan 2009, figure 6).",
    sample=Sample,
    summary=Summary,
    lines=Lines("netdev_budget", Sample),
    run=lambda runner, workload, options: [run(runner, workload, options.goal)],
    options=Options,
    shared=("driver", "nic", "kernel", "mips", "ring", "size", "duration", "warmup", *RUN),
    tables=_advice,
    plots=_plots,
    lead="netdev_budget: which one suits a goal",
    verdicts=_verdicts,
)
