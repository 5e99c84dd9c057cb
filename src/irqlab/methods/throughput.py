# SPDX-License-Identifier: GPL-2.0-or-later
"""Throughput (RFC 1242, 3.17; RFC 2544, 26.1): the highest offered rate at which no frame is lost.

The backlog hides overload from a short trial, so a trial passes only if, besides, no frame comes out later than 2 ms after the
last one was sent. The search is MLRsearch's (draft-ietf-bmwg-mlrsearch): a measurer without noise needs one trial per load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

from irqlab.config.traffic import mean_frame_bytes, wire_rate_pps
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

MIN_RATE_PPS = 100.0
COLLAPSED = 0.1
"""A DUT that forwards less than this share of what is offered is in livelock, or nearly."""
UNLIMITED_PPS = 1e6
"""Where the search starts when the wire's ceiling is lifted."""
EXPECTED_WITHIN = 0.005
"""An expected throughput is first taken to be right to this share; the bracket doubles until its ends pass and fail."""


def passed(trial: ForwardingResult, loss_tolerance: float = 0.0) -> bool:
    """Whether a trial's load is one the DUT sustains."""
    return trial.loss_ratio <= loss_tolerance and (trial.kept_up or loss_tolerance > 0)


@dataclass
class _Measurer(AbstractMeasurer):  # type: ignore[misc]
    """MLRsearch's view of a stand; remembers every trial."""

    runner: TrialRunner
    workload: Workload

    def __post_init__(self) -> None:
        self.trials: list[ForwardingResult] = []
        self.made: dict[float, ForwardingResult] = {}
        self.low_pps = 0.0
        self.high_pps = float("inf")

    def bracket(self, highest: float) -> tuple[float, float]:
        """Loads to search between. Where the highest makes the DUT collapse, bisected to the width already.

        What a DUT in livelock forwards says nothing about its throughput, and the search would start from there.
        """
        if self.workload.expected_pps is not None:
            return self._around(self.workload.expected_pps, highest)
        trial = self._trial(highest)
        if trial.forwarded_pps >= COLLAPSED * trial.offered_pps:
            return MIN_RATE_PPS, highest
        low, high = highest / 2, highest
        while low > MIN_RATE_PPS and not self._passes(low):
            low, high = low / 2, low
        if low <= MIN_RATE_PPS:
            return MIN_RATE_PPS, high
        while (high - low) / high > self.workload.relative_width * 0.99:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self._passes(middle) else (low, middle)
        return low, high

    def _around(self, expected: float, highest: float) -> tuple[float, float]:
        """The narrowest bracket around the expected throughput of which both ends were tried, in loads up to the highest."""
        width = EXPECTED_WITHIN
        low, high = expected * (1 - width), expected * (1 + width)
        while high < highest and self._passes(high):
            width *= 2
            low, high = high, high * (1 + width)
        if high >= highest:
            if self._passes(highest):
                return MIN_RATE_PPS, highest
            low, high = min(low, highest * (1 - width)), highest
        while low > MIN_RATE_PPS and not self._passes(low):
            width *= 2
            low, high = max(low * (1 - width), MIN_RATE_PPS), low
        return low, high

    def _passes(self, load: float) -> bool:
        return passed(self._trial(load), self.workload.loss_tolerance)

    def _trial(self, load: float) -> ForwardingResult:
        """The trial of that load; a second one would be the same."""
        if load not in self.made:
            self.made[load] = self.runner.trial(self.runner.spec(self.workload, load))
            self.trials.append(self.made[load])
            if passed(self.made[load], self.workload.loss_tolerance):
                self.low_pps = max(self.low_pps, load)
            else:
                self.high_pps = min(self.high_pps, load)
            self.runner.progress(f"{self.low_pps / 1e3:.1f} .. {self.high_pps / 1e3:.1f} kpps")
        return self.made[load]

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        trial = self._trial(intended_load)
        sent = trial.total("sent")
        # A frame that came out late is overload that the backlog hid: it counts against the load like a lost one.
        failed = trial.total("lost") + (0 if trial.kept_up or self.workload.loss_tolerance else max(1, trial.total("late")))
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=sent,
            loss_count=min(failed, sent),
        )


def run(runner: TrialRunner, workload: Workload) -> MethodResult:
    """Searches the throughput of the bed for one frame size. Raises IrqlabError if even MIN_RATE_PPS loses frames."""
    seconds = workload.duration_ns / 1e9
    goal = SearchGoal(
        loss_ratio=workload.loss_tolerance,
        exceed_ratio=0.0,
        relative_width=workload.relative_width,
        initial_trial_duration=seconds,
        final_trial_duration=seconds,
        duration_sum=seconds,
        preceding_targets=0,
        fail_fast=False,
    )
    config = Config()
    config.goals = [goal]
    config.warmup_duration = None
    config.search_duration_max = 1e9  # the result must not depend on the host's clock
    measurer = _Measurer(runner, workload)
    config.min_load, config.max_load = measurer.bracket(UNLIMITED_PPS if workload.above_line_rate else runner.wire_pps(workload))
    found = MultipleLossRatioSearch(config=config).search(measurer=measurer, debug=lambda _: None)[goal]
    if found.relevant_lower_bound is None:
        worst = min(measurer.trials, key=lambda t: t.offered_pps)
        raise IrqlabError(
            f"{runner.testbed.driver} on {runner.testbed.nic.model} loses frames even at {worst.offered_pps:.0f} frames/s "
            f"({worst.total('lost')} of {worst.total('sent')} lost, {worst.total('late')} late)"
        )
    best = max((t for t in measurer.trials if passed(t, workload.loss_tolerance)), key=lambda t: t.spec.loads[0].rate_pps)
    bound_pps = float(found.relevant_lower_bound)
    if best.spec.loads[0].rate_pps != bound_pps:
        # Loss need not rise with load: the throughput is the load below which nothing was seen to fail.
        best = next(t for t in measurer.trials if t.spec.loads[0].rate_pps == bound_pps)
    result = runner.result("throughput", workload)
    directions = 2 if workload.bidirectional else 1
    per_direction_pps = best.offered_pps / directions
    result.total_throughput_pps = best.offered_pps
    wire_bytes = mean_frame_bytes(workload.size) + 20
    result.per_interface_throughput_mbps = per_direction_pps * wire_bytes * 8 / 1e6
    result.line_rate_limited = not workload.above_line_rate and bound_pps >= wire_rate_pps(
        wire_bytes - 20, runner.testbed.nic.line_rate_bps
    )
    result.copy_per_frame_metrics(best)
    result.samples = [
        {
            "rate_pps": t.spec.loads[0].rate_pps,
            "passed": passed(t, workload.loss_tolerance),
            "loss_ratio": t.loss_ratio,
            "kept_up": t.kept_up,
        }
        for t in measurer.trials
    ]
    searched = {"relative_width": workload.relative_width, "loss_tolerance": workload.loss_tolerance}
    result.summary = {"rate_pps_per_direction": bound_pps, **searched}
    result.trials = measurer.trials
    return result


def rate_per_direction(result: MethodResult) -> float:
    """The load of a throughput result, per direction, in frames/s."""
    return float(result.summary["rate_pps_per_direction"])
