# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiving application over offered load: throughput, loss by place, round trip, interrupts, what is left of the CPU.

Every load is offered twice: once the application only receives (throughput, interrupts, CPU), once it sends every datagram
back (latency).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult, ApplicationTrial, Tuning

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
"""Of the cliff."""


def trials(runner: TrialRunner, chosen: Sequence[ApplicationTrial]) -> list[ApplicationResult]:
    """Independent trials, side by side where there are places; results in the order of `chosen`."""
    return runner.trials(chosen, lambda r: f"{r.offered_pps / 1e3:.1f} kpps offered, {r.application_pps / 1e3:.1f} received")


@dataclass(frozen=True)
class Point:
    """The application at one load."""

    receiving: ApplicationResult
    echoing: ApplicationResult | None

    def to_json(self) -> dict[str, Any]:
        """As it stands in `points` (docs/results.md)."""
        found = {name: value for name, value in asdict(self.receiving).items() if name in _SHOWN}
        found["latency"] = self.echoing.latency if self.echoing else None
        found["echo_offered_pps"] = self.echoing.offered_pps if self.echoing else None
        found["echo_returned_pps"] = self.echoing.returned_pps if self.echoing else None
        return found


_SHOWN = (
    "offered_pps", "application_pps", "loss_ratio", "places", "interrupts_per_s", "cpu_available", "ksoftirqd_wakeups_per_s",
    "ksoftirqd_share", "time_squeezes", "switches",
)  # fmt: skip


def spec_of(workload: Workload, rate_pps: float, tuning: Tuning, echo: bool = False) -> ApplicationTrial:
    """A trial at `rate_pps` frames/s."""
    return ApplicationTrial(
        load=Load(rate_pps=rate_pps, size=workload.size, arrivals=workload.arrivals),
        tuning=tuning,
        echo=echo,
        duration_ns=workload.duration_ns,
        warmup_ns=workload.warmup_ns,
        seed=workload.seed,
        histogram=echo,
    )


def sweep(runner: TrialRunner, workload: Workload, rates_pps: Sequence[float], tuning: Tuning, echo: bool = True) -> list[Point]:
    """The application at each of the rates."""
    receiving = [spec_of(workload, rate, tuning) for rate in rates_pps]
    found = trials(runner, [*receiving, *(replace(s, echo=True, histogram=True) for s in receiving if echo)])
    back: Sequence[ApplicationResult | None] = found[len(receiving) :] or [None] * len(receiving)
    return [Point(r, e) for r, e in zip(found[: len(receiving)], back, strict=True)]


def run(
    runner: TrialRunner, workload: Workload, rates_pps: Sequence[float], tuning: Tuning | None = None, echo: bool = True
) -> MethodResult:
    """The application at each rate, as a result row. `trials` stays empty: points hold all that is measured."""
    result = runner.result("application", workload)
    result.samples = [point.to_json() for point in sweep(runner, workload, rates_pps, tuning or Tuning(), echo)]
    result.summary = {"best_application_pps": max(p["application_pps"] for p in result.samples)}
    return result
