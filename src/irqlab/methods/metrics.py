# SPDX-License-Identifier: GPL-2.0-or-later
"""What a configuration does and what it costs, in a dozen figures that can be put beside another's (`compare`, `matrix`).

Three things: the throughput; a trial below it, where nothing is lost, so that whoever is compared does the same work;
and an overload.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irqlab.config.workload import Workload
from irqlab.methods import profile as profiling
from irqlab.methods import throughput
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

SHARE = 0.9
"""Of the throughput (of the lower one, where two are compared): the load below it."""
OVERLOAD = 2.0
"""Of the same throughput."""


@dataclass(frozen=True)
class Metric:
    """A figure. `better` is +1 where more is better, -1 where less is. `where`: search, below or overload."""

    name: str
    text: str
    unit: str
    better: int
    where: str


METRICS = (
    Metric("throughput_pps", "Throughput", "kpps", +1, "search"),
    Metric("latency_p50_ns", "Latency, p50", "µs", -1, "below"),
    Metric("latency_p90_ns", "Latency, p90", "µs", -1, "below"),
    Metric("latency_p99_ns", "Latency, p99", "µs", -1, "below"),
    Metric("latency_p999_ns", "Latency, p99.9", "µs", -1, "below"),
    Metric("latency_max_ns", "Latency, max", "µs", -1, "below"),
    Metric("instructions_per_frame", "Instructions a frame", "", -1, "below"),
    Metric("interrupts_per_frame", "Interrupts a frame", "", -1, "below"),
    Metric("nic_accesses_per_frame", "NIC register accesses a frame", "", -1, "below"),
    Metric("nic_reads_per_frame", "of these, reads", "", -1, "below"),
    Metric("overload_forwarded_pps", "Forwarded in overload", "kpps", +1, "overload"),
    Metric("overload_instructions_per_frame", "Instructions a frame in overload", "", -1, "overload"),
)


def run(
    runner: TrialRunner, workload: Workload, known: MethodResult, base_pps: float | None = None, profiled: bool = True
) -> MethodResult:
    """The figures; `known` is the throughput result of the same stand and plan.

    `base_pps`, per direction, is the throughput that the two loads are shares of; default: `known`'s. Without `profiled`
    the trial below it is not profiled: quicker, and the accesses to the NIC's registers are not counted.
    """
    base_pps = throughput.rate_per_direction(known) if base_pps is None else base_pps
    result = runner.result("metrics", workload)
    result.total_throughput_pps, result.per_interface_throughput_mbps = (
        known.total_throughput_pps,
        known.per_interface_throughput_mbps,
    )
    result.line_rate_limited = known.line_rate_limited
    profile: dict[str, Any] | None = None
    if profiled:
        row = profiling.run(runner, workload, rate_pps=base_pps * SHARE)
        below, result.samples, profile = row.trials[0], row.samples, row.summary
    else:
        below = runner.trial(runner.overload_spec(workload, base_pps * SHARE))
        runner.progress(f"{below.forwarded_pps / 1e3:.1f} kpps forwarded")
    overload = runner.trial(runner.overload_spec(workload, base_pps * OVERLOAD))
    runner.progress(f"{overload.offered_pps / 1e3:.1f} kpps offered, {overload.forwarded_pps / 1e3:.1f} forwarded")
    result.copy_per_frame_metrics(below)
    result.summary = {"base_pps": base_pps, "metrics": metrics(known, below, overload, profile), "profile": profile}
    result.trials = [below, overload]
    return result


def metrics(
    known: MethodResult, below: ForwardingResult, overload: ForwardingResult, profile: dict[str, Any] | None
) -> dict[str, float | None]:
    """The figures by the names of METRICS; None: it could not be had. Of two directions' latencies, the longer."""
    figures: dict[str, float | None] = {"throughput_pps": known.total_throughput_pps}
    for key in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"):
        timed = [stream["latency"][key] for stream in below.streams if stream["latency"]["count"]]
        figures[f"latency_{key}"] = max(timed, default=None)
    figures["instructions_per_frame"] = below.instructions_per_frame
    figures["interrupts_per_frame"] = below.interrupts_per_frame()
    reads, writes = (profile[name] / profile["frames"] if profile else None for name in ("nic_reads", "nic_writes"))
    figures["nic_accesses_per_frame"] = None if reads is None or writes is None else reads + writes
    figures["nic_reads_per_frame"] = reads
    figures["overload_forwarded_pps"] = overload.forwarded_pps
    figures["overload_instructions_per_frame"] = overload.instructions_per_frame
    return figures
