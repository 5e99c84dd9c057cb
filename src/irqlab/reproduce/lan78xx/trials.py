# SPDX-License-Identifier: GPL-2.0-or-later
"""The letter's tests, as rows of figures."""

from __future__ import annotations

from typing import Any

from irqlab.runner.runner import TrialRunner
from irqlab.trials import iperf, rrul

Json = dict[str, Any]


def throughput(runner: TrialRunner, test: iperf.IperfTrial) -> Json:
    """An iperf3 test: Mbit/s as the receiver counts, and in the window; loss, idle in per cent; instructions a full frame."""
    found = runner.trial(test)
    per_byte, payload_bytes = found.instructions_per_byte, iperf.PAYLOAD_BYTES[test.name[:3]]
    runner.progress(f"{test.name}: {found.bps / 1e6:.0f} Mbit/s")
    return {
        "mbps": round(found.bps / 1e6, 1),
        "window_mbps": round(found.full_frames * payload_bytes * 8e3 / found.window_ns, 1),
        "loss_percent": None if found.loss_ratio is None else round(100 * found.loss_ratio, 2),
        "idle_percent": round(100 * found.idle_ratio, 1),
        "instructions_per_frame": None if per_byte is None else round(per_byte * payload_bytes),
        "retransmits": found.retransmits,
    }


def latency(runner: TrialRunner, test: rrul.RrulTrial) -> Json:
    """A rrul test: Mbit/s up and down, idle in per cent, UDP's and ICMP's round trips in µs, alone and loaded."""
    found = runner.trial(test)
    runner.progress(f"{found.up_bps / 1e6:.0f} Mbit/s up, {found.down_bps / 1e6:.0f} down")
    row = {
        "up_mbps": round(found.up_bps / 1e6, 1),
        "down_mbps": round(found.down_bps / 1e6, 1),
        "idle_percent": round(100 * found.idle_ratio, 1),
    }
    for kind, both in found.latency.items():
        for when, measured in both.items():
            row |= {f"{kind}_{when}_p50_us": measured.p50_ns / 1e3, f"{kind}_{when}_p99_us": measured.p99_ns / 1e3}
    return row
