# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials as long as the paper's, at the throughput that short ones found (`--long`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

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
VARIANTS = (BASE, "NAPI-TX-OFF")
"""The slowest and the fastest."""


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


def _trial(runner: TrialRunner, workload: Workload, rate_pps: float) -> ForwardingResult:
    """A trial with a rate per direction."""
    trial = runner.trial(runner.spec(workload, rate_pps))
    runner.progress(f"{trial.total('lost')} frames lost at {2 * rate_pps / 1e3:.2f} kpps")
    return trial


def measure(run: Run, found: Results) -> Table[LongRow]:
    """One trial of LONG_NS for each of VARIANTS."""
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
        )
        for variant, trial in run.session.all("long trials", jobs).items()
    ]
    return Table("Trials as long as the paper's", LongRow, tuple(rows))
