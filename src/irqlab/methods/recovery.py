# SPDX-License-Identifier: GPL-2.0-or-later
"""System recovery (RFC 1242, 3.16; RFC 2544, 26.5): how long frames are still lost after an overload has ended.

RFC 2544 overloads at 110 % of throughput and then halves that. At 4x, half would still be an overload, so here the load falls to
half the *throughput* in both cases.
"""

from __future__ import annotations

from dataclasses import replace

from irqlab.methods import throughput
from irqlab.methods.stand import Plan, Stand
from irqlab.results import MethodResult
from irqlab.trial import Load, TrialResult, TrialSpec

OVERLOADS = (1.1, 4.0)
REDUCED = 0.5


def _spec(stand: Stand, plan: Plan, overload_pps: float, reduced_pps: float) -> TrialSpec:
    base = stand.over_wire_spec(plan, overload_pps)
    over = Load(rate_pps=overload_pps, size=plan.size, arrivals=plan.arrivals, end_ns=plan.duration_ns)
    after = Load(rate_pps=reduced_pps, size=plan.size, arrivals=plan.arrivals, begin_ns=plan.duration_ns)
    return replace(base, loads=(over, after), duration_ns=2 * plan.duration_ns)


def _recovery_ns(trial: TrialResult, reduced_at_ns: int) -> int:
    last = [s["last_lost_sent_ns"] for s in trial.streams if s["load"] == 1 and s["last_lost_sent_ns"] is not None]
    return max((int(ns) - reduced_at_ns for ns in last), default=0)


def run(stand: Stand, plan: Plan, known: MethodResult | None = None) -> MethodResult:
    """Recovery times after both overloads; `known` is a throughput result of the same stand and plan."""
    base = known or throughput.run(stand, plan)
    rate_pps = throughput.rate_per_direction(base)
    specs = [_spec(stand, plan, rate_pps * over, rate_pps * REDUCED) for over in OVERLOADS]
    trials = stand.trials(specs, lambda t: f"after {t.spec.loads[0].rate_pps / 1e3:.0f} kpps: {t.total('lost', 1)} more lost")
    result = stand.result("recovery", plan)
    result.throughput_pps, result.throughput_mbps = base.throughput_pps, base.throughput_mbps
    result.at_wire_rate = base.at_wire_rate
    result.points = [
        {
            "overload": over,
            "overload_pps": trial.spec.loads[0].rate_pps,
            "reduced_pps": trial.spec.loads[1].rate_pps,
            "recovery_ns": _recovery_ns(trial, plan.duration_ns),
            "lost_after_reduction": trial.total("lost", 1),
        }
        for over, trial in zip(OVERLOADS, trials, strict=True)
    ]
    result.trials = trials
    return result
