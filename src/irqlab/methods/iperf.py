# SPDX-License-Identifier: GPL-2.0-or-later
"""iperf3 between the DUT and the tester's host (docs/iperf.md)."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.config.workload import Workload
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.iperf import IperfTrial

FRAME_BYTES = 1518
"""TCP and UDP fill frames as far as Ethernet lets them."""


def run(runner: TrialRunner, workload: Workload, trials: Sequence[IperfTrial]) -> MethodResult:
    """Each test on a DUT of its own; a sample each (docs/results.md)."""
    result = runner.result("iperf", workload)
    for trial in trials:
        found = runner.trial(trial)
        result.samples.append(trial.store(found))
        runner.progress(f"{found.name}: {found.bps / 1e6:.1f} Mbit/s, {found.idle_ratio:.0%} idle")
    return result
