# SPDX-License-Identifier: GPL-2.0-or-later
"""iperf3 between the DUT and the tester's host: throughput as both ends count it, and what it costs the DUT.

The processor's time is measured in a window that begins and ends while the test runs: QUIET_NS after its start, and as long
before its end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from irqlab import counters
from irqlab.dut import Dut
from irqlab.errors import IrqlabError
from irqlab.methods import peers
from irqlab.methods.stand import Plan, Stand
from irqlab.results import MethodResult

QUIET_NS = 300_000_000
DRAIN_NS = 1_000
SIGTERM = 15


@dataclass(frozen=True)
class Test:
    """One iperf3 test."""

    udp: bool = False
    dut_sends: bool = True
    dut_serves: bool = False
    """The DUT is iperf3's server, the tester its client; else the other way round."""
    seconds: int = 2
    parallel: int = 1
    rate_bps: int | None = None
    """Payload of each stream, in bit/s; None: TCP as fast as it goes, UDP what the wire carries."""
    window_bytes: int = 1 << 18
    """Of TCP in the tester: its receive buffer, and what it keeps unacknowledged."""
    soak: bool = False
    """Also run the soaker, which takes what is left of the processor: nothing idles then."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("--seconds", self.seconds, 1, 3600),
            ("--parallel", self.parallel, 1, 128),
            ("--window", self.window_bytes, 2920, 1 << 24),
            ("--rate-bps", self.rate_bps if self.rate_bps is not None else 1, 1, 10**11),
        ):
            if not least <= value <= most:
                raise IrqlabError(f"{name} {value}: allowed are {least} to {most}")

    @property
    def name(self) -> str:
        """As the lan78xx series' tables are called: TCP Rx, TCP Tx, UDP Rx, UDP Tx, seen from the DUT."""
        return f"{'UDP' if self.udp else 'TCP'} {'Tx' if self.dut_sends else 'Rx'}"


FOUR = (Test(dut_sends=False), Test(), Test(udp=True, dut_sends=False), Test(udp=True))


def run(stand: Stand, plan: Plan, tests: Sequence[Test]) -> MethodResult:
    """Each test on a DUT of its own; a point each (docs/results.md)."""
    result = stand.result("iperf", plan)
    for test in tests:
        with stand.slots, stand.bed.open() as dut:
            point = measure(dut, test, stand.bed.nic.wire_bps)
        result.points.append(point)
        stand.progress(f"{test.name}: {point['bps'] / 1e6:.1f} Mbit/s, {point['idle_ratio']:.0%} idle")
    return result


def measure(dut: Dut, test: Test, wire_bps: int) -> dict[str, Any]:
    """One test on a DUT as it is. Raises IrqlabError if either end fails."""
    dut.play_hosts(wire_bps)
    rate_bps = test.rate_bps
    if rate_bps is None:
        rate_bps = peers.wire_payload_bps(wire_bps) // test.parallel if test.udp else 0
    soaker = peers.spawn(dut, "/init", "soak") if test.soak else None
    pid = _begin(dut, test, rate_bps)
    dut.sleep(QUIET_NS)
    count_from_ns = peers.now_ns(dut)
    before, soaked = dut.counters(), _soaked(dut, soaker)
    window_ns = test.seconds * 1_000_000_000 - 2 * QUIET_NS
    payload, since_ns = _bytes(dut)
    window = dut.run_trial({"warmup_ns": 0, "duration_ns": window_ns, "drain_ns": DRAIN_NS}, [])
    payload_after, until_ns = _bytes(dut)
    payload, soaked = payload_after - payload, _soaked(dut, soaker) - soaked
    counted_ns = peers.now_ns(dut) - count_from_ns
    counted = counters.difference(before, dut.counters())
    account = peers.dut_count(peers.said(dut, pid), test.udp, test.dut_sends)
    if soaker is not None:
        peers.reap(dut, soaker, SIGTERM)
    dut.sleep(QUIET_NS)
    (app,) = peers.results(dut)
    there = peers.tester_count(app["tests"][0])
    dut.take_kernel_log()
    receiver, sender = (there, account) if test.dut_sends else (account, there)
    loss_ratio = receiver["lost"] / sender["datagrams"] if sender["datagrams"] else None
    arrived = payload * (1 - loss_ratio) if loss_ratio and not test.dut_sends else payload
    instructions = window["instructions"]
    return {
        "name": test.name,
        "test": {**asdict(test), "rate_bps": rate_bps},
        "bps": receiver["bps"],
        "dut": account,
        "tester": there,
        "retransmits": sender["retransmits"],
        "loss_ratio": loss_ratio,
        "jitter_ns": receiver["jitter_ns"],
        "window_ns": window_ns,
        "window_bps": 8e9 * payload / (until_ns - since_ns),
        "instructions": instructions,
        "instructions_per_byte": (instructions - 1000 * soaked) / arrived if arrived else None,
        "idle_ratio": window["idle_ns"] / window_ns,
        "soaked_ratio": 1000 * soaked / instructions if soaker is not None else None,
        "counted_ns": counted_ns,
        "cpu_ticks": counted.cpu_ticks,
        "interrupts": counted.interrupts,
        "interfaces": counted.interfaces,
        "kernel_log": dut.kernel_log,
    }


def _begin(dut: Dut, test: Test, rate_bps: int) -> int:
    """Starts both ends; returns the process number of the DUT's."""
    if test.dut_serves:
        pid = peers.iperf3(dut, "--server", "--one-off")
        plan = peers.there(
            kind="iperf3_client", udp=test.udp, reverse=test.dut_sends, duration_ns=test.seconds * 1_000_000_000,
            parallel=test.parallel, rate_bps=rate_bps, datagram_bytes=peers.DATAGRAM_BYTES, window_bytes=test.window_bytes,
        )  # fmt: skip
        dut.sleep(QUIET_NS)  # until it listens
        peers.serve(dut, [plan])
        return pid
    peers.serve(dut, [peers.server(test.window_bytes)])
    options = peers.client_options(test.seconds, test.parallel, reverse=not test.dut_sends)
    if test.udp:
        options += ["--udp", "--length", str(peers.DATAGRAM_BYTES)]
    return peers.iperf3(dut, *options, "--bitrate", str(rate_bps))


def _bytes(dut: Dut) -> tuple[int, int]:
    """Payload that the tester has received, or knows to have arrived (of UDP: sent), and when that was, in ns."""
    streams = [s for app in peers.results(dut) for test in app["tests"] for s in test["streams"]]
    return sum(s["bytes"] for s in streams), peers.now_ns(dut)


def _soaked(dut: Dut, soaker: int | None) -> int:
    if soaker is None:
        return 0
    return int(json.loads(dut.run("/init", "counters", "/run/soak"))["kilo_instructions"])
