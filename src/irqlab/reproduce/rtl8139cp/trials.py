# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials: at a rate, how long frames are held, and searches in which frames come out late."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irqlab.config.workload import Workload
from irqlab.reproduce.rtl8139cp.configurations import SLOW_PERIOD_US
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

GENTLE_PPS = 5_000.0
"""Carried by every period but the longest: a ring of 64 in 10 ms holds 6,400 frames/s."""


QUICK_NS, QUICK_WIDTH = 60_000_000, 0.01


def workload_of(quick: bool, size: int = 64) -> Workload:
    """What trials offer; shorter ones in the quick look."""
    usual = Workload(size=size)
    return replace(usual, duration_ns=QUICK_NS, warmup_ns=QUICK_NS // 4, relative_width=QUICK_WIDTH) if quick else usual


def loaded(runner: TrialRunner, workload: Workload, rate_pps: float | None) -> ForwardingResult:
    """A trial at a rate; None: the wire's."""
    trial = runner.trial(runner.spec(workload, runner.wire_pps(workload) if rate_pps is None else rate_pps))
    runner.progress(f"{trial.forwarded_pps / 1e3:.1f} kpps forwarded")
    return trial


@dataclass(frozen=True)
class Held:
    """Latency in µs, and the mean number of frames in the DUT; None: no frame came out."""

    latency_p50_us: float | None = None
    latency_p99_us: float | None = None
    latency_max_us: float | None = None
    held_frames: float | None = None

    @classmethod
    def of(cls, trial: ForwardingResult) -> Held:
        """Of a trial with one stream. Frames in the DUT: arrivals times the time in it (Little's law)."""
        latency = trial.streams[0].latency
        if not latency.count:
            return cls()
        received_pps = trial.total("received") / trial.window_s
        p50, p99, most = (ns / 1e3 for ns in (latency.p50_ns, latency.p99_ns, latency.max_ns))
        return cls(p50, p99, most, round(received_pps * latency.mean_ns / 1e9, 3))


class Patient(TrialRunner):
    """Frames may come out later than usual by the longest period: with a timer of 10 ms none comes out within 2 ms."""

    def spec(self, workload: Workload, rate_pps: float) -> ForwardingTrial:
        """The usual trial, with more patience."""
        usual = super().spec(workload, rate_pps)
        return replace(usual, late_ns=usual.late_ns + SLOW_PERIOD_US * 1000)
