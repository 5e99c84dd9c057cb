# SPDX-License-Identifier: GPL-2.0-or-later
"""Frame loss rate over offered load (RFC 2544, 26.3) and forwarding rate (RFC 2285, 3.6): the livelock curve.

Loads are shares of the throughput, up to 4x. Above the wire's rate the ceiling is lifted and the point says so: the question
is what the driver does, not what the wire carries.
"""

from __future__ import annotations

from irqlab.config.workload import Workload
from irqlab.methods import throughput
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

SHARES = (0.25, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)
COLLAPSED = 0.02
"""Below this share of the maximum, forwarding has collapsed (receive livelock)."""


def point(share: float, trial: ForwardingResult) -> dict[str, object]:
    """What the loss curve says of one trial (docs/results.md)."""
    return {
        "load": share,
        "offered_pps": trial.offered_pps,
        "above_line_rate": trial.spec.above_line_rate,
        "forwarded_pps": trial.forwarded_pps,
        "loss_ratio": trial.loss_ratio,
        "instructions_per_frame": trial.instructions_per_frame,
        "interrupts": trial.counters.interrupts,
        "interrupts_per_frame": trial.interrupts_per_frame(),
        "rx_interrupts_per_frame": trial.caused_per_frame("rx"),
        "tx_interrupts_per_frame": trial.caused_per_frame("tx"),
        "idle_ratio": trial.idle_ns / trial.spec.duration_ns,
        "cpu_ticks": trial.counters.cpu_ticks,
        "drops": trial.drops(),
    }


def run(
    runner: TrialRunner, workload: Workload, shares: tuple[float, ...] = SHARES, known: MethodResult | None = None
) -> MethodResult:
    """The curve; `known` is a throughput result of the same stand and plan, searched for if not given."""
    base = known or throughput.run(runner, workload)
    rate_pps = throughput.rate_per_direction(base)
    specs = [runner.overload_spec(workload, rate_pps * share) for share in shares]
    trials = runner.trials(specs, lambda t: f"{t.offered_pps / 1e3:.0f} kpps offered, {t.forwarded_pps / 1e3:.1f} forwarded")
    result = runner.result("loss", workload)
    result.total_throughput_pps, result.per_interface_throughput_mbps = (
        base.total_throughput_pps,
        base.per_interface_throughput_mbps,
    )
    result.line_rate_limited = base.line_rate_limited
    result.samples = [point(share, trial) for share, trial in zip(shares, trials, strict=True)]
    highest = max(t.forwarded_pps for t in trials)
    collapsed = [share for share, t in zip(shares, trials, strict=True) if share > 1 and t.forwarded_pps < COLLAPSED * highest]
    result.summary = {
        "max_forwarded_pps": highest,
        "plateau_ratio": trials[-1].forwarded_pps / highest if highest else 0.0,
        "collapse_load": min(collapsed) if collapsed else None,
    }
    result.copy_per_frame_metrics(trials[-1])
    result.trials = trials
    return result
