# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency under load, after flent's rrul_be (docs/iperf.md)."""

from __future__ import annotations

from irqlab.config.workload import Workload
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.rrul import RrulTrial


def run(runner: TrialRunner, workload: Workload, trial: RrulTrial) -> MethodResult:
    """The test on a DUT of its own. Samples: the flows, then the probes (docs/results.md)."""
    result = runner.result("rrul", workload)
    found = runner.trial(trial)
    summary = trial.store(found)
    flows, probes = summary.pop("flows"), summary.pop("probes")
    result.samples = [*flows, *({"probe": kind, "rtts": rtts} for kind, rtts in probes.items())]
    result.summary = summary
    udp = found.latency["udp"]
    runner.progress(
        f"{found.up_bps / 1e6:.1f} Mbit/s up, {found.down_bps / 1e6:.1f} down, "
        f"UDP p50 {udp['load'].rtt.p50_ns / 1e6:.2f} ms (alone {udp['base'].rtt.p50_ns / 1e6:.2f})"
    )
    return result
