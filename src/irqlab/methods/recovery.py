# SPDX-License-Identifier: GPL-2.0-or-later
"""System recovery (RFC 1242, 3.16; RFC 2544, 26.5): how long frames are still lost after an overload has ended.

RFC 2544 overloads at 110 % of throughput and then halves that. At 4x, half would still be an overload, so here the load falls to
half the *throughput* in both cases.
"""

from __future__ import annotations

from dataclasses import replace

from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.methods import throughput
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

OVERLOADS = (1.1, 4.0)
REDUCED = 0.5


def _spec(runner: TrialRunner, workload: Workload, overload_pps: float, reduced_pps: float) -> ForwardingTrial:
    base = runner.overload_spec(workload, overload_pps)
    over = Load(rate_pps=overload_pps, size=workload.size, arrivals=workload.arrivals, end_ns=workload.duration_ns)
    after = Load(rate_pps=reduced_pps, size=workload.size, arrivals=workload.arrivals, begin_ns=workload.duration_ns)
    return replace(base, loads=(over, after), duration_ns=2 * workload.duration_ns)


def _recovery_ns(trial: ForwardingResult, reduced_at_ns: int) -> int:
    last = [s["last_lost_sent_ns"] for s in trial.streams if s["load"] == 1 and s["last_lost_sent_ns"] is not None]
    return max((int(ns) - reduced_at_ns for ns in last), default=0)


def run(runner: TrialRunner, workload: Workload, known: MethodResult | None = None) -> MethodResult:
    """Recovery times after both overloads; `known` is a throughput result of the same stand and plan."""
    base = known or throughput.run(runner, workload)
    rate_pps = throughput.rate_per_direction(base)
    specs = [_spec(runner, workload, rate_pps * over, rate_pps * REDUCED) for over in OVERLOADS]
    trials = runner.trials(specs, lambda t: f"after {t.spec.loads[0].rate_pps / 1e3:.0f} kpps: {t.total('lost', 1)} more lost")
    result = runner.result("recovery", workload)
    result.total_throughput_pps, result.per_interface_throughput_mbps = (
        base.total_throughput_pps,
        base.per_interface_throughput_mbps,
    )
    result.line_rate_limited = base.line_rate_limited
    result.samples = [
        {
            "overload": over,
            "overload_pps": trial.spec.loads[0].rate_pps,
            "reduced_pps": trial.spec.loads[1].rate_pps,
            "recovery_ns": _recovery_ns(trial, workload.duration_ns),
            "lost_after_reduction": trial.total("lost", 1),
        }
        for over, trial in zip(OVERLOADS, trials, strict=True)
    ]
    result.trials = trials
    return result
