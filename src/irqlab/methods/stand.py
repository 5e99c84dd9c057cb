# SPDX-License-Identifier: GPL-2.0-or-later
"""What every method needs: a bed to run trials on, a plan of what to offer, and someone to tell how it goes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from irqlab.bed import Bed
from irqlab.costs import Costs
from irqlab.results import MethodResult
from irqlab.trial import Arrivals, FrameSize, Load, TrialResult, TrialSpec, mean_frame_bytes, wire_rate_pps

Progress = Callable[[str], None]
"""Told after each trial where a method stands, in a few words."""


RELATIVE_WIDTH = 0.002


@dataclass(frozen=True)
class Plan:
    """What a method offers."""

    size: FrameSize = 64
    bidirectional: bool = False
    arrivals: Arrivals = "constant"
    duration_ns: int = 200_000_000
    warmup_ns: int = 50_000_000
    over_wire: bool = False
    """Offer more than the wire carries."""
    seed: int = 1
    loss_tolerance: float = 0.0
    """Lost share of the frames that throughput still tolerates."""
    histogram: bool = False
    capture: str | None = None
    costs: Costs | None = None
    """Hardware costs that every trial charges; the bed must have the cost model."""
    relative_width: float = RELATIVE_WIDTH
    """A search ends when the highest passing and the lowest failing rate are this close."""
    expected_pps: float | None = None
    """Throughput per direction to search around: saves trials where it is nearly right, costs some where it is not."""


@dataclass
class Stand:
    """A bed, and trials on it: at most as many at once as `slots` has places."""

    bed: Bed
    slots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1))
    progress: Progress = lambda _: None
    done: list[TrialResult] = field(default_factory=list)
    """Every trial made, in the order in which they ended."""

    def trial(self, spec: TrialSpec) -> TrialResult:
        """One trial, as soon as a place is free."""
        with self.slots:
            result = self.bed.run(spec)
        self.done.append(result)
        return result

    def trials(self, specs: Sequence[TrialSpec], say: Callable[[TrialResult], str]) -> list[TrialResult]:
        """Independent trials, side by side where there are places; results in the order of `specs`."""

        def one(spec: TrialSpec) -> TrialResult:
            result = self.trial(spec)
            self.progress(say(result))
            return result

        with ThreadPoolExecutor(max_workers=max(1, len(specs))) as pool:
            return list(pool.map(one, specs))

    def spec(self, plan: Plan, rate_pps: float) -> TrialSpec:
        """A trial that offers `rate_pps` in each direction."""
        return TrialSpec(
            loads=(Load(rate_pps=rate_pps, size=plan.size, arrivals=plan.arrivals),),
            bidirectional=plan.bidirectional,
            duration_ns=plan.duration_ns,
            warmup_ns=plan.warmup_ns,
            over_wire=plan.over_wire,
            seed=plan.seed,
            histogram=plan.histogram,
            capture=plan.capture,
            costs=plan.costs,
        )

    def over_wire_spec(self, plan: Plan, rate_pps: float) -> TrialSpec:
        """A trial at `rate_pps`, with the wire's ceiling lifted only if the rate is above it."""
        beyond = rate_pps > self.wire_pps(plan)
        return replace(self.spec(plan, rate_pps), over_wire=plan.over_wire or beyond)

    def wire_pps(self, plan: Plan) -> float:
        """What the wire carries in one direction, in frames/s."""
        return wire_rate_pps(mean_frame_bytes(plan.size), self.bed.nic.wire_bps)

    def result(self, method: str, plan: Plan) -> MethodResult:
        """An empty result row of a method on this stand."""
        names = self.bed.scheme_names()
        return MethodResult(
            method=method,
            driver=self.bed.driver,
            nic=self.bed.nic.model,
            frame_bytes=plan.size,
            bidirectional=plan.bidirectional,
            mips=self.bed.machine.mips,
            rx_scheme=names["rx_scheme"],
            tx_scheme=names["tx_scheme"],
            variant=names["variant"],
        )
