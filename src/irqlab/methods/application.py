# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiving application over offered load: throughput, loss by place, round trip, interrupts, what is left of the CPU.

Every load is offered twice: once the application only receives (throughput, interrupts, CPU), once it sends every datagram
back (latency).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from irqlab import application, trialcache
from irqlab.application import ApplicationResult, ApplicationSpec, Tuning
from irqlab.methods.stand import Plan, Stand
from irqlab.results import MethodResult
from irqlab.trial import Load

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
"""Of the cliff."""


def trial(stand: Stand, spec: ApplicationSpec) -> ApplicationResult:
    """One trial, as soon as a place is free; from the cache if it was made before."""
    key = application.key_of(stand.bed, spec) if stand.bed.config.cached else None
    if key and (kept := trialcache.get(key)) is not None:
        return ApplicationResult.from_json(spec, kept)
    with stand.slots:
        result = application.run(stand.bed, spec)
    if key:
        trialcache.put(key, result.to_json())
    return result


def profile(stand: Stand, spec: ApplicationSpec, addresses: dict[str, Any]) -> tuple[ApplicationResult, dict[str, Any]]:
    """A profiled trial; from the cache if it was made before."""
    key = application.key_of(stand.bed, spec, addresses) if stand.bed.config.cached else None
    if key and (kept := trialcache.get(key)) is not None:
        return ApplicationResult.from_json(spec, kept["trial"]), kept["profile"]
    with stand.slots:
        result, answer = application.profile(stand.bed, spec, addresses)
    if key:
        trialcache.put(key, {"trial": result.to_json(), "profile": answer})
    return result, answer


def trials(stand: Stand, specs: Sequence[ApplicationSpec]) -> list[ApplicationResult]:
    """Independent trials, side by side where there are places; results in the order of `specs`."""

    def one(spec: ApplicationSpec) -> ApplicationResult:
        result = trial(stand, spec)
        stand.progress(f"{result.offered_pps / 1e3:.1f} kpps offered, {result.application_pps / 1e3:.1f} received")
        return result

    with ThreadPoolExecutor(max_workers=max(1, len(specs))) as pool:
        return list(pool.map(one, specs))


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


def spec_of(plan: Plan, rate_pps: float, tuning: Tuning, echo: bool = False) -> ApplicationSpec:
    """A trial at `rate_pps` frames/s."""
    return ApplicationSpec(
        load=Load(rate_pps=rate_pps, size=plan.size, arrivals=plan.arrivals),
        tuning=tuning,
        echo=echo,
        duration_ns=plan.duration_ns,
        warmup_ns=plan.warmup_ns,
        seed=plan.seed,
        histogram=echo,
    )


def sweep(stand: Stand, plan: Plan, rates_pps: Sequence[float], tuning: Tuning, echo: bool = True) -> list[Point]:
    """The application at each of the rates."""
    receiving = [spec_of(plan, rate, tuning) for rate in rates_pps]
    found = trials(stand, [*receiving, *(replace(s, echo=True, histogram=True) for s in receiving if echo)])
    back: Sequence[ApplicationResult | None] = found[len(receiving) :] or [None] * len(receiving)
    return [Point(r, e) for r, e in zip(found[: len(receiving)], back, strict=True)]


def run(stand: Stand, plan: Plan, rates_pps: Sequence[float], tuning: Tuning | None = None, echo: bool = True) -> MethodResult:
    """The application at each rate, as a result row. `trials` stays empty: points hold all that is measured."""
    result = stand.result("application", plan)
    result.points = [point.to_json() for point in sweep(stand, plan, rates_pps, tuning or Tuning(), echo)]
    result.found = {"best_application_pps": max(p["application_pps"] for p in result.points)}
    return result
