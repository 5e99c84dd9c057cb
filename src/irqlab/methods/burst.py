# SPDX-License-Identifier: GPL-2.0-or-later
"""Back-to-back frames (RFC 1242, 3.1; RFC 2544, 26.4; RFC 9004): the longest burst at line rate without loss.

This measures buffering, so frames may come out late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from irqlab import units
from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers
from irqlab.methods.method import Lines, Method
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import bar_of
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

LIMIT_S = 2.0
"""RFC 2544 asks for bursts of at least 2 seconds; if the DUT passes that, the search ends."""


@dataclass(frozen=True)
class Sample:
    """One burst of the search."""

    burst_frames: int
    passed: bool
    """No frame was lost."""


@dataclass(frozen=True)
class Summary:
    """Result of the search."""

    longest_burst_frames: int
    limit_frames: int
    """The longest burst that the search tries."""

    @property
    def unlimited(self) -> bool:
        """Whether the DUT passed the longest burst."""
        return self.longest_burst_frames >= self.limit_frames


@dataclass(frozen=True)
class Line:
    """The table's line."""

    nic: Annotated[str, Col("NIC", title="QEMU's model")]
    longest_burst_frames: Annotated[int, Col("Longest burst", "frames", units.whole, mark=lambda _: "strong")]
    limit_frames: Annotated[int, Col("Longest tried", "frames", units.whole)]
    limit: Annotated[str, Col("", mark=lambda _: "good")]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The line of a result row."""
        found = row.summary
        unlimited = "no limit found" if found.unlimited else ""
        return [cls(row.data["nic"], found.longest_burst_frames, found.limit_frames, unlimited)]


def _spec(runner: TrialRunner, workload: Workload, frames: int) -> ForwardingTrial:
    rate_pps = runner.wire_pps(workload)
    return ForwardingTrial(
        loads=(Load(rate_pps=rate_pps, size=workload.size, count=frames),),
        bidirectional=workload.bidirectional,
        duration_ns=int((frames + 2) * 1e9 / rate_pps) + 1_000_000,
        warmup_ns=0,
        drain_ns=200_000_000,
        seed=workload.seed,
        costs=workload.costs,
    )


def run(runner: TrialRunner, workload: Workload) -> MethodResult:
    """Doubles the burst until frames are lost, then bisects to the frame.

    Raises IrqlabError if the tester is slower than the line.
    """
    if runner.ceiling_pps(workload) < runner.wire_pps(workload):
        raise IrqlabError(
            f"bursts are sent at line rate, {runner.wire_pps(workload):.0f} frames/s, and the tester's own limit is "
            f"{runner.ceiling_pps(workload):.0f} frames/s: use a faster host or longer frames"
        )
    result = runner.result("burst", workload)
    limit = int(LIMIT_S * runner.wire_pps(workload))
    trials: list[ForwardingResult] = []

    def survives(frames: int) -> bool:
        trial = runner.trial(_spec(runner, workload, frames))
        trials.append(trial)
        good = trial.total("lost") == 0
        result.samples.append(Sample(frames, good))
        runner.progress(f"{frames} frames {'pass' if good else 'lose some'}")
        return good

    longest, shortest_bad = 0, None
    frames = 16
    while shortest_bad is None and longest < limit:
        frames = min(frames, limit)
        if survives(frames):
            longest = frames
            frames *= 2
        else:
            shortest_bad = frames
    while shortest_bad is not None and shortest_bad - longest > 1:
        middle = (longest + shortest_bad) // 2
        if survives(middle):
            longest = middle
        else:
            shortest_bad = middle
    result.summary = Summary(longest, limit)
    result.trials = trials
    return result


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """Bars; those without a limit are cut so that the others remain readable."""
    limited = [row.summary.longest_burst_frames for row in rows if not row.summary.unlimited]
    cut = 1.4 * max(limited, default=0) or None
    entries = []
    for row in rows:
        longest = row.summary.longest_burst_frames
        length = min(longest, cut) if row.summary.unlimited and cut else longest
        text = f"≥{units.NARROW}{units.whole(longest)}" if row.summary.unlimited else units.whole(longest)
        entries.append(bar_of(row, length, text))
    shortened = any(entry.value < row.summary.longest_burst_frames for entry, row in zip(entries, rows, strict=True))
    note = "Bars marked ≥ are cut: no limit was found." if shortened else ""
    return Group(plots=[number.plot("Longest burst, frames", plots.bars(entries, "Longest burst"), note)])


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """The longest burst without loss."""

    def value(row: Row) -> float:
        return float(row.summary.longest_burst_frames)

    def said(row: Row) -> str:
        if not row.summary.longest_burst_frames:
            return "frames are lost in every burst at line rate that was tried"
        longest = answers.spread(row, value, units.whole)
        if row.summary.unlimited:
            return f"no loss in bursts of up to {longest} frames at line rate, the longest that was tried"
        return f"no loss in bursts of up to {longest} frames at line rate, found to the frame"

    return answers.by_row(rows, said, "Longest burst without loss, in frames", value, units.whole)


METHOD = Method(
    name="burst",
    place=40,
    title="Bursts",
    help="Measure the longest burst at line rate without loss (RFC 2544, 26.4).",
    intro="The longest burst of back-to-back frames, at line rate, without loss (RFC 2544, 26.4). It shows how much the rings "
    "and queues buffer.",
    sample=Sample,
    summary=Summary,
    lines=Lines("Back-to-back frames", Line, Line.of, note="In frames, at line rate, without loss"),
    run=lambda runner, workload, _: [run(runner, workload)],
    plots=_plots,
    lead="Bursts: the longest at line rate without loss (RFC 2544, 26.4)",
    verdicts=_verdicts,
)
