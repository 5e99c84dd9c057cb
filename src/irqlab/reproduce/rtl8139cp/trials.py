# SPDX-License-Identifier: GPL-2.0-or-later
"""Searches for the throughput, in which frames may come out late, and trials at a gentle rate and at the wire's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irqlab.config.workload import Workload
from irqlab.methods import throughput
from irqlab.reproduce.rtl8139cp.configurations import SLOW_PERIOD_US
from irqlab.reproduce.table import rounded
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

GENTLE_PPS = 5_000.0
"""Carried by every period but the longest: a ring of 64 in 10 ms holds 6,400 frames/s."""


@dataclass(frozen=True)
class Loaded:
    """What trials at GENTLE_PPS and at the wire's full rate say. Latency in µs; None: no frame came out."""

    loss_ratio: float
    full_rate_forwarded_pps: float
    full_rate_instructions_per_frame: float | None
    latency_p50_us: float | None = None
    latency_p99_us: float | None = None
    latency_max_us: float | None = None
    held_frames: float | None = None
    """The mean number of frames in the DUT: arrivals times the time in it (Little's law)."""

    @classmethod
    def of(cls, gentle: ForwardingResult, full: ForwardingResult) -> Loaded:
        """Of trials with one stream."""
        told = (gentle.loss_ratio, round(full.forwarded_pps, 1), rounded(full.instructions_per_frame, 1))
        latency = gentle.streams[0].latency
        if not latency.count:
            return cls(*told)
        received_pps = gentle.total("received") / gentle.window_s
        p50, p99, most = (ns / 1e3 for ns in (latency.p50_ns, latency.p99_ns, latency.max_ns))
        return cls(*told, p50, p99, most, round(received_pps * latency.mean_ns / 1e9, 3))


def loaded(runner: TrialRunner, workload: Workload) -> Loaded:
    """Both trials."""
    rates_pps = (GENTLE_PPS, runner.wire_pps(workload))
    specs = [runner.spec(workload, rate_pps) for rate_pps in rates_pps]
    return Loaded.of(*runner.trials(specs, lambda trial: f"{trial.forwarded_pps / 1e3:.1f} kpps forwarded"))


def search(runner: TrialRunner, workload: Workload, patient: bool = True) -> MethodResult:
    """The throughput without loss. `patient`: frames may be late."""
    return throughput.run(Patient(runner.bench, runner.slots, runner.progress) if patient else runner, workload)


class Patient(TrialRunner):
    """Frames may come out later than usual by the longest period: with a timer of 10 ms none comes out within 2 ms."""

    def spec(self, workload: Workload, rate_pps: float) -> ForwardingTrial:
        """The usual trial, with more patience."""
        usual = super().spec(workload, rate_pps)
        return replace(usual, late_ns=usual.late_ns + SLOW_PERIOD_US * 1000)


def throughput_pps(found: MethodResult) -> float:
    """Of a search; 0: not even the lowest rate is without loss."""
    return found.total_throughput_pps or 0.0


def gain_percent(pps: float, base_pps: float) -> float:
    """What a rate is more than another, in per cent; 0: there is no other."""
    return round(100 * (pps / base_pps - 1), 2) if base_pps else 0.0


def gained(found: MethodResult, base: MethodResult, own_napi: MethodResult | None = None) -> dict[str, float | None]:
    """Columns of a search: what it found, and the gain over others: that of a table, and our driver with NAPI."""
    pps = throughput_pps(found)
    return {
        "throughput_pps": round(pps, 1),
        "instructions_per_frame": rounded(found.instructions_per_frame, 1),
        "gain_percent": gain_percent(pps, throughput_pps(base)),
        **({"gain_over_own_napi_percent": gain_percent(pps, throughput_pps(own_napi))} if own_napi else {}),
    }
