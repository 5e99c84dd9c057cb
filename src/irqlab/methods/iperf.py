# SPDX-License-Identifier: GPL-2.0-or-later
"""iperf3 between the DUT and the tester's host: throughput as both ends count it, and what it costs the DUT.

The processor's time is measured in a window that begins BEGIN_NS after the tester's end has started, and ends END_NS before the
flows do, or a little earlier. It is the tester's: it stands fast even if the DUT is too busy for the lab's agent.
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
from irqlab.trial import Counters

QUIET_NS = 150_000_000
BEGIN_NS = 400_000_000
"""Leaves iperf3 time to start, and the agent to read counters."""
END_NS = 200_000_000
BUCKET_NS = 100_000_000
FRAME_BYTES = 1518
"""TCP and UDP fill frames as far as Ethernet lets them."""
PAYLOAD_BYTES = {"TCP": 1460, "UDP": peers.DATAGRAM_BYTES}
"""Of a full-size frame."""
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


@dataclass(frozen=True)
class _Reading:
    """What the DUT counts, and when."""

    counters: Counters
    soaked: int
    """Thousands of instructions that the soaker has executed."""
    at_ns: int

    @classmethod
    def of(cls, dut: Dut, soaker: int | None) -> _Reading:
        return cls(dut.counters(), _soaked(dut, soaker), peers.now_ns(dut))


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
    pid = _listen(dut) if test.dut_serves else 0
    begin = _Reading.of(dut, soaker)
    peers.serve(dut, [_there(test, rate_bps)])  # no time passes until the trial starts: its window is made of whole buckets

    def meanwhile(window_begins_ns: int) -> None:
        nonlocal pid, begin
        pid = pid or _connect(dut, test, rate_bps)
        dut.sleep(QUIET_NS)
        later = _Reading.of(dut, soaker)
        if later.at_ns <= window_begins_ns:  # else the flows keep the agent from its work, and are perhaps over by now
            begin = later

    window_ns = test.seconds * 1_000_000_000 - BEGIN_NS - END_NS
    window = dut.run_trial({"warmup_ns": BEGIN_NS, "duration_ns": window_ns, "drain_ns": DRAIN_NS}, [], meanwhile)
    end = _Reading.of(dut, soaker)
    counted_ns, change = end.at_ns - begin.at_ns, counters.difference(begin.counters, end.counters)
    account = peers.dut_count(peers.said(dut, pid), test.udp, test.dut_sends)
    if soaker is not None:
        peers.reap(dut, soaker, SIGTERM)
    dut.sleep(QUIET_NS)
    ((app,),) = [one["tests"] for one in peers.results(dut)]
    there = peers.tester_count(app)
    dut.take_kernel_log()
    receiver, sender = (there, account) if test.dut_sends else (account, there)
    loss_ratio = receiver["lost"] / receiver["datagrams"] if receiver["datagrams"] else None
    payload = _bytes(app, test)
    arrived = payload * (1 - loss_ratio) if loss_ratio and not test.dut_sends else payload
    instructions = window["instructions"]
    soaked_ratio = None
    if soaker is not None:
        soaked_ratio = 1000 * (end.soaked - begin.soaked) * window_ns / counted_ns / instructions
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
        "window_bps": 8e9 * payload / window_ns,
        "instructions": instructions,
        "instructions_per_byte": instructions * (1 - (soaked_ratio or 0)) / arrived if arrived else None,
        "idle_ratio": window["idle_ns"] / window_ns,
        "soaked_ratio": soaked_ratio,
        "counted_ns": counted_ns,
        "cpu_ticks": change.cpu_ticks,
        "interrupts": change.interrupts,
        "interfaces": change.interfaces,
        "kernel_log": dut.kernel_log,
    }


def full_frames(point: dict[str, Any]) -> int:
    """Full-size frames of payload that arrived in a test's window."""
    if point["instructions_per_byte"] is None:
        return 0
    count: float = point["instructions"] * (1 - (point["soaked_ratio"] or 0)) / point["instructions_per_byte"]
    return round(count / PAYLOAD_BYTES[point["name"][:3]])


def _listen(dut: Dut) -> int:
    """Starts a server in the DUT; returns its process number."""
    pid = peers.iperf3(dut, "--server", "--one-off")
    dut.sleep(QUIET_NS)  # until it listens
    return pid


def _connect(dut: Dut, test: Test, rate_bps: int) -> int:
    """Starts a client in the DUT; returns its process number."""
    options = peers.client_options(test.seconds, test.parallel, reverse=not test.dut_sends)
    if test.udp:
        options += ["--udp", "--length", str(peers.DATAGRAM_BYTES)]
    return peers.iperf3(dut, *options, "--bitrate", str(rate_bps))


def _there(test: Test, rate_bps: int) -> dict[str, Any]:
    """The tester's end."""
    if not test.dut_serves:
        return peers.server(test.window_bytes, bucket_ns=BUCKET_NS)
    return peers.there(
        kind="iperf3_client", udp=test.udp, reverse=test.dut_sends, duration_ns=test.seconds * 1_000_000_000,
        parallel=test.parallel, rate_bps=rate_bps, datagram_bytes=peers.DATAGRAM_BYTES, window_bytes=test.window_bytes,
        bucket_ns=BUCKET_NS,
    )  # fmt: skip


def _bytes(app: dict[str, Any], test: Test) -> int:
    """Payload that the tester received in the window, or knows to have arrived (of UDP: sent).

    Raises IrqlabError if nothing moved before the window: then the DUT was not ready in time.
    """
    first, last = BEGIN_NS // BUCKET_NS, test.seconds * 1_000_000_000 // BUCKET_NS - END_NS // BUCKET_NS
    series = [stream["series"] for stream in app["streams"]]
    if not any(sum(one[:first]) for one in series):
        raise IrqlabError(f"{test.name}: no payload within {BEGIN_NS / 1e9} s of the start; give the DUT more --mips")
    return sum(sum(one[first:last]) for one in series)


def _soaked(dut: Dut, soaker: int | None) -> int:
    if soaker is None:
        return 0
    return int(json.loads(dut.run("/init", "counters", "/run/soak"))["kilo_instructions"])
