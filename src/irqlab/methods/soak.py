# SPDX-License-Identifier: GPL-2.0-or-later
"""A soak test: a sustainable load for minutes or hours of virtual time. Measures loss, latency and memory over time.

Idle time costs nothing, so a day at a low rate takes minutes.

It shows what short trials cannot: memory leaks, slowly growing queues, and timers that fire once a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import linear_regression
from typing import Annotated

import typer

from irqlab import units
from irqlab.config.traffic import Load
from irqlab.config.values import Count, Rate
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers, throughput
from irqlab.methods.method import FORWARDING, Lines, Method
from irqlab.methods.options import check_rate, either, pps
from irqlab.present import plots, series
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import legend_of, line_of
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.soak import Slice, SoakTrial

MAX_DURATION_S = 24 * 3600.0
MIN_INTERVAL_S = 0.01
MAX_BURST_FRAMES = 10_000
SAMPLES = 60
MAX_MESSAGES = 10
"""Different messages of the kernel that are printed."""
DRAIN_NS = 20_000_000
"""Pause after each slice, so that frames in flight do not count as lost."""
HOUR_NS = 3600 * 10**9


def _mib(value: float) -> str:
    return f"{value / 2**20:.1f}"


def _kib(value: float) -> str:
    return units.grouped(value / 1024)


@dataclass(frozen=True)
class Options:
    """Load and duration."""

    load: Annotated[
        float | None,
        typer.Option("--load", help="Offered load as a share of the throughput, which is searched first; default: 0.9."),
    ] = None
    rate: Annotated[
        float | None, typer.Option("--rate", parser=pps, help="Offered load in frames/s per direction (40k), instead of --load.")
    ] = None
    duration: Annotated[float, typer.Option("--duration", help="Duration of the soak, in virtual seconds.")] = 60.0
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            help=f"Interval between samples, in virtual seconds; default: 1/{SAMPLES} of the duration, at least "
            f"{MIN_INTERVAL_S:g}.",
        ),
    ] = None

    burst: Annotated[
        int,
        typer.Option("--burst", help="Frames sent at line rate, besides the load, in the middle of each interval and direction."),
    ] = 0

    def __post_init__(self) -> None:
        either("--load", self.load, "--rate", self.rate)
        if not 0 <= self.burst <= MAX_BURST_FRAMES:
            raise IrqlabError(f"--burst {self.burst}: allowed are 0 to {MAX_BURST_FRAMES} frames")
        if not 0 < self.share <= 1:
            raise IrqlabError(f"--load {self.load:g}: allowed are shares of the throughput up to 1")
        check_rate(self.rate)
        if not 2 * MIN_INTERVAL_S <= self.duration <= MAX_DURATION_S:
            raise IrqlabError(f"--duration {self.duration:g}: allowed are {2 * MIN_INTERVAL_S:g} to {MAX_DURATION_S:g} seconds")
        if not MIN_INTERVAL_S <= self.interval_s <= self.duration / 2:
            raise IrqlabError(f"--interval {self.interval_s:g}: allowed are {MIN_INTERVAL_S:g} seconds to half of the duration")

    @property
    def share(self) -> float:
        """The load as a share of the throughput."""
        return 0.9 if self.load is None else self.load

    @property
    def interval_s(self) -> float:
        """Interval between samples, in seconds."""
        return max(self.duration / SAMPLES, MIN_INTERVAL_S) if self.interval is None else self.interval

    @property
    def count(self) -> int:
        """Number of samples."""
        return round(self.duration / self.interval_s)


@dataclass(frozen=True)
class Sample:
    """One interval, and the memory at its end."""

    end_ns: Annotated[Count, Col("Time", "s", lambda ns: f"{ns / 1e9:.2f}")]
    """From the start of the soak, including the pauses in which memory was read."""
    sent: Annotated[Count, Col("Sent", "frames", units.whole)]
    lost: Annotated[Count, Col("Lost", "frames", units.whole)]
    p50_ns: Annotated[Count | None, Col("p50", format=units.duration)]
    p99_ns: Annotated[Count | None, Col("p99", format=units.duration)]
    max_ns: Annotated[Count | None, Col("max", format=units.duration)]
    memory_available_bytes: Annotated[Count, Col("Available", "MiB", _mib)]
    slab_bytes: Annotated[Count, Col("Slab", "MiB", _mib)]
    skb_bytes: Annotated[Count | None, Col("Socket buffers", "KiB", _kib, optional=True)]
    """Objects in use in their slab caches; null if the kernel does not report them."""
    kernel_messages: list[str] | None = None
    """The kernel's messages above info that are not harmless; a warning's call trace or an oops ends the soak. Null in documents
    of older versions."""

    @classmethod
    def of(cls, found: Slice) -> Sample:
        """Makes a sample from a slice of the trial."""
        memory = found.memory
        return cls(
            found.end_ns,
            found.sent,
            found.lost,
            found.p50_ns,
            found.p99_ns,
            found.max_ns,
            memory.available,
            memory.slab,
            memory.skbs,
            list(found.kernel_messages),
        )


@dataclass(frozen=True)
class Summary:
    """Summary of the soak."""

    rate_pps: Annotated[Rate, Col("Offered", "kpps", units.kpps, title="per direction")]
    duration_ns: Annotated[Count, Col("for", format=units.duration)]
    sent: Annotated[Count, Col("Sent", "frames", units.whole)]
    lost: Annotated[Count, Col("Lost", "frames", units.whole, mark=lambda lost: "bad" if lost else "good")]
    worst_p99_ns: Annotated[Count | None, Col("Worst p99", format=units.duration, title="of any interval")]
    memory_drift_bytes_per_hour: Annotated[
        float, Col("Memory", "KiB/hour", _kib, title="rate at which MemAvailable falls; linear fit through all samples")
    ]
    slab_drift_bytes_per_hour: Annotated[
        float, Col("Slab", "KiB/hour", _kib, title="rate at which it grows; linear fit through all samples")
    ]
    kernel_messages: Annotated[
        Count | None,
        Col("Kernel", "messages", title="that are not harmless", mark=lambda said: "bad" if said else "good", optional=True),
    ] = None


def drift_per_hour(samples: Sequence[tuple[int, int]]) -> float:
    """The slope of a linear fit through (time in ns, value), per hour."""
    return linear_regression([at for at, _ in samples], [value for _, value in samples]).slope * HOUR_NS


def run(runner: TrialRunner, workload: Workload, options: Options) -> MethodResult:
    """Runs the soak at the given rate, or at a share of the throughput, which is searched first."""
    rate_pps, base = options.rate, None
    if rate_pps is None:
        base = throughput.run(runner, workload)
        rate_pps = throughput.rate_per_direction(base) * options.share
    one = replace(runner.spec(workload, rate_pps), duration_ns=round(options.interval_s * 1e9), drain_ns=DRAIN_NS)
    if options.burst:
        burst = Load(runner.wire_pps(workload), workload.size, begin_ns=one.duration_ns // 2, count=options.burst)
        one = replace(one, loads=(*one.loads, burst))
    runner.progress(f"{options.duration:g} s at {units.kpps(rate_pps)} kpps")
    trial = SoakTrial(one, options.count)

    def result(slices: Sequence[Slice]) -> MethodResult:
        found = runner.result("soak", workload)
        if base is not None:
            found.copy_throughput(base)
        return _with_slices(found, slices, rate_pps, one.duration_ns)

    runner.draft = lambda: result(trial.ended) if len(trial.ended) > 1 else None
    return result(runner.trial(trial).slices)


def _with_slices(result: MethodResult, slices: Sequence[Slice], rate_pps: float, slice_ns: int) -> MethodResult:
    samples = [Sample.of(part) for part in slices]
    result.samples = samples
    result.summary = Summary(
        rate_pps=rate_pps,
        duration_ns=slice_ns * len(slices),
        sent=sum(sample.sent for sample in samples),
        lost=sum(sample.lost for sample in samples),
        worst_p99_ns=max((sample.p99_ns for sample in samples if sample.p99_ns is not None), default=None),
        memory_drift_bytes_per_hour=-drift_per_hour([(s.end_ns, s.memory_available_bytes) for s in samples]),
        slab_drift_bytes_per_hour=drift_per_hour([(s.end_ns, s.slab_bytes) for s in samples]),
        kernel_messages=sum(len(part.kernel_messages) for part in slices),
    )
    return result


def _messages(row: Row, _: Options) -> list[str]:
    """What the kernel said."""
    said = Counter(message for sample in row.samples for message in sample.kernel_messages or ())
    most = said.most_common(MAX_MESSAGES)
    return [f"{row.variant.label}: the kernel logged{f' {count} times' if count > 1 else ''}: {text}" for text, count in most]


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """Loss, latency and memory over time."""

    def curves(field: str, scale: float) -> list[series.Line]:
        values = [(row, [(s.end_ns / 1e9, getattr(s, field)) for s in row.samples]) for row in rows]
        return [line_of(row, [(x, None if y is None else y * scale) for x, y in points]) for row, points in values]

    drawn = (
        ("Frames lost", "lost", 1.0, "frames", True),
        ("Latency, p99", "p99_ns", 1e-3, "µs", True),
        ("Memory available", "memory_available_bytes", 2**-20, "MiB", False),
        ("Slab", "slab_bytes", 2**-20, "MiB", False),
    )
    return Group(
        legend=legend_of(rows),
        plots=[
            number.plot(title, plots.over_time(curves(field, scale), "Time, s", unit, title, from_zero))
            for title, field, scale, unit, from_zero in drawn
        ],
        tables=[Lines("Over time", Sample, folded=True).table(rows)],
    )


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """What was lost, how late frames were, what happened to the memory, and what the kernel said."""

    def lost(row: Row) -> float:
        return float(row.summary.lost)

    def said(row: Row) -> str:
        found = row.summary
        first, last = (_mib(row.samples[at].memory_available_bytes) for at in (0, -1))
        messages = f"; {units.whole(found.kernel_messages)} kernel messages" if found.kernel_messages else ""
        return (
            f"{answers.spread(row, lost, units.whole)} of {units.whole(found.sent)} frames lost in "
            f"{units.duration(found.duration_ns)} at {units.kpps(found.rate_pps)}{units.NARROW}kpps; worst p99 "
            f"{answers.spread(row, lambda one: one.summary.worst_p99_ns, units.duration)}; {first} MiB available at "
            f"first, {last} MiB at last{messages}"
        )

    return answers.by_row(rows, said, "Frames lost", lost, units.whole)


METHOD = Method(
    name="soak",
    place=55,
    title="Soak",
    help="Run a load below the throughput for minutes or hours of virtual time; record loss, latency and memory over time.",
    intro="A sustainable load, offered for a long time. The memory use of the device under test is read between intervals: a "
    "leak or a growing queue shows as a slope.",
    sample=Sample,
    summary=Summary,
    lines=Lines(
        "Soak",
        Summary,
        lambda row: [row.summary],
        note="KiB/hour: how fast available memory shrinks, and how fast the slab caches grow",
    ),
    run=lambda runner, workload, options: [run(runner, workload, options)],
    options=Options,
    shared=tuple(name for name in FORWARDING if name != "duration"),
    tables=_messages,
    failed=lambda rows: any(row.summary.kernel_messages for row in rows if row.data["complete"]),
    plots=_plots,
    lead="Soak: loss, latency and memory over a long time",
    verdicts=_verdicts,
)
