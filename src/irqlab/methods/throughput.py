# SPDX-License-Identifier: GPL-2.0-or-later
"""Throughput (RFC 1242, 3.17; RFC 2544, 26.1): the highest offered rate at which no frame is lost.

Queues hide overload in a short trial, so a trial passes only if, in addition, no frame comes out later than 2 ms after the
last one was sent. With a loss tolerance late frames do not matter. The search is MLRsearch (draft-ietf-bmwg-mlrsearch); without
noise, one trial per load is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from irqlab import units
from irqlab.config.traffic import mean_frame_bytes, wire_rate_pps
from irqlab.config.values import Rate, Ratio
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import throughput_views
from irqlab.methods.method import Lines, Method, ordered
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.variants import Row, Variant
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

if TYPE_CHECKING:  # what MLRsearch does when it is imported takes half a second, which most commands need not wait for
    from MLRsearch import MeasurementResult

MIN_RATE_PPS = 100.0
COLLAPSED = 0.1
"""A DUT that forwards less than this share of the offered load is in livelock, or close to it."""
UNLIMITED_PPS = 1e6
"""Where the search starts if the line-rate limit is lifted."""
NOT_THE_SAME = 1e-4
"""Widths that differ by less, relatively, are the same to MLRsearch's rounding of loads."""


@dataclass(frozen=True)
class Sample:
    """A trial of the search, in order."""

    rate_pps: Annotated[Rate, Col("Offered", "kpps", units.kpps, title="per direction")]
    passed: Annotated[bool, Col("Passed", mark=lambda yes: "good" if yes else "")]
    loss_ratio: Annotated[Ratio, Col("Loss", format=units.percent)]
    kept_up: Annotated[bool, Col("Kept up", title="no frame came out later than the limit after the last one was sent")]


@dataclass(frozen=True)
class Summary:
    """Result of the search."""

    rate_pps_per_direction: Rate
    """The throughput."""
    relative_width: Rate
    """Relative distance of the highest passing and the lowest failing rate at which the search ends."""
    loss_tolerance: Ratio
    """Share of lost frames that still counts as no loss."""


def passed(trial: ForwardingResult, loss_tolerance: float = 0.0) -> bool:
    """Whether the DUT sustained the trial's load, and the tester offered it."""
    return trial.loss_ratio <= loss_tolerance and (trial.kept_up or loss_tolerance > 0) and trial.offered_all


@dataclass
class _Measurer:
    """MLRsearch's AbstractMeasurer: lets it measure with a runner; remembers every trial."""

    runner: TrialRunner
    workload: Workload

    def __post_init__(self) -> None:
        self.trials: list[ForwardingResult] = []
        self.made: dict[float, ForwardingResult] = {}
        self.low_pps = 0.0
        self.high_pps = float("inf")

    def bracket(self, highest: float) -> tuple[float, float]:
        """Loads to search between. If the DUT collapses at the highest, the bracket is already bisected down to the width.

        The search would start from the forwarding rate, which in livelock says nothing about the throughput.
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
        """The narrowest bracket around the expected throughput with both ends measured, in loads up to the highest."""
        width = self.workload.expected_within
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
        """The trial at a load; repeated loads are not measured again."""
        if load not in self.made:
            self.made[load] = self._new_trial(load)
        return self.made[load]

    def _new_trial(self, load: float) -> ForwardingResult:
        trial = self.runner.trial(self.runner.spec(self.workload, load))
        self.trials.append(trial)
        if passed(trial, self.workload.loss_tolerance):
            self.low_pps = max(self.low_pps, load)
        else:
            self.high_pps = min(self.high_pps, load)
        low, high = self.low_pps / 1e3, self.high_pps / 1e3
        self.runner.progress(f"{low:.1f} .. {high:.1f} kpps" if math.isfinite(high) else f"at least {low:.1f} kpps")
        return trial

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        from MLRsearch import MeasurementResult

        if self.workload.trials_per_load > 1:  # the bracket's trial counts once
            trial = self.made.pop(intended_load, None) or self._new_trial(intended_load)
        else:
            trial = self._trial(intended_load)
        sent = trial.total("sent")
        # A late frame means overload hidden by a queue, so it counts as lost.
        failed = trial.total("lost") + (0 if trial.kept_up or self.workload.loss_tolerance else max(1, trial.total("late")))
        if not trial.offered_all:
            failed = max(failed, sent)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=sent,
            loss_count=min(failed, sent),
        )


def _not_as_wide(low: float, high: float, width: float) -> tuple[float, float]:
    """The bracket, a little wider if it is just as wide as what is searched for: then MLRsearch's LoadRounding does not end."""
    return (low * (1 - NOT_THE_SAME), high) if math.isclose((high - low) / high, width, rel_tol=NOT_THE_SAME) else (low, high)


def run(runner: TrialRunner, workload: Workload) -> MethodResult:
    """Searches the throughput for one frame size. Raises IrqlabError if frames are lost even at MIN_RATE_PPS."""
    from MLRsearch import Config, MultipleLossRatioSearch, SearchGoal

    seconds = workload.duration_ns / 1e9
    goal = SearchGoal(
        loss_ratio=workload.loss_tolerance,
        exceed_ratio=0.5,
        relative_width=workload.relative_width,
        initial_trial_duration=seconds,
        final_trial_duration=seconds,
        duration_sum=seconds * workload.trials_per_load,
        preceding_targets=0 if workload.trials_per_load == 1 else 1,
        fail_fast=False,
    )
    config = Config()
    config.goals = [goal]
    config.warmup_duration = None
    config.search_duration_max = 1e9  # the result must not depend on the host's clock
    measurer = _Measurer(runner, workload)
    highest_pps = min(UNLIMITED_PPS if workload.above_line_rate else runner.wire_pps(workload), runner.ceiling_pps(workload))
    config.min_load, config.max_load = _not_as_wide(*measurer.bracket(highest_pps), workload.relative_width)
    found = MultipleLossRatioSearch(config=config).search(measurer=measurer, debug=lambda _: None)[goal]
    if found.relevant_lower_bound is None:
        worst = min(measurer.trials, key=lambda t: t.offered_pps)
        if not worst.offered_all and worst.live is not None:
            raise IrqlabError(
                f"the tester itself is too slow, even at {worst.spec.loads[0].rate_pps:.0f} frames/s: {worst.live.unreached}"
            )
        raise IrqlabError(
            f"{runner.bench.driver} on {runner.bench.nic.model} loses frames even at {worst.offered_pps:.0f} frames/s "
            f"({worst.total('lost')} of {worst.total('sent')} lost, {worst.total('late')} late)"
        )
    bound_pps = float(found.relevant_lower_bound)
    # Loss need not rise with load: the throughput is the load below which none failed.
    at_bound = [t for t in measurer.trials if t.spec.loads[0].rate_pps == bound_pps]
    best = next((t for t in at_bound if passed(t, workload.loss_tolerance)), at_bound[0])
    result = runner.result("throughput", workload)
    directions = 2 if workload.bidirectional else 1
    per_direction_pps = best.offered_pps / directions
    result.total_throughput_pps = best.offered_pps
    wire_bytes = mean_frame_bytes(workload.size) + 20
    result.per_interface_throughput_mbps = per_direction_pps * wire_bytes * 8 / 1e6
    result.line_rate_limited = not workload.above_line_rate and bound_pps >= wire_rate_pps(
        wire_bytes - 20, runner.bench.nic.line_rate_bps
    )
    if best.live is not None:
        result.tester_limited = not result.line_rate_limited and _is_tester_limited(
            measurer, bound_pps, runner.ceiling_pps(workload)
        )
    result.copy_per_frame_metrics(best)
    result.samples = [
        Sample(t.spec.loads[0].rate_pps, passed(t, workload.loss_tolerance), t.loss_ratio, t.kept_up) for t in measurer.trials
    ]
    result.summary = Summary(bound_pps, workload.relative_width, workload.loss_tolerance)
    result.trials = measurer.trials
    return result


def _is_tester_limited(measurer: _Measurer, bound_pps: float, ceiling_pps: float) -> bool:
    """Whether it is the tester that cannot do more: the lowest load that failed was not offered, or there is none higher."""
    failed = [
        t for t in measurer.trials if t.spec.loads[0].rate_pps > bound_pps and not passed(t, measurer.workload.loss_tolerance)
    ]
    if not failed:
        return bound_pps >= ceiling_pps
    lowest = min(t.spec.loads[0].rate_pps for t in failed)
    return all(not t.offered_all for t in failed if t.spec.loads[0].rate_pps == lowest)


def near(workload: Workload, expected_pps: float) -> Workload:
    """The workload for a search that is expected to find the same load as another one, `expected_pps` per direction.

    Two trials are enough if it does: at that load, and at the next one that such a search tells apart.
    """
    within = workload.relative_width * 0.49
    return replace(workload, expected_pps=expected_pps / (1 - within), expected_within=within)


def rate_per_direction(result: MethodResult) -> float:
    """The load of a throughput result, per direction, in frames/s."""
    return float(result.summary.rate_pps_per_direction)


def stating(rows: Sequence[Row]) -> list[Row]:
    """Selects, from the rows of all methods, the one with the throughput of each test; the search's own row if there is one.

    Never a row of `profile` or `metrics`: their costs per frame are measured at another load.
    """
    able = [r for r in rows if r.data["method"] not in ("profile", "metrics") and r.result.total_throughput_pps is not None]
    found: dict[tuple[Variant, bool, int | str], Row] = {}
    for row in sorted(able, key=lambda row: row.data["method"] != METHOD.name):
        found.setdefault((row.variant, row.bidirectional, row.frame_bytes), row)
    return ordered(list(found.values()))


def _sections(rows: Sequence[Row], number: Numbers) -> list[Section]:
    """Sections on throughput by frame size, the search's trials, and the cost per frame."""
    groups = throughput_views.by_direction(rows, number)
    if searched := [row for row in rows if row.data["method"] == METHOD.name]:
        groups.append(Group(tables=[Lines("Every trial of the search", Sample, folded=True).table(searched)]))
    return [METHOD.page_section(groups), *throughput_views.cost(rows, number)]


METHOD = Method(
    name="throughput",
    place=10,
    title="Throughput by frame size",
    short="Throughput",
    help="Find the highest rate without loss (RFC 2544, 26.1).",
    intro="The highest offered rate at which no frame is lost (RFC 2544, 26.1), all directions together.",
    sample=Sample,
    summary=Summary,
    lines=throughput_views.LINES,
    run=lambda runner, workload, _: [run(runner, workload)],
    draws=_sections,
    drawn=stating,
    picture=throughput_views.picture,
    lead="Throughput: the highest rate without loss (RFC 2544, 26.1)",
    verdicts=throughput_views.verdicts,
    sure=throughput_views.sure,
    first_table=throughput_views.first_table,
)
