# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials as long as the paper's, at the throughput that short ones found, and why they lose frames (`--long`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from irqlab.config.schemes import VARIANTS
from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.methods import throughput as search
from irqlab.present.columns import Col
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


def _trial(runner: TrialRunner, workload: Workload, rate_pps: float) -> ForwardingResult:
    """A trial with a rate per direction."""
    trial = runner.trial(runner.spec(workload, rate_pps))
    runner.progress(f"{trial.total('lost')} frames lost at {2 * rate_pps / 1e3:.2f} kpps")
    return trial


def measure(run: Run, found: Results) -> Table[LongRow]:
    """One trial of LONG_NS for each variant."""
    short = run.search_plan(BYTES)
    workload = replace(short, duration_ns=LONG_NS)
    jobs = {
        v: Job(v, run.testbed(v), partial(_trial, workload=workload, rate_pps=search.rate_per_direction(found[BYTES, v])))
        for v in VARIANTS
    }
    rows = [
        LongRow(
            variant=variant,
            frame_bytes=BYTES,
            seconds=LONG_NS / 1e9,
            short_seconds=short.duration_ns / 1e9,
            short_pps=round(found[BYTES, variant].total_throughput_pps or 0.0, 2),
            offered_pps=round(trial.offered_pps, 2),
            sent_frames=trial.total("sent"),
            lost_frames=trial.total("lost"),
            forwarded_pps=round(trial.forwarded_pps, 2),
            first_lost_s=_first_lost_s(trial),
        )
        for variant, trial in run.session.all("long trials", jobs).items()
    ]
    return Table("Trials as long as the paper's", LongRow, tuple(rows))


def _first_lost_s(trial: ForwardingResult) -> float | None:
    first = [one.first_lost_sent_ns for one in trial.streams if one.first_lost_sent_ns is not None]
    return round(min(first) / 1e9, 2) if first else None


def _disturb(runner: TrialRunner, workload: Workload, rate_pps: float, frames: int) -> ForwardingResult:
    """A trial with a rate per direction, and a burst of `frames` in each."""
    trial = replace(runner.spec(workload, rate_pps), bucket_ns=BUCKET_NS)
    if frames:
        burst = Load(runner.wire_pps(workload), workload.size, begin_ns=BURST_AT_NS, count=frames)
        trial = replace(trial, loads=(*trial.loads, burst))
    found = runner.trial(trial)
    runner.progress(f"{found.total('lost')} frames lost at {2 * rate_pps / 1e3:.2f} kpps")
    return found


def disturbed(run: Run, found: Results) -> Table[DisturbedRow]:
    """Whether a burst makes a load lose frames long after it: then the DUT has two states at that load."""
    workload = replace(run.search_plan(BYTES), duration_ns=DISTURBED_NS)
    jobs = {
        (v, share, frames): Job(
            f"{v}, {share:g} of the throughput, a burst of {frames}",
            run.testbed(v),
            partial(_disturb, workload=workload, rate_pps=share * search.rate_per_direction(found[BYTES, v]), frames=frames),
        )
        for v in DISTURBED
        for share in (SHARES[:2] if run.quick else SHARES)
        for frames in (0, BURST_FRAMES)
    }
    rows = []
    for (variant, share, frames), trial in run.session.all("long trials: a burst", jobs).items():
        steady = [one for one in trial.streams if one.load == 0]
        late = sum(sent - received for one in steady for sent, received in (one.series or ())[-(LAST_NS // BUCKET_NS) :])
        row = DisturbedRow(
            variant=variant,
            share=share,
            offered_pps=round(sum(one.sent for one in steady) * 1e9 / DISTURBED_NS, 2),
            burst_frames=frames,
            sent_frames=sum(one.sent for one in steady),
            lost_frames=sum(one.lost for one in steady),
            lost_last_second=late,
            latency_p50_us=max(one.latency.p50_ns for one in steady) / 1e3,
            latency_max_us=max(one.latency.max_ns for one in steady) / 1e3,
            instructions_per_frame=round(trial.instructions / max(1, trial.total("received")), 1),
        )
        rows.append(row)
    return Table("Two states: trials of 2 s, with a burst and without", DisturbedRow, tuple(rows))
