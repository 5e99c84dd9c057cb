# SPDX-License-Identifier: GPL-2.0-or-later
"""Back-to-back frames (RFC 1242, 3.1; RFC 2544, 26.4; RFC 9004): the longest burst at the wire's rate that loses nothing.

Buffers are what is measured here, so a frame may come out late.
"""

from __future__ import annotations

from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

LIMIT_S = 2.0
"""RFC 2544 asks for bursts of at least 2 seconds; a DUT that survives one has no limit worth looking for."""


def _spec(runner: TrialRunner, workload: Workload, frames: int) -> ForwardingTrial:
    rate_pps = runner.wire_pps(workload)
    return ForwardingTrial(
        loads=(Load(rate_pps=rate_pps, size=workload.size, count=frames),),
        bidirectional=workload.bidirectional,
        duration_ns=int((frames + 2) * 1e9 / rate_pps) + 1_000_000,
        warmup_ns=0,
        drain_ns=200_000_000,
        seed=workload.seed,
        costs=workload.costs,
    )


def run(runner: TrialRunner, workload: Workload) -> MethodResult:
    """Doubles the burst until frames are lost, then bisects to the frame."""
    result = runner.result("burst", workload)
    limit = int(LIMIT_S * runner.wire_pps(workload))
    trials: list[ForwardingResult] = []

    def survives(frames: int) -> bool:
        trial = runner.trial(_spec(runner, workload, frames))
        trials.append(trial)
        good = trial.total("lost") == 0
        result.samples.append({"burst_frames": frames, "passed": good})
        runner.progress(f"{frames} frames {'pass' if good else 'lose some'}")
        return good

    longest, shortest_bad = 0, None
    frames = 16
    while shortest_bad is None and longest < limit:
        frames = min(frames, limit)
        if survives(frames):
            longest = frames
            frames *= 2
        else:
            shortest_bad = frames
    while shortest_bad is not None and shortest_bad - longest > 1:
        middle = (longest + shortest_bad) // 2
        if survives(middle):
            longest = middle
        else:
            shortest_bad = middle
    result.summary = {"longest_burst_frames": longest, "limit_frames": limit}
    result.trials = trials
    return result
