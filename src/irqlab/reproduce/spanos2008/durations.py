# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials as long as the paper's, at the throughput that short ones found, and why they lose frames (`--long`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.methods import throughput as search
from irqlab.present.columns import Col
from irqlab.reproduce.session import cases, measured
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.throughput import BASE, Results
from irqlab.reproduce.table import Table
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

BYTES = 64
LONG_NS = 60_000_000_000
DISTURBED = (BASE, "NAPI-TX-OFF")
"""The slowest and the fastest."""
DISTURBED_NS = 2_000_000_000
LAST_NS = 1_000_000_000
"""The part at the end of such a trial in which lost frames are counted by themselves."""
BUCKET_NS = 100_000_000
BURST_AT_NS = 500_000_000
BURST_FRAMES = 300
"""More than a ring of 256 holds."""
SHARES = (1.0, 0.99, 0.98, 0.97)


@dataclass(frozen=True)
class LongRow:
    """A long trial. Rates are of both directions together."""

    variant: Annotated[str, Col("Variant")]
    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    seconds: Annotated[float, Col("Trial", "s")]
    short_seconds: Annotated[float, Col("Short trials", "s")]
    short_pps: Annotated[float, Col("Throughput by these", "frames/s")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    sent_frames: Annotated[int, Col("Frames sent")]
    lost_frames: Annotated[int, Col("lost")]
    forwarded_pps: Annotated[float, Col("Forwarded", "frames/s")]
    first_lost_s: Annotated[float | None, Col("First lost after", "s")] = None
    """None: none was."""


@dataclass(frozen=True)
class DisturbedRow:
    """A trial at a share of the throughput, with a burst in it or without. Counts are of both directions together."""

    variant: Annotated[str, Col("Variant")]
    share: Annotated[float, Col("Load", title="As a share of the throughput that short trials found")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    burst_frames: Annotated[int, Col("Burst", "frames", title="In each direction, at line rate, after half a second")]
    sent_frames: Annotated[int, Col("Frames sent", title="Without the burst's")]
    lost_frames: Annotated[int, Col("lost")]
    lost_last_second: Annotated[int, Col("lost in the last second")]
    latency_p50_us: Annotated[float, Col("p50", "µs")]
    latency_max_us: Annotated[float, Col("max", "µs")]
    instructions_per_frame: Annotated[float, Col("Instructions a frame")]


def _trial(runner: TrialRunner, workload: Workload, rate_pps: float, burst: int | None = None) -> ForwardingResult:
    """A trial with a rate per direction. `burst`: so many frames in each besides; frames are then counted over time, too."""
    trial = runner.spec(workload, rate_pps)
    if burst is not None:
        trial = replace(trial, bucket_ns=BUCKET_NS)
    if burst:
        load = Load(runner.wire_pps(workload), workload.size, begin_ns=BURST_AT_NS, count=burst)
        trial = replace(trial, loads=(*trial.loads, load))
    found = runner.trial(trial)
    runner.progress(f"{found.total('lost')} frames lost at {2 * rate_pps / 1e3:.2f} kpps")
    return found


def measure(run: Run, found: Results) -> Table[LongRow]:
    """One trial of LONG_NS for each variant."""
    short = run.search_plan(BYTES)
    workload = replace(short, duration_ns=LONG_NS)
    made = run.variants(
        "long trials",
        (BYTES,),
        lambda size, v: partial(_trial, workload=workload, rate_pps=search.rate_per_direction(found[size, v])),
    )
    rows = [
        LongRow(
            variant=variant,
            frame_bytes=size,
            seconds=LONG_NS / 1e9,
            short_seconds=short.duration_ns / 1e9,
            short_pps=round(found[size, variant].total_throughput_pps or 0.0, 2),
            offered_pps=round(trial.offered_pps, 2),
            sent_frames=trial.total("sent"),
            lost_frames=trial.total("lost"),
            forwarded_pps=round(trial.forwarded_pps, 2),
            first_lost_s=_first_lost_s(trial),
        )
        for (size, variant), trial in made.items()
    ]
    return Table("Trials as long as the paper's", LongRow, tuple(rows))


def _first_lost_s(trial: ForwardingResult) -> float | None:
    first = [one.first_lost_sent_ns for one in trial.streams if one.first_lost_sent_ns is not None]
    return round(min(first) / 1e9, 2) if first else None


def disturbed(run: Run, found: Results) -> Table[DisturbedRow]:
    """Whether a burst makes a load lose frames long after it: then the DUT has two states at that load."""
    workload = replace(run.search_plan(BYTES), duration_ns=DISTURBED_NS)

    def job(variant: str, share: float, burst_frames: int) -> Job[ForwardingResult]:
        rate_pps = share * search.rate_per_direction(found[BYTES, variant])
        work = partial(_trial, workload=workload, rate_pps=rate_pps, burst=burst_frames)
        label = f"{variant}, {share:g} of the throughput, a burst of {burst_frames}"
        return Job(label, run.testbed(variant), work)

    def figures(trial: ForwardingResult, **_: object) -> dict[str, float]:
        steady = [one for one in trial.streams if one.load == 0]
        sent = sum(one.sent for one in steady)
        late = sum(sent - received for one in steady for sent, received in (one.series or ())[-(LAST_NS // BUCKET_NS) :])
        return {
            "offered_pps": round(sent * 1e9 / DISTURBED_NS, 2),
            "sent_frames": sent,
            "lost_frames": sum(one.lost for one in steady),
            "lost_last_second": late,
            "latency_p50_us": max(one.latency.p50_ns for one in steady) / 1e3,
            "latency_max_us": max(one.latency.max_ns for one in steady) / 1e3,
            "instructions_per_frame": round(trial.instructions / max(1, trial.total("received")), 1),
        }

    every = cases(variant=DISTURBED, share=SHARES[:2] if run.quick else SHARES, burst_frames=(0, BURST_FRAMES))
    made = measured(run.session, "long trials: a burst", every, job)
    return made.table("Two states: trials of 2 s, with a burst and without", DisturbedRow, figures)
