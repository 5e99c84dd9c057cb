# SPDX-License-Identifier: GPL-2.0-or-later
"""An iperf3 test between the DUT and the tester's host: throughput counted at both ends, and its cost for the DUT.

CPU use is measured in a window from BEGIN_NS after the tester's end has started until END_NS before the end of the flows.
The tester times this window, so a starved agent cannot shift it.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from irqlab.config.addresses import INTERFACES
from irqlab.config.costs import Costs
from irqlab.dut import costmodel, counters
from irqlab.dut.counters import Counters
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.trials import peers
from irqlab.trials.peers import Account
from irqlab.trials.record import Answer
from irqlab.trials.trial import Conditions, Trial

QUIET_NS = 150_000_000
BEGIN_NS = 400_000_000
"""Time for iperf3 to start, and for the agent to read counters."""
END_NS = 200_000_000
LINK_NS = 5_000_000_000
"""Until a link is up after it has been negotiated anew."""
BUCKET_NS = 100_000_000
PAYLOAD_BYTES = {"TCP": 1460, "UDP": peers.DATAGRAM_BYTES}
"""Payload of a full-size frame."""
DRAIN_NS = 1_000
SIGTERM = 15


@dataclass(frozen=True)
class IperfTrial(Trial["IperfResult"]):
    """One iperf3 test."""

    udp: bool = False
    dut_sends: bool = True
    dut_serves: bool = False
    """The DUT runs the iperf3 server and the tester the client; else the reverse."""
    seconds: int = 2
    parallel: int = 1
    rate_bps: int | None = None
    """Payload rate per stream, in bit/s; None: unlimited for TCP, line rate for UDP; 0: unlimited."""
    window_bytes: int = 1 << 18
    """TCP window of the tester: its receive buffer, and its limit on unacknowledged data."""
    soak: bool = False
    """Also run the soaker, which uses all remaining CPU time, so that the CPU never idles."""
    costs: Costs | None = None
    """Hardware costs to charge; None: leave the cost model alone."""
    gro: bool = True
    """False: the DUT merges no frames (ethtool -K)."""
    pauses: bool = False
    """The link partner offers pause frames, and the link is negotiated anew (the tester's LAN7800 only). It obeys none."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("--duration", self.seconds, 1, 3600),
            ("--parallel", self.parallel, 1, 128),
            ("--window", self.window_bytes, 2920, 1 << 24),
            ("--rate-bps", self.rate_bps or 0, 0, 10**11),
        ):
            if not least <= value <= most:
                raise IrqlabError(f"{name} {value}: allowed are {least} to {most}")

    @property
    def name(self) -> str:
        """TCP Rx, TCP Tx, UDP Rx or UDP Tx, from the DUT's side, as in the lan78xx series' tables."""
        return f"{'UDP' if self.udp else 'TCP'} {'Tx' if self.dut_sends else 'Rx'}"

    def measure(self, dut: Dut, conditions: Conditions) -> IperfResult:
        """Runs both ends to completion. Raises IrqlabError if either fails."""
        dut.play_hosts(conditions.line_rate_bps)
        if self.costs is not None:
            if not conditions.cost_model:
                raise IrqlabError("hardware costs need a testbed with a cost model (TestbedConfig.cost_model)")
            costmodel.charge(dut, self.costs)
        if not self.gro:
            dut.run("ethtool", "-K", INTERFACES[peers.PORT], "gro", "off")
        if self.pauses:
            dut.rpc.call("partner", port=peers.PORT, pauses=True)
            dut.run("ethtool", "-r", INTERFACES[peers.PORT])
            dut.sleep(LINK_NS)
        rate_bps = self.rate_bps
        if rate_bps is None:
            rate_bps = peers.wire_payload_bps(conditions.line_rate_bps) // self.parallel if self.udp else 0
        if self.soak and conditions.processors > 1:
            raise IrqlabError("--soak: the soaker takes the time of one processor: not with --cpus")
        soaker = peers.spawn(dut, "/init", "soak") if self.soak else None
        where = _where(conditions.placement.application)
        pid = _listen(dut, where) if self.dut_serves else 0
        begin = _Reading.of(dut, soaker)
        # No virtual time passes until the trial starts, so that the window consists of whole buckets.
        peers.serve(dut, [_tester_end(self, rate_bps)])

        def meanwhile(window_begins_ns: int) -> None:
            nonlocal pid, begin
            pid = pid or _connect(dut, self, rate_bps, where)
            dut.sleep(QUIET_NS)
            later = _Reading.of(dut, soaker)
            if later.at_ns <= window_begins_ns:  # else the flows starve the agent, and may have ended
                begin = later

        window_ns = self.seconds * 1_000_000_000 - BEGIN_NS - END_NS
        window = Answer.of(dut.run_trial({"warmup_ns": BEGIN_NS, "duration_ns": window_ns, "drain_ns": DRAIN_NS}, [], meanwhile))
        end = _Reading.of(dut, soaker)
        counted_ns, change = end.at_ns - begin.at_ns, counters.difference(begin.counters, end.counters)
        account = peers.dut_count(peers.said(dut, pid), self.udp, self.dut_sends)
        if soaker is not None:
            peers.reap(dut, soaker, SIGTERM)
        dut.sleep(QUIET_NS)
        ((app,),) = [one["tests"] for one in peers.results(dut)]
        tester = peers.tester_count(app)
        dut.kernel_log.check()
        pause_frames = _pause_frames(dut) if self.pauses else None
        receiver, sender = (tester, account) if self.dut_sends else (account, tester)
        loss_ratio = (receiver.lost or 0) / receiver.datagrams if receiver.datagrams else None
        payload = _bytes(app, self)
        arrived = payload * (1 - loss_ratio) if loss_ratio and not self.dut_sends else payload
        instructions = window.instructions
        soaked_ratio = None
        if soaker is not None:
            soaked_ratio = 1000 * (end.soaked - begin.soaked) * window_ns / counted_ns / instructions
        return IperfResult(
            spec=self,
            name=self.name,
            test={**asdict(self), "rate_bps": rate_bps},
            bps=receiver.bps,
            dut=account,
            tester=tester,
            retransmits=sender.retransmits,
            loss_ratio=loss_ratio,
            jitter_ns=receiver.jitter_ns,
            window_ns=window_ns,
            window_bps=8e9 * payload / window_ns,
            instructions=instructions,
            instructions_per_byte=instructions * (1 - (soaked_ratio or 0)) / arrived if arrived else None,
            idle_ratio=window.idle_ratio,
            soaked_ratio=soaked_ratio,
            counted_ns=counted_ns,
            cpu_ticks=change.cpu_ticks,
            interrupts=change.interrupts,
            interfaces=change.interfaces,
            kernel_log=dut.kernel_log.lines,
            pause_frames=pause_frames,
        )


@dataclass(frozen=True)
class IperfMeasured:
    """Result of an iperf3 test."""

    name: str
    """TCP Rx, TCP Tx, UDP Rx or UDP Tx, from the DUT's point of view."""
    test: dict[str, Any]
    """The trial's fields, with the rate used."""
    bps: float
    """Payload counted by the receiver, bit/s."""
    dut: Account
    tester: Account
    retransmits: int | None
    """Retransmits of the sender; None for UDP."""
    loss_ratio: float | None
    """Share of datagrams lost; None for TCP."""
    jitter_ns: int | None
    """Jitter reported by the UDP receiver (RFC 1889, A.8); None for TCP."""
    window_ns: int
    window_bps: float
    """Payload in the window, bit/s."""
    instructions: int
    """Instructions executed by the DUT in the window."""
    instructions_per_byte: float | None
    """Instructions, without the soaker's, per byte of payload received; None if none was."""
    idle_ratio: float
    soaked_ratio: float | None
    """Share of the window's instructions executed by the soaker; None without it."""
    counted_ns: int
    """Time between the two readings of the kernel's counters below."""
    cpu_ticks: dict[str, int]
    interrupts: dict[str, int]
    interfaces: dict[str, dict[str, int]]
    kernel_log: list[str]


@dataclass(frozen=True)
class IperfResult(IperfMeasured):
    """Result of a trial."""

    spec: IperfTrial
    pause_frames: int | None = None
    """That the DUT's NIC has sent since it was reset; None unless the link partner offers them."""

    @property
    def full_frames(self) -> int:
        """Full-size frames of payload received in the window."""
        if self.instructions_per_byte is None:
            return 0
        count = self.instructions * (1 - (self.soaked_ratio or 0)) / self.instructions_per_byte
        return round(count / PAYLOAD_BYTES[self.name[:3]])


IperfTrial.result_type = IperfResult

FOUR = (IperfTrial(dut_sends=False), IperfTrial(), IperfTrial(udp=True, dut_sends=False), IperfTrial(udp=True))
"""The four tests: TCP and UDP, received and sent by the DUT."""


@dataclass(frozen=True)
class _Reading:
    """A reading of the DUT's counters."""

    counters: Counters
    soaked: int
    """Thousands of instructions executed by the soaker."""
    at_ns: int

    @classmethod
    def of(cls, dut: Dut, soaker: int | None) -> _Reading:
        return cls(dut.counters(), _soaked(dut, soaker), peers.now_ns(dut))


def _where(processor: int | None) -> list[str]:
    return [] if processor is None else ["--affinity", str(processor)]


def _listen(dut: Dut, where: list[str]) -> int:
    """Starts a server in the DUT; returns its process ID."""
    pid = peers.iperf3(dut, "--server", "--one-off", *where)
    dut.sleep(QUIET_NS)  # until it listens
    return pid


def _connect(dut: Dut, trial: IperfTrial, rate_bps: int, where: list[str]) -> int:
    """Starts a client in the DUT; returns its process ID."""
    options = peers.client_options(trial.seconds, trial.parallel, reverse=not trial.dut_sends)
    if trial.udp:
        options += ["--udp", "--length", str(peers.DATAGRAM_BYTES)]
    return peers.iperf3(dut, *options, "--bitrate", str(rate_bps), *where)


def _tester_end(trial: IperfTrial, rate_bps: int) -> dict[str, Any]:
    """The application that the tester runs (docs/inside/protocol.md, APP)."""
    if not trial.dut_serves:
        return peers.server(trial.window_bytes, bucket_ns=BUCKET_NS)
    return peers.there(
        kind="iperf3_client", udp=trial.udp, reverse=trial.dut_sends, duration_ns=trial.seconds * 1_000_000_000,
        parallel=trial.parallel, rate_bps=rate_bps, datagram_bytes=peers.DATAGRAM_BYTES, window_bytes=trial.window_bytes,
        bucket_ns=BUCKET_NS,
    )  # fmt: skip


def _pause_frames(dut: Dut) -> int:
    """Sent by the NIC, as its counters have it. Raises IrqlabError if it has no such counter."""
    found = re.search(r"tx[_ ]pause[_ ]frames: (\d+)", dut.run("ethtool", "-S", INTERFACES[peers.PORT]), re.IGNORECASE)
    if found is None:
        raise IrqlabError("the NIC does not count the pause frames that it sends")
    return int(found[1])


def _bytes(app: dict[str, Any], trial: IperfTrial) -> int:
    """Payload that the tester received in the window, or knows to have arrived (of UDP: sent).

    Raises IrqlabError if nothing moved before the window: then the DUT was not ready in time.
    """
    first, last = BEGIN_NS // BUCKET_NS, trial.seconds * 1_000_000_000 // BUCKET_NS - END_NS // BUCKET_NS
    series = [stream["series"] for stream in app["streams"]]
    if not any(sum(one[:first]) for one in series):
        raise IrqlabError(f"{trial.name}: no payload within {BEGIN_NS / 1e9} s of the start; give the DUT more --mips")
    return sum(sum(one[first:last]) for one in series)


def _soaked(dut: Dut, soaker: int | None) -> int:
    if soaker is None:
        return 0
    return int(json.loads(dut.run("/init", "counters", "/run/soak"))["kilo_instructions"])
