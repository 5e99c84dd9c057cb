# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial on real ports proves: whether its losses can be the tester's own, and what the host did to the tester.

A frame is lost for the device under test only if the tester sent it and would have seen it come back. Three things of the
tester's can look like a loss: the host drops a frame on the way in (the kernel counts those), a driver drops one on the way out
(its counters say so), and frames that come late because the host stood still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]

REACHED = 0.995
"""The tester has offered a load if it sent this share of it. Frames that were not sent are not lost."""
WAITED_NS = 1_000_000
"""A thread that waited longer for its processor in a trial was stalled."""
_LOST_IN = ("rx_dropped", "rx_fifo_errors", "rx_missed_errors", "rx_over_errors", "rx_errors")
_LOST_OUT = ("tx_dropped", "tx_errors", "tx_fifo_errors")
_VIRTUAL = ("tun", "veth")
"""Drivers without a wire: what they drop on the way out is what the other end had no room for."""


def own_loss(live: Json) -> int:
    """How many frames the tester's own ports lost, at most: by the sockets' and by the interfaces' counters."""
    lost = 0
    for port in live["ports"]:
        counted = port["interface"]
        # A socket's drops may be among the interface's, so the higher number counts.
        lost += max(int(port["dropped"] or 0), max((int(counted.get(name, 0)) for name in _LOST_IN), default=0))
        if port.get("driver") not in _VIRTUAL:
            lost += max((int(counted.get(name, 0)) for name in _LOST_OUT), default=0)
    return lost


def stalls(live: Json) -> list[str]:
    """What the host did to the tester's threads; empty: nothing."""
    found = []
    for thread in ("sending", "receiving"):
        health = live[thread]
        parts = []
        if health["stalls"]:
            parts.append(f"{health['stalls']} stalls, the longest of {health['longest_gap_ns'] / 1e6:.1f} ms")
        if health["waited_for_cpu_ns"] > WAITED_NS:
            parts.append(f"{health['waited_for_cpu_ns'] / 1e6:.1f} ms without its processor")
        if health["steal_ticks"]:
            parts.append(f"{health['steal_ticks']} ticks stolen by other machines")
        if parts:
            if health["involuntary_switches"]:
                parts.append(f"{health['involuntary_switches']} involuntary switches")
            found.append(f"{thread}: {', '.join(parts)}")
    return found


def unreached(streams: Sequence[Json]) -> str:
    """Says that the tester did not send what was asked for; empty: it did."""
    sent, intended = (sum(int(stream[name]) for stream in streams) for name in ("sent", "intended"))
    return "" if sent >= REACHED * intended else f"the tester sent {sent} of {intended} frames"


def doubts(streams: Sequence[Json], live: Json) -> list[str]:
    """Why the losses of a trial say nothing about the device under test; empty: they do, or there are none."""
    lost, late = (sum(int(stream[name]) for stream in streams) for name in ("lost", "late"))
    own = own_loss(live)
    if lost and own >= lost:
        return [f"{lost} frames were lost, and the tester's own ports may have lost {own}"]
    if live["stuck"]:
        return ["the port did not take all frames"]
    if unreached(streams) and stalls(live):
        return [f"{unreached(streams)}, and the host stopped it ({'; '.join(stalls(live))})"]
    if late and not lost and stalls(live):
        return [f"{late} frames came late, and the tester stood still ({'; '.join(stalls(live))})"]
    return []


def judged(streams: Sequence[Json], report: Json) -> dict[str, Any]:
    """The `live` part of a trial's result: the tester's report, and what follows from it."""
    return {
        "unreached": unreached(streams),
        "doubts": doubts(streams, report),
        "stalls": stalls(report),
        "own_loss": own_loss(report),
        "time_stamps": sorted({port["time_stamps"] for port in report["ports"]}),
        "lateness_p50_ns": report["lateness"]["p50_ns"],
        "lateness_p99_ns": report["lateness"]["p99_ns"],
        "lateness_max_ns": report["lateness"]["max_ns"],
        "handover_p99_ns": report["handover"]["p99_ns"],
        "handover_max_ns": report["handover"]["max_ns"],
        **{thread: dict(report[thread]) for thread in ("sending", "receiving")},
    }
