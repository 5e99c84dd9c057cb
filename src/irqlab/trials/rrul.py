# SPDX-License-Identifier: GPL-2.0-or-later
"""Real-time response under load (flent's rrul_be): TCP flows up and down, and their effect on the latency of UDP and ICMP.

Up is from the DUT to the tester. The flows are iperf3; the tester's host sends the probes: ICMP echo, and UDP to an echo
process in the DUT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from irqlab.dut import counters
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.trials import peers
from irqlab.trials.peers import Account, RoundTrips
from irqlab.trials.trial import Conditions, Trial

UP_PORT, DOWN_PORT, ECHO_PORT = 5201, 5202, 7
SETTLE_NS = 500_000_000
"""Latency under load is measured from this long after the start of the flows until this long before their end."""
SIGTERM = 15

Probe = tuple[int, int | None, int | None]
"""Send time, round trip (None: no reply), and how long the reply was queued for the link; in ns."""


@dataclass(frozen=True)
class RrulTrial(Trial["RrulResult"]):
    """Flows, and probes before, during and after them."""

    flows: int = 4
    """Flows per direction."""
    seconds: int = 5
    idle_s: int = 1
    """Seconds of probes without flows, before and after the flows."""
    interval_ns: int = 10_000_000
    """Interval between probes of a kind."""
    window_bytes: int = 1 << 16
    """TCP window of each of the tester's connections; it limits how much can be queued."""
    bucket_ns: int = 100_000_000
    """Resolution of throughput over time."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("--flows", self.flows, 1, 64),
            ("--duration", self.seconds, 2, 3600),
            ("--idle", self.idle_s, 1, 600),
            ("--window", self.window_bytes, 2920, 1 << 24),
        ):
            if not least <= value <= most:
                raise IrqlabError(f"{name} {value}: allowed are {least} to {most}")

    def measure(self, dut: Dut, conditions: Conditions) -> RrulResult:
        """Runs the flows and the probes. Raises IrqlabError if either end fails."""
        second = 1_000_000_000
        dut.play_hosts(conditions.line_rate_bps)
        echo = peers.spawn(dut, "/init", "udp-receive", "--port", str(ECHO_PORT), "--echo")
        dut.sleep(SETTLE_NS)
        probe = peers.there(kind="probe", interval_ns=self.interval_ns, duration_ns=(2 * self.idle_s + self.seconds) * second)
        servers = [peers.server(self.window_bytes, port, self.bucket_ns) for port in (UP_PORT, DOWN_PORT)]
        origin_ns = peers.serve(dut, [*servers, probe, {**probe, "udp_port": ECHO_PORT}])
        dut.sleep(self.idle_s * second)
        up = peers.iperf3(dut, *peers.client_options(self.seconds, self.flows, UP_PORT))
        down = peers.iperf3(dut, *peers.client_options(self.seconds, self.flows, DOWN_PORT, reverse=True))
        began_ns = peers.now_ns(dut) - origin_ns
        dut.sleep(SETTLE_NS)
        count_from_ns = peers.now_ns(dut)
        before = dut.counters()
        window_ns = self.seconds * second - 2 * SETTLE_NS
        window = dut.run_trial({"warmup_ns": 0, "duration_ns": window_ns, "drain_ns": 1000}, [])
        counted_ns = peers.now_ns(dut) - count_from_ns
        counted = counters.difference(before, dut.counters())
        sent = peers.dut_count(peers.said(dut, up), udp=False, sends=True)
        received = peers.dut_count(peers.said(dut, down), udp=False, sends=False)
        dut.sleep(self.idle_s * second)
        upward, downward, icmp, udp = peers.results(dut)
        peers.reap(dut, echo, SIGTERM)
        dut.kernel_log.check()
        return RrulResult(
            spec=self,
            flows=tuple(
                _flow(direction, number, stream)
                for direction, app in (("up", upward), ("down", downward))
                for number, stream in enumerate(app["tests"][0]["streams"])
            ),
            probes={kind: app["probes"] for kind, app in (("icmp", icmp), ("udp", udp))},
            began_ns=began_ns,
            up_bps=peers.tester_count(upward["tests"][0]).bps,
            down_bps=received.bps,
            dut={"up": sent, "down": received},
            latency={kind: both(app["probes"], began_ns, self.seconds) for kind, app in (("icmp", icmp), ("udp", udp))},
            window_ns=window_ns,
            instructions=window["instructions"],
            idle_ratio=window["idle_ns"] / window_ns,
            counted_ns=counted_ns,
            cpu_ticks=counted.cpu_ticks,
            interrupts=counted.interrupts,
            kernel_log=dut.kernel_log.lines,
        )


@dataclass(frozen=True)
class Flow:
    """A TCP flow."""

    flow: str
    """up or down."""
    number: int
    bps: float
    """Payload, bit/s."""
    retransmits: int | None
    series: list[int]
    """Bytes of payload in each bucket of the trial."""


@dataclass(frozen=True, kw_only=True)
class ProbeLatency(RoundTrips):
    """Round trips of one kind of probe in one phase of the trial."""

    off_wire: RoundTrips
    """Without the time that the reply was queued behind other frames for the link."""
    lost: int
    """Probes without a reply."""


@dataclass(frozen=True)
class RrulMeasured:
    """Totals of the trial."""

    began_ns: int
    """Start of the flows, relative to the first probe."""
    up_bps: float
    """Payload of all flows, bit/s, counted by the receiver."""
    down_bps: float
    dut: dict[str, Account]
    """The DUT's counters of the flows, up and down."""
    latency: dict[str, dict[str, ProbeLatency]]
    """By kind of probe; `base`: before the flows; `load`: during them."""
    window_ns: int
    instructions: int
    """Instructions executed by the DUT in the window."""
    idle_ratio: float
    counted_ns: int
    cpu_ticks: dict[str, int]
    interrupts: dict[str, int]
    kernel_log: list[str]


@dataclass(frozen=True)
class RrulResult(RrulMeasured):
    """Result of the trial."""

    spec: RrulTrial
    flows: tuple[Flow, ...]
    probes: dict[str, list[Probe]]
    """By kind: icmp, udp."""


RrulTrial.result_type = RrulResult


def _flow(direction: str, number: int, stream: dict[str, Any]) -> Flow:
    bps = 8 * stream["bytes"] / stream["seconds"]
    return Flow(direction, number, bps, stream["retransmits"], stream["series"])


def both(probes: Sequence[Probe], began_ns: int, seconds: int) -> dict[str, ProbeLatency]:
    """The latency of probes before and during the flows."""
    end_ns = began_ns + seconds * 1_000_000_000
    return {"base": _latency(probes, 0, began_ns), "load": _latency(probes, began_ns + SETTLE_NS, end_ns - SETTLE_NS)}


def _latency(probes: Sequence[Probe], begin_ns: int, end_ns: int) -> ProbeLatency:
    """Latency of the probes sent between two instants: percentiles with and without queueing for the link, and losses."""
    chosen = [probe for probe in probes if begin_ns <= probe[0] < end_ns]
    answered = [(rtt_ns, waited_ns) for _, rtt_ns, waited_ns in chosen if rtt_ns is not None and waited_ns is not None]
    return ProbeLatency(
        **asdict(peers.round_trips([rtt_ns for rtt_ns, _ in answered])),
        off_wire=peers.round_trips([rtt_ns - waited_ns for rtt_ns, waited_ns in answered]),
        lost=len(chosen) - len(answered),
    )
