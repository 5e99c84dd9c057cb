# SPDX-License-Identifier: GPL-2.0-or-later
"""One test of one bed, from the cache if it was made before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from irqlab import snapshots, trialcache
from irqlab.dut import Dut
from irqlab.methods import iperf, rrul
from irqlab.methods.stand import Stand

MAKERS = ("methods/iperf", "methods/peers", "methods/rrul")
Json = dict[str, Any]


def _kept(stand: Stand, what: Json, work: Callable[[Dut], Json]) -> Json:
    bed = stand.bed
    parts = {**bed.parts, "wire_bps": bed.nic.wire_bps, "what": what, "makers": trialcache.makers(*MAKERS)}
    key = snapshots.key_of(parts) if bed.config.cached else None
    if key and (kept := trialcache.get(key)) is not None:
        return dict(kept)
    with stand.slots, bed.open() as dut:
        found = work(dut)
    if key:
        trialcache.put(key, found)
    return found


def throughput(stand: Stand, test: iperf.Test) -> Json:
    """An iperf3 test: Mbit/s as the receiver counts, and in the window; loss, idle in per cent; instructions a full frame."""
    point = _kept(stand, {"iperf": asdict(test)}, lambda dut: iperf.measure(dut, test, stand.bed.nic.wire_bps))
    per_byte, payload_bytes = point["instructions_per_byte"], iperf.PAYLOAD_BYTES[test.name[:3]]
    stand.progress(f"{test.name}: {point['bps'] / 1e6:.0f} Mbit/s")
    return {
        "mbps": round(point["bps"] / 1e6, 1),
        "window_mbps": round(iperf.full_frames(point) * payload_bytes * 8e3 / point["window_ns"], 1),
        "loss_percent": None if point["loss_ratio"] is None else round(100 * point["loss_ratio"], 2),
        "idle_percent": round(100 * point["idle_ratio"], 1),
        "instructions_per_frame": None if per_byte is None else round(per_byte * payload_bytes),
        "retransmits": point["retransmits"],
    }


def latency(stand: Stand, test: rrul.Test) -> Json:
    """A rrul test: Mbit/s up and down, idle in per cent, UDP's and ICMP's round trips in µs, alone and loaded."""

    def work(dut: Dut) -> Json:
        _, found = rrul.measure(dut, test, stand.bed.nic.wire_bps)
        return found

    found = _kept(stand, {"rrul": asdict(test)}, work)
    stand.progress(f"{found['up_bps'] / 1e6:.0f} Mbit/s up, {found['down_bps'] / 1e6:.0f} down")
    row = {
        "up_mbps": round(found["up_bps"] / 1e6, 1),
        "down_mbps": round(found["down_bps"] / 1e6, 1),
        "idle_percent": round(100 * found["idle_ratio"], 1),
    }
    for kind, both in found["latency"].items():
        for when, figures in both.items():
            row |= {f"{kind}_{when}_{name}_us": figures[f"{name}_ns"] / 1e3 for name in ("p50", "p99")}
    return row
