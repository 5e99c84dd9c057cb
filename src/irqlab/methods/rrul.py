# SPDX-License-Identifier: GPL-2.0-or-later
"""Real-time response under load (flent's rrul_be): TCP flows up and down, and what they do to the latency of UDP and ICMP.

Up is from the DUT to the tester. The flows are iperf3's, the probes are the tester's host's: ICMP echo, and UDP to a process of
the DUT that sends everything back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from irqlab import counters
from irqlab.dut import Dut
from irqlab.errors import IrqlabError
from irqlab.methods import peers
from irqlab.methods.stand import Plan, Stand
from irqlab.results import MethodResult

UP_PORT, DOWN_PORT, ECHO_PORT = 5201, 5202, 7
SETTLE_NS = 500_000_000
"""After the flows have begun, and as long before their end, nothing counts for the latency under load."""
SIGTERM = 15

Probe = tuple[int, int | None, int | None]
"""When it was sent, the round trip (None: no answer), and how long of it the answer waited for the wire; in ns."""


@dataclass(frozen=True)
class Test:
    """How flows and probes are to be."""

    flows: int = 4
    """In each direction."""
    seconds: int = 5
    idle_s: int = 1
    """Probes alone, before and after the flows."""
    interval_ns: int = 10_000_000
    """From probe to probe, of each kind."""
    window_bytes: int = 1 << 16
    """Of each of the tester's TCP connections: what may wait in a queue."""
    bucket_ns: int = 100_000_000
    """The throughput's curve."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("--flows", self.flows, 1, 64),
            ("--seconds", self.seconds, 2, 3600),
            ("--idle", self.idle_s, 1, 600),
            ("--window", self.window_bytes, 2920, 1 << 24),
        ):
            if not least <= value <= most:
                raise IrqlabError(f"{name} {value}: allowed are {least} to {most}")


def run(stand: Stand, plan: Plan, test: Test) -> MethodResult:
    """The test on a DUT of its own. Points: the flows, then the probes (docs/results.md)."""
    result = stand.result("rrul", plan)
    with stand.slots, stand.bed.open() as dut:
        result.points, result.found = measure(dut, test, stand.bed.nic.wire_bps)
    found = result.found
    udp = found["latency"]["udp"]
    stand.progress(
        f"{found['up_bps'] / 1e6:.1f} Mbit/s up, {found['down_bps'] / 1e6:.1f} down, "
        f"UDP p50 {udp['load']['p50_ns'] / 1e6:.2f} ms (alone {udp['base']['p50_ns'] / 1e6:.2f})"
    )
    return result


def measure(dut: Dut, test: Test, wire_bps: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """On a DUT as it is: points and findings. Raises IrqlabError if either end fails."""
    second = 1_000_000_000
    dut.play_hosts(wire_bps)
    echo = peers.spawn(dut, "/init", "udp-receive", "--port", str(ECHO_PORT), "--echo")
    dut.sleep(SETTLE_NS)
    probe = peers.there(kind="probe", interval_ns=test.interval_ns, duration_ns=(2 * test.idle_s + test.seconds) * second)
    servers = [peers.server(test.window_bytes, port, test.bucket_ns) for port in (UP_PORT, DOWN_PORT)]
    origin_ns = peers.serve(dut, [*servers, probe, {**probe, "udp_port": ECHO_PORT}])
    dut.sleep(test.idle_s * second)
    up = peers.iperf3(dut, *peers.client_options(test.seconds, test.flows, UP_PORT))
    down = peers.iperf3(dut, *peers.client_options(test.seconds, test.flows, DOWN_PORT, reverse=True))
    began_ns = peers.now_ns(dut) - origin_ns
    dut.sleep(SETTLE_NS)
    count_from_ns = peers.now_ns(dut)
    before = dut.counters()
    window_ns = test.seconds * second - 2 * SETTLE_NS
    window = dut.run_trial({"warmup_ns": 0, "duration_ns": window_ns, "drain_ns": 1000}, [])
    counted_ns = peers.now_ns(dut) - count_from_ns
    counted = counters.difference(before, dut.counters())
    accounts = [
        peers.dut_count(peers.said(dut, up), udp=False, sends=True),
        peers.dut_count(peers.said(dut, down), udp=False, sends=False),
    ]
    dut.sleep(test.idle_s * second)
    upward, downward, icmp, udp = peers.results(dut)
    peers.reap(dut, echo, SIGTERM)
    dut.take_kernel_log()
    points = [
        _flow(direction, number, stream)
        for direction, app in (("up", upward), ("down", downward))
        for number, stream in enumerate(app["tests"][0]["streams"])
    ]
    found: dict[str, Any] = {
        "test": asdict(test),
        "began_ns": began_ns,
        "up_bps": peers.tester_count(upward["tests"][0])["bps"],
        "down_bps": accounts[1]["bps"],
        "dut": {"up": accounts[0], "down": accounts[1]},
        "latency": {},
        "window_ns": window_ns,
        "instructions": window["instructions"],
        "idle_ratio": window["idle_ns"] / window_ns,
        "counted_ns": counted_ns,
        "cpu_ticks": counted.cpu_ticks,
        "interrupts": counted.interrupts,
        "kernel_log": dut.kernel_log,
    }
    for kind, app in (("icmp", icmp), ("udp", udp)):
        points.append({"probe": kind, "rtts": app["probes"]})
        found["latency"][kind] = both(app["probes"], began_ns, test)
    return points, found


def _flow(direction: str, number: int, stream: dict[str, Any]) -> dict[str, Any]:
    return {
        "flow": direction,
        "number": number,
        "bps": 8 * stream["bytes"] / stream["seconds"],
        "retransmits": stream["retransmits"],
        "series": stream["series"],
    }


def both(probes: Sequence[Probe], began_ns: int, test: Test) -> dict[str, Any]:
    """The latency of probes before the flows begin, and while they run."""
    end_ns = began_ns + test.seconds * 1_000_000_000
    return {"base": _latency(probes, 0, began_ns), "load": _latency(probes, began_ns + SETTLE_NS, end_ns - SETTLE_NS)}


def _latency(probes: Sequence[Probe], begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Of the probes sent between two instants: percentiles with and without the wait for the wire; those without an answer."""
    chosen = [probe for probe in probes if begin_ns <= probe[0] < end_ns]
    answered = [(rtt_ns, waited_ns) for _, rtt_ns, waited_ns in chosen if rtt_ns is not None and waited_ns is not None]
    return {
        **peers.latency([rtt_ns for rtt_ns, _ in answered]),
        "off_wire": peers.latency([rtt_ns - waited_ns for rtt_ns, waited_ns in answered]),
        "lost": len(chosen) - len(answered),
    }
