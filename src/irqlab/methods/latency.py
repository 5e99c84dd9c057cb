# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency (RFC 1242, 3.8, store and forward; RFC 2544, 26.2) at shares of the throughput, with RFC 3393's delay variation.

RFC 2544 asks for the latency at the throughput; lower shares are where an interrupt scheme shows its price.
"""

from __future__ import annotations

from dataclasses import replace

from irqlab.config.workload import Workload
from irqlab.methods import throughput
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner

SHARES = (0.1, 0.5, 0.9, 1.0)


def run(
    runner: TrialRunner, workload: Workload, shares: tuple[float, ...] = SHARES, known: MethodResult | None = None
) -> MethodResult:
    """Latency percentiles, one point per share and stream; `known` is a throughput result of the same stand and plan."""
    base = known or throughput.run(runner, workload)
    rate_pps = throughput.rate_per_direction(base)
    detailed = replace(workload, histogram=True)
    specs = [runner.spec(detailed, rate_pps * share) for share in shares]
    trials = runner.trials(
        specs, lambda t: f"{t.offered_pps / 1e3:.1f} kpps, p99 {t.streams[0]['latency']['p99_ns'] / 1e3:.1f} us"
    )
    result = runner.result("latency", workload)
    result.total_throughput_pps, result.per_interface_throughput_mbps = (
        base.total_throughput_pps,
        base.per_interface_throughput_mbps,
    )
    result.line_rate_limited = base.line_rate_limited
    result.instructions_per_frame = base.instructions_per_frame
    result.interrupts_per_frame = base.interrupts_per_frame
    result.rx_interrupts_per_frame = base.rx_interrupts_per_frame
    result.tx_interrupts_per_frame = base.tx_interrupts_per_frame
    result.samples = [
        {
            "load": share,
            "rate_pps": rate_pps * share,
            "direction": [stream["from"], stream["to"]],
            "latency": stream["latency"],
            "ipdv": stream["ipdv"],
            "loss_ratio": trial.loss_ratio,
        }
        for share, trial in zip(shares, trials, strict=True)
        for stream in trial.streams
    ]
    result.trials = trials
    return result
