# SPDX-License-Identifier: GPL-2.0-or-later
"""The letter's tests: their trials, and the figures that the tables show of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from irqlab.present.columns import Col, Nested
from irqlab.runner.runner import TrialRunner
from irqlab.trials import iperf, rrul
from irqlab.trials.rrul import ProbeLatency


@dataclass(frozen=True)
class Throughput:
    """An iperf3 test."""

    mbps: float
    """As the receiver counts."""
    window_mbps: float
    """In the window, once the flow has settled."""
    loss_percent: float | None
    """None: TCP."""
    idle_percent: float
    instructions_per_frame: int | None
    """Of full size; None: none arrived."""
    retransmits: int | None
    """None: UDP."""
    interrupts_per_frame: float | None = None
    """Of the frames that the driver received and sent; None: there were none."""
    pause_frames: int | None = None
    """Sent by the NIC; None: its link partner does not offer them."""


@dataclass(frozen=True)
class RoundTrip:
    """Percentiles of a round trip."""

    p50_us: Annotated[float, Col("p50", "µs")]
    p99_us: Annotated[float, Col("p99", "µs")]


@dataclass(frozen=True)
class Probe:
    """Round trips without the flows and with them."""

    base: Annotated[RoundTrip, Nested("alone, ")]
    load: Annotated[RoundTrip, Nested("loaded, ")]


@dataclass(frozen=True)
class Flows:
    """Payload of the four flows of a direction. In rrul_be none of them is marked."""

    be: Annotated[float, Col("BE", "Mbit/s")]
    bk: Annotated[float, Col("BK", "Mbit/s")]
    cs5: Annotated[float, Col("CS5", "Mbit/s")]
    ef: Annotated[float, Col("EF", "Mbit/s")]


@dataclass(frozen=True)
class Responsiveness:
    """An rrul test."""

    up_mbps: float
    down_mbps: float
    idle_percent: float
    up: Flows
    down: Flows
    udp_ef: Probe
    """In rrul_be it is not marked, nor are the next two."""
    udp_bk: Probe
    udp_be: Probe
    icmp: Probe


def throughput(runner: TrialRunner, test: iperf.IperfTrial) -> Throughput:
    """Runs an iperf3 test."""
    found = runner.trial(test)
    per_byte, payload_bytes = found.instructions_per_byte, iperf.PAYLOAD_BYTES[test.name[:3]]
    runner.progress(f"{test.name}: {found.bps / 1e6:.0f} Mbit/s")
    return Throughput(
        mbps=round(found.bps / 1e6, 1),
        window_mbps=round(found.full_frames * payload_bytes * 8e3 / found.window_ns, 1),
        loss_percent=None if found.loss_ratio is None else round(100 * found.loss_ratio, 2),
        idle_percent=round(100 * found.idle_ratio, 1),
        instructions_per_frame=None if per_byte is None else round(per_byte * payload_bytes),
        retransmits=found.retransmits,
        interrupts_per_frame=_interrupts(found),
        pause_frames=found.pause_frames,
    )


def _interrupts(found: iperf.IperfResult) -> float | None:
    frames = sum(one.get(name, 0) for one in found.interfaces.values() for name in ("rx_packets", "tx_packets"))
    return round(sum(found.interrupts.values()) / frames, 3) if frames else None


def latency(runner: TrialRunner, test: rrul.RrulTrial) -> Responsiveness:
    """Runs an rrul test."""
    found = runner.trial(test)
    runner.progress(f"{found.up_bps / 1e6:.0f} Mbit/s up, {found.down_bps / 1e6:.0f} down")
    flows = {
        way: Flows(*(round(flow.bps / 1e6, 1) for flow in sorted(found.flows, key=lambda f: f.number) if flow.flow == way))
        for way in ("up", "down")
    }
    udp = (_probe(found.latency[kind]) for kind in rrul.PROBES[test.test])
    return Responsiveness(
        up_mbps=round(found.up_bps / 1e6, 1),
        down_mbps=round(found.down_bps / 1e6, 1),
        idle_percent=round(100 * found.idle_ratio, 1),
        up=flows["up"],
        down=flows["down"],
        **dict(zip(("udp_ef", "udp_bk", "udp_be"), udp, strict=True)),
        icmp=_probe(found.latency[rrul.ICMP]),
    )


def _probe(measured: dict[str, ProbeLatency]) -> Probe:
    base, load = (measured[when] for when in ("base", "load"))
    return Probe(RoundTrip(base.p50_ns / 1e3, base.p99_ns / 1e3), RoundTrip(load.p50_ns / 1e3, load.p99_ns / 1e3))
