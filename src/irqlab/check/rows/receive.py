# SPDX-License-Identifier: GPL-2.0-or-later
"""What a receiver does with frames on their way up: it puts segments together (GRO), and says a hash of their flow."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from irqlab.check.packets import ETHERNET, FIN_PUSH_ACK, IP, IPV4, PUSH_ACK, TCP, TCP_HEADER, UDP, Packet
from irqlab.check.row import Outcome, Row, Tally, Workplace, not_covered, not_supported
from irqlab.check.subject import Subject
from irqlab.check.wire import Arrival, Order, carry, connect, filler, frame, ready
from irqlab.config.addresses import INTERFACES
from irqlab.dut.facts import features_of
from irqlab.dut.router import Dut

GROUP = "Frames"
MSS = 1448
ACK = 0x10
DONT_FRAGMENT = 0x4000
"""Of such packets the kernel puts those together that have the same identification."""
SEGMENTS = 24
"""Of a flow in a burst: fewer than any ring has descriptors, for two flows."""
HELD_NS = 2_000_000
"""So long the kernel holds segments back for later ones, so that those of several polls are put together."""
FLOWS, TIMES, HASHED_BYTES = 24, 3, 600
"""Flows, packets of each, and bytes of their payload: the socket that tells hashes wants long ones (guest/src/frames.rs)."""


@dataclass
class Segment:
    """A TCP segment that was sent."""

    sequence: int
    payload: bytes
    wrong: bool = False
    """Its checksum is."""
    arrived: int = 0


@dataclass
class Flow:
    """A TCP connection, in one direction."""

    port: int
    segments: list[Segment] = field(default_factory=list)

    def add(self, size: int, wrong: bool = False, gap: int = 0) -> None:
        """A further segment. `gap`: so many bytes are left out before it."""
        last = self.segments[-1] if self.segments else Segment(1000, b"")
        sequence = last.sequence + len(last.payload) + gap
        self.segments.append(Segment(sequence, filler(size, sequence + self.port), wrong))

    def order(self, number: int, source: int, hold: bool) -> Order:
        """Its frame."""
        one = self.segments[number]
        flags = PUSH_ACK if number == len(self.segments) - 1 else ACK
        packet = Packet(TCP, one.payload, port=self.port, sequence=one.sequence, flags=flags, fragment=DONT_FRAGMENT)
        return Order(frame(source, packet.whole(wrong=one.wrong), kind=IPV4), expect=0, hold=hold)


def merged(flows: Sequence[Flow], arrivals: Iterable[Arrival]) -> tuple[list[str], int]:
    """What is wrong with what arrived of flows, and how many segments arrived together with another one."""
    wrong: list[str] = []
    together = 0
    by_port = {flow.port: flow for flow in flows}
    for arrival in arrivals:
        ip = arrival.data[ETHERNET:]
        if arrival.data[12:14] != IPV4 or len(ip) < IP + TCP_HEADER or ip[9] != TCP:
            continue
        size, port = struct.unpack("!H", ip[2:4])[0], struct.unpack("!H", ip[IP + 2 : IP + 4])[0]
        at = struct.unpack("!I", ip[IP + 4 : IP + 8])[0]
        flow = by_port.get(port)
        if flow is None:
            continue
        data = ip[IP + TCP_HEADER : size]
        parts = [one for one in flow.segments if at <= one.sequence < at + len(data)]
        begins = [at + sum(len(one.payload) for one in parts[:number]) for number in range(len(parts))]
        for one in parts:
            one.arrived += 1
        if [one.sequence for one in parts] != begins or b"".join(one.payload for one in parts) != data:
            wrong.append(f"port {port}: {len(data)} bytes from {at} on are not what was sent")
        elif any(one.wrong for one in parts) and (len(parts) > 1 or arrival.verified):
            wrong.append(f"port {port}: a segment with a wrong checksum was taken as right, from {at} on")
        together += len(parts) if len(parts) > 1 else 0
    for flow in flows:
        for one in flow.segments:
            if one.arrived > 1 or not (one.arrived or one.wrong):
                wrong.append(f"port {flow.port}: the segment from {one.sequence} on arrived {one.arrived} times")
    return wrong, together


def _cases() -> list[tuple[str, list[Flow]]]:
    """Bursts: of one flow, of two, with a hole, of several sizes, with wrong checksums. Made anew: they remember what arrived."""
    plain, two, hole, sizes, bad = (Flow(5001), [Flow(5002), Flow(5003)], Flow(5004), Flow(5005), Flow(5006))
    for number in range(SEGMENTS):
        plain.add(MSS)
        for flow in two:
            flow.add(MSS)
        hole.add(1000, gap=1000 if number == SEGMENTS // 2 else 0)
        sizes.add((1, 7, 1447, MSS, 536)[number % 5])
        bad.add(777, wrong=number % 5 == 3)
    return [
        ("one flow", [plain]),
        ("two flows in turn", two),
        ("a flow with a hole", [hole]),
        ("segments of several sizes", [sizes]),
        ("every fifth checksum wrong", [bad]),
    ]


def _gro(place: Workplace) -> Outcome:
    """Bursts of segments, with GRO off and on: what arrives is what was sent, whether put together or not."""
    tally = Tally()
    together = 0
    lro = place.subject.facts.can_change("large-receive-offload")
    defers = "gro_flush_timeout" in place.subject.facts.files
    with place.dut() as dut:
        connect(dut)
        for gro, own in (("off", "off"), ("on", "off"), *([("on", "on")] if lro else [])):
            for interface in INTERFACES:
                dut.attempt("ethtool", "-K", interface, "gro", gro)
                dut.attempt("ethtool", "-K", interface, "lro", own)
            now = features_of(dut.attempt("ethtool", "-k", INTERFACES[0])["out"])["generic-receive-offload"].on
            if now != (gro == "on"):  # a driver may leave it off
                tally.wrong += ["ethtool -K gro off: it stays on"] if now else []
                break
            ready(dut)
            for held_ns in (0, HELD_NS) if gro == "on" and defers else (0,):
                dut.attempt("sh", "-c", f"echo {held_ns} >/sys/class/net/{INTERFACES[0]}/gro_flush_timeout")
                for name, flows in _cases():
                    wrong, count = _burst(dut, flows, place.testbed.nic.line_rate_bps)
                    together += count if gro == "on" else 0
                    held = f", held for {held_ns // 1_000_000} ms" if held_ns else ""
                    tally.looked += sum(len(flow.segments) for flow in flows)
                    tally.wrong += [f"gro {gro}{', lro on' if own == 'on' else ''}{held}, {name}: {text}" for text in wrong]
    if not together and not tally.wrong:
        return not_supported(
            f"of {tally.looked} segments none were put together: the driver does not use GRO; all arrived as sent"
        )
    return tally.outcome(f"{tally.looked} segments arrived as they were sent, {together} of them together with others")


def _burst(dut: Dut, flows: Sequence[Flow], line_rate_bps: int) -> tuple[list[str], int]:
    """Sends the segments of flows in turn, one right after the other."""
    pairs = [(flow, number) for number in range(SEGMENTS) for flow in flows]
    orders = [flow.order(number, 1, hold=True) for flow, number in pairs[:-1]]
    orders.append(pairs[-1][0].order(pairs[-1][1], 1, hold=False))
    wire_ms = sum(len(order.data) + 24 for order in orders) * 8e3 / line_rate_bps
    carried = carry(dut, 1, orders, wait_ms=round(wire_ms + 2 * HELD_NS / 1e6) + 5)
    refused = [f"a segment was not taken: {one.error}" for one in carried if one.error]
    wrong, together = merged(flows, (arrival for one in carried for arrival in one.got))
    return refused[:1] + wrong, together


def _hash(place: Workplace) -> Outcome:
    """All packets of a flow have the same hash; without the feature none has one."""
    tally = Tally()
    interface = INTERFACES[0]
    with place.dut() as dut:
        connect(dut)
        dut.attempt("ethtool", "-K", interface, "rxhash", "on")
        ready(dut)
        found = _hashes(dut, tally)
        if not any(found.values()) and not tally.wrong:
            model = place.testbed.nic.model
            return not_covered(f"receive-hashing is on, and no frame has a hash; whether {model} computes one is not known")
        tally.expect(len(set(found.values())) > 1, f"{len(found)} flows all have the same hash")
        for state in ("down", "up"):
            dut.run("ip", "link", "set", interface, state)
        ready(dut)
        tally.expect(any(_hashes(dut, tally).values()), "after down and up no frame has a hash")
        if place.subject.facts.can_change("receive-hashing"):
            dut.run("ethtool", "-K", interface, "rxhash", "off")
            ready(dut)
            tally.expect(not any(_hashes(dut, tally).values()), "rxhash off: frames have a hash")
    return tally.outcome(f"all packets of each of {FLOWS} flows had the same hash, {len(set(found.values()))} different ones")


def _hashes(dut: Dut, tally: Tally) -> dict[int, int]:
    """The hash of each flow, by its number; 0: none."""
    orders, numbers = [], []
    for time in range(TIMES):
        for number in range(FLOWS):
            packet = Packet(
                TCP if number % 2 else UDP,
                filler(HASHED_BYTES, time * FLOWS + number),
                source=bytes((192, 0, 2, 1 + number)),
                port=2000 + number,
                flags=FIN_PUSH_ACK,
            )
            orders.append(Order(frame(1, packet.whole(), kind=IPV4)))
            numbers.append(number)
    found: dict[int, int] = {}
    for number, one in zip(numbers, carry(dut, 1, orders, hashes=True), strict=True):
        if not tally.expect(len(one.got) == 1, f"flow {number}: {len(one.got)} frames arrived of 1"):
            continue
        value = one.got[0].hash or 0
        before = found.setdefault(number, value)
        tally.expect(value == before, f"flow {number}: a packet has the hash {value:#x}, and one before had {before:#x}")
    return found


def _needs_hash(subject: Subject) -> Outcome | None:
    known = subject.facts.features.get("receive-hashing")
    if known is not None and (known.on or not known.fixed):
        return None
    return not_supported("ethtool -k: receive-hashing off [fixed]")


ROWS = (
    Row("frames-gro", "Segments put together", GROUP, _gro, 0.7),
    Row("frames-hash", "The hash of a flow", GROUP, _hash, 0.4, needs=_needs_hash),
)
