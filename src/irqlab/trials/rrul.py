# SPDX-License-Identifier: GPL-2.0-or-later
"""Real-time response under load (flent's rrul and rrul_be): TCP flows up and down, and their effect on latency.

Up is from the DUT to the tester. The flows are iperf3, one process per class and direction; the tester's host sends the probes:
ICMP echo, and UDP to an echo process per class in the DUT. In rrul the flows and probes of a class have its DSCP in both
directions. In rrul_be nothing is marked, and all else is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from irqlab.dut import counters
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.trials import peers
from irqlab.trials.peers import Account, RoundTrips
from irqlab.trials.record import Answer
from irqlab.trials.trial import Conditions, Trial

UP_PORT, DOWN_PORT, ECHO_PORT = 5201, 5211, 7
"""Of the first class; the others' follow."""
SETTLE_NS = 500_000_000
"""Latency under load is measured from this long after the start of the flows until this long before their end."""
SIGTERM = 15
RRUL, RRUL_BE = "rrul", "rrul_be"
FLOWS = {
    RRUL: {"BE": 0, "BK": 8, "CS5": 40, "EF": 46},
    RRUL_BE: {"BE": 0, "BE2": 0, "BE3": 0, "BE4": 0},
}
"""The classes of flows of flent's tests, and their DSCPs."""
PROBES = {
    RRUL: {"udp_ef": 46, "udp_bk": 8, "udp_be": 0},
    RRUL_BE: {"udp_be1": 0, "udp_be2": 0, "udp_be3": 0},
}
"""The UDP probes of flent's tests, and their DSCPs."""
ICMP = "icmp"

Probe = tuple[int, int | None, int | None]
"""Send time, round trip (None: no reply), and how long the reply was queued for the link; in ns."""


@dataclass(frozen=True)
class RrulTrial(Trial["RrulResult"]):
    """Flows, and probes before, during and after them."""

    test: str = RRUL
    """Which of flent's tests: rrul, whose flows and probes are marked, or rrul_be."""
    flows: int = 4
    """Flows per direction; they take the classes in turn."""
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
        if self.test not in FLOWS:
            raise IrqlabError(f"--test {self.test}: allowed are {', '.join(FLOWS)}")
        for name, value, least, most in (
            ("--interval", self.interval_ns / 1e6, 0.1, 1000),
            ("--flows", self.flows, 1, 64),
            ("--duration", self.seconds, 2, 3600),
            ("--idle", self.idle_s, 1, 600),
            ("--window", self.window_bytes, 2920, 1 << 24),
        ):
            if not least <= value <= most:
                raise IrqlabError(f"{name} {value}: allowed are {least} to {most}")

    @property
    def classes(self) -> dict[str, int]:
        """The classes of the flows, and how many flows each has per direction."""
        names = list(FLOWS[self.test])
        return {name: len(range(place, self.flows, len(names))) for place, name in enumerate(names) if place < self.flows}

    def measure(self, dut: Dut, conditions: Conditions) -> RrulResult:
        """Runs the flows and the probes. Raises IrqlabError if either end fails."""
        second = 1_000_000_000
        dut.play_hosts(conditions.line_rate_bps)
        probed = PROBES[self.test]
        echoes = [_echo(dut, ECHO_PORT + place, dscp) for place, dscp in enumerate(probed.values())]
        dut.sleep(SETTLE_NS)
        probe = peers.there(kind="probe", interval_ns=self.interval_ns, duration_ns=(2 * self.idle_s + self.seconds) * second)
        phase_ns = self.interval_ns // (len(probed) + 1)  # no kind's probe waits behind another's
        probes = [
            {**probe, "udp_port": ECHO_PORT + place, "dscp": dscp, "phase_ns": phase_ns * (place + 1)}
            for place, dscp in enumerate(probed.values())
        ]
        ports = [first + place for first in (UP_PORT, DOWN_PORT) for place in range(len(self.classes))]
        servers = [peers.server(self.window_bytes, port, self.bucket_ns) for port in ports]
        origin_ns = peers.serve(dut, [*servers, probe, *probes])
        dut.sleep(self.idle_s * second)
        pids = [
            peers.iperf3(dut, *self._client(first + place, name, count, reverse))
            for first, reverse in ((UP_PORT, False), (DOWN_PORT, True))
            for place, (name, count) in enumerate(self.classes.items())
        ]
        began_ns = peers.now_ns(dut) - origin_ns
        dut.sleep(SETTLE_NS)
        count_from_ns = peers.now_ns(dut)
        before = dut.counters()
        window_ns = self.seconds * second - 2 * SETTLE_NS
        window = Answer.of(dut.run_trial({"warmup_ns": 0, "duration_ns": window_ns, "drain_ns": 1000}, []))
        counted_ns = peers.now_ns(dut) - count_from_ns
        counted = counters.difference(before, dut.counters())
        reports = [peers.said(dut, pid) for pid in pids]
        half = len(self.classes)
        sent = peers.together([peers.dut_count(one, udp=False, sends=True) for one in reports[:half]])
        received = peers.together([peers.dut_count(one, udp=False, sends=False) for one in reports[half:]])
        dut.sleep(self.idle_s * second)
        found = peers.results(dut)
        tests = {"up": [app["tests"][0] for app in found[:half]], "down": [app["tests"][0] for app in found[half : 2 * half]]}
        answers = dict(zip((ICMP, *probed), found[2 * half :], strict=True))
        for echo in echoes:
            peers.reap(dut, echo, SIGTERM)
        dut.kernel_log.check()
        heard = {
            f"{direction} {name}": _heard(test["streams"])
            for direction, ended in tests.items()
            for name, test in zip(self.classes, ended, strict=True)
        }
        return RrulResult(
            spec=self,
            flows=tuple(flow for direction, ended in tests.items() for flow in self._flows(direction, ended)),
            probes={kind: app["probes"] for kind, app in answers.items()},
            began_ns=began_ns,
            up_bps=peers.together([peers.tester_count(test) for test in tests["up"]]).bps,
            down_bps=received.bps,
            dut={"up": sent, "down": received},
            latency={kind: both(app["probes"], began_ns, self.seconds) for kind, app in answers.items()},
            received_by_dscp={**heard, **{kind: _heard([app]) for kind, app in answers.items()}},
            window_ns=window_ns,
            instructions=window.instructions,
            idle_ratio=window.idle_ratio,
            counted_ns=counted_ns,
            cpu_ticks=counted.cpu_ticks,
            interrupts=counted.interrupts,
            kernel_log=dut.kernel_log.lines,
        )

    def _client(self, port: int, name: str, count: int, reverse: bool) -> list[str]:
        """Options of a class's iperf3 client in the DUT."""
        return peers.client_options(self.seconds, count, port, reverse, FLOWS[self.test][name])

    def _flows(self, direction: str, tests: Sequence[dict[str, Any]]) -> list[Flow]:
        """The flows of a direction, of the tests of its classes. Flow n has class n, modulo the number of classes."""
        found = [
            _flow(direction, place + number * len(self.classes), name, stream)
            for place, (name, test) in enumerate(zip(self.classes, tests, strict=True))
            for number, stream in enumerate(test["streams"])
        ]
        return sorted(found, key=lambda flow: flow.number)


def _echo(dut: Dut, port: int, dscp: int) -> int:
    """Starts a process in the DUT that returns datagrams, with this mark."""
    marked = ["--dscp", str(dscp)] if dscp else []
    return peers.spawn(dut, "/init", "udp-receive", "--port", str(port), "--echo", *marked)


def _heard(ended: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many packets the tester received, by DSCP."""
    total: Counter[str] = Counter()
    for one in ended:
        total.update(one["received_by_dscp"])
    return dict(sorted(total.items(), key=lambda item: int(item[0])))


@dataclass(frozen=True)
class Flow:
    """A TCP flow."""

    flow: str
    """up or down."""
    number: int
    traffic_class: str
    """BE, BK, CS5 or EF; of rrul_be BE, BE2, BE3 or BE4."""
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
    received_by_dscp: dict[str, dict[str, int]]
    """By class of flows ("up BE") or kind of probe: packets that the tester received, by their DSCP. iperf3 marks its packets
    once a connection is open."""
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
    """By kind: icmp, udp_be, ..."""


RrulTrial.result_type = RrulResult


def _flow(direction: str, number: int, name: str, stream: dict[str, Any]) -> Flow:
    bps = 8 * stream["bytes"] / stream["seconds"]
    return Flow(direction, number, name, bps, stream["retransmits"], stream["series"])


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
