# SPDX-License-Identifier: GPL-2.0-or-later
"""What rows of the checklist compute without a DUT."""

from __future__ import annotations

from itertools import pairwise

import pytest

from irqlab.check import packets, wire
from irqlab.check.packets import TCP, UDP, Packet
from irqlab.check.row import failed, passed
from irqlab.check.rows import calls, receive
from irqlab.check.rows.deep import stalled_elsewhere
from irqlab.check.rows.life import leak_kib
from irqlab.check.rows.numbers import BAD, GOOD, Reading, _wrong
from irqlab.check.wire import Arrival, Carried, Order
from irqlab.dut import facts

RINGS = """Ring parameters for eth0:
Pre-set maximums:
RX:\t\t256
RX Mini:\t0
TX:\t\t128
Current hardware settings:
RX:\t\t64
TX:\t\t32
"""
FEATURES = """Features for eth0:
rx-checksumming: on
tx-checksumming: on
\ttx-checksum-ipv4: on
\ttx-checksum-fcoe-crc: off [fixed]
rx-vlan-offload: off [requested on]
"""


def test_rings() -> None:
    assert facts.rings_of(RINGS) == facts.Rings(64, 32, 256, 128)
    assert facts.rings_of("netlink error: Operation not supported") is None


def test_features() -> None:
    found = facts.features_of(FEATURES)
    assert found["tx-checksum-ipv4"] == facts.Feature(True, False)
    assert found["tx-checksum-fcoe-crc"] == facts.Feature(False, True)
    assert found["rx-vlan-offload"] == facts.Feature(False, False)


def test_mtu() -> None:
    assert facts.mtu_of("link/ether ... minmtu 68 maxmtu 9216 numtxqueues 1") == (68, 9216)
    assert facts.mtu_of("nothing") == (1500, 1500)


@pytest.mark.parametrize("protocol", [UDP, TCP])
@pytest.mark.parametrize("size", [0, 1, 18, 1401])
def test_checksums(protocol: int, size: int) -> None:
    packet = Packet(protocol, wire.filler(size, 7))
    assert packets.verdict(wire.frame(0, packet.whole(), kind=packets.IPV4)) == ""
    for wrong in (packet.whole(wrong=True), packet.whole(wrong_header=True), packet.whole(partial=True)):
        assert "wrong" in packets.verdict(wire.frame(0, wrong, kind=packets.IPV4))


def test_a_checksum_that_is_left_to_the_interface_is_the_sum_of_the_pseudo_header() -> None:
    packet = Packet(UDP, b"some data")
    data = packet.whole(partial=True)
    whole = data[packets.IP :]
    assert packets.checksum(whole).to_bytes(2, "big") == packet.whole()[packets.IP + 6 : packets.IP + 8]


def arrived(data: bytes, times: int = 1) -> Carried:
    return Carried((Arrival(data, False, None, 0),) * times)


def test_differences() -> None:
    data = wire.frame(0, wire.filler(100, 1))
    assert wire.difference(Order(data), arrived(data)) == ""
    assert "did not arrive" in wire.difference(Order(data), Carried())
    assert "2 times" in wire.difference(Order(data), arrived(data, 2))
    assert "differs from byte 50 on" in wire.difference(Order(data), arrived(data[:50] + b"\0" + data[51:]))
    assert "with 115 bytes" in wire.difference(Order(data), arrived(data + b"\0"))
    assert "was not taken: no" in wire.difference(Order(data), Carried(error="no"))


def test_calls_are_spread_evenly_from_the_beginning_on() -> None:
    found = list(calls.spread({"kmalloc": 100, "build_skb": 2}))
    assert len(found) == len(set(found)) == 102
    assert [name for name, _ in found[:4]] == ["kmalloc", "build_skb"] * 2
    first = sorted(number for name, number in found[:14] if name == "kmalloc")
    assert max(b - a for a, b in pairwise([-1, *first, 100])) <= 20


def test_calls_are_counted_by_function() -> None:
    entries = [[0, 5, 0, False], [2, 6, 0, False], [2, 7, 0, True]]
    assert calls._counted(entries, {"a": 1, "b": 2, "c": 3}) == {"a": 1, "c": 2}


def test_private_flags() -> None:
    text = "Private flags for eth0:\nlegacy-rx    : on\ns0ix-enabled : off\n"
    assert facts.private_flags_of(text) == {"legacy-rx": True, "s0ix-enabled": False}


def test_padding() -> None:
    data = wire.frame(0, b"short")
    assert wire.difference(Order(data), arrived(data.ljust(60, b"\0"))) == ""
    assert "memory of the kernel" in wire.difference(Order(data), arrived(data.ljust(59, b"\0") + b"\1"))


def reading(**values: int) -> Reading:
    sysfs = dict.fromkeys((*GOOD, *BAD), 0) | values
    return Reading(sysfs, {name: sysfs[name] for name in GOOD}, {})


def test_counters_that_are_right() -> None:
    values = {"rx_packets": 10, "rx_bytes": 600, "tx_packets": 5, "tx_bytes": 300}
    assert _wrong(reading(), reading(**values), values) == []


def test_counters_that_are_wrong() -> None:
    wanted = {"rx_packets": 10, "rx_bytes": 600, "tx_packets": 5, "tx_bytes": 300}
    found = _wrong(reading(), reading(**{**wanted, "rx_bytes": 640, "rx_dropped": 1}), wanted)
    assert found == [
        "rx_bytes grew by 640, and the tester counts 600 (+4 a frame)",
        "rx_dropped grew by 1, and there was no error",
    ]


def test_places_that_disagree() -> None:
    wanted = {"rx_packets": 10, "rx_bytes": 600, "tx_packets": 5, "tx_bytes": 300}
    after = reading(**wanted)
    after.netlink["rx_packets"] = 9
    assert _wrong(reading(), after, wanted) == ["rx_packets of ip -s -s link grew by 9, and that of sysfs by 10"]


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([], 0.0),
        ([(4, 1000), (8, 900)], 0.0),
        ([(4, 1000), (8, 900), (12, 900)], 0.0),  # a cache that grew once
        ([(4, 1000), (8, 900), (12, 800)], 25.0),
        ([(4, 1000), (8, 1010), (12, 900)], -2.5),
    ],
)
def test_memory_that_is_lost(readings: list[tuple[int, int]], expected: float) -> None:
    assert leak_kib(readings) == expected


def up(*segments: receive.Segment, port: int = 7, data: bytes | None = None, verified: bool = False) -> Arrival:
    """Segments that arrive together."""
    payload = b"".join(one.payload for one in segments) if data is None else data
    packet = Packet(TCP, payload, port=port, sequence=segments[0].sequence)
    return Arrival(wire.frame(1, packet.whole(), kind=packets.IPV4), verified, None, 0)


def flow(wrong: int | None = None) -> receive.Flow:
    found = receive.Flow(7)
    for number in range(3):
        found.add(100, wrong=number == wrong)
    return found


def test_segments_may_arrive_together() -> None:
    one = flow()
    first, second, third = one.segments
    assert receive.merged([one], [up(first, second), up(third)]) == ([], 2)
    assert receive.merged([flow()], [up(part) for part in (first, second, third)]) == ([], 0)


def test_what_arrives_otherwise_than_it_was_sent_is_told() -> None:
    first, second, third = flow().segments

    def told(*arrivals: Arrival, wrong: int | None = None) -> str:
        return " ".join(receive.merged([flow(wrong)], arrivals)[0])

    assert "from 1200 on arrived 0 times" in told(up(first, second))
    assert "from 1000 on arrived 2 times" in told(up(first, second), up(first), up(third))
    assert "are not what was sent" in told(up(first, data=bytes(100)), up(second, third))
    assert "are not what was sent" in told(up(first, third), up(second))
    assert "wrong checksum was taken as right" in told(up(first, second), up(third), wrong=1)
    assert "wrong checksum was taken as right" in told(up(first), up(second, verified=True), up(third), wrong=1)
    assert not told(up(first), up(second), up(third), wrong=1)


def test_a_flow_with_a_hole_is_two_runs() -> None:
    found = receive.Flow(7)
    found.add(100)
    found.add(100, gap=50)
    assert [one.sequence for one in found.segments] == [1000, 1150]
    assert receive.merged([found], [up(*found.segments)])[0], "they may not be put together"


def test_a_stall_is_the_drivers_if_the_driver_is_in_its_trace() -> None:
    said = "the DUT's kernel logged a problem: rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"
    elsewhere = ["CPU: 1 PID: 33 Comm: ktimers/1", " double_rq_lock+0x4f/0x70", " push_rt_task+0x92/0x290"]
    inside = [*elsewhere, " cp_start_xmit+0x7c/0x440 [8139cp]"]
    assert stalled_elsewhere(failed(said, elsewhere), "8139cp")
    assert not stalled_elsewhere(failed(said, inside), "8139cp")
    assert stalled_elsewhere(failed(said, inside), "e1000")
    assert not stalled_elsewhere(failed("BUG: sleeping function called", elsewhere), "8139cp")
    assert not stalled_elsewhere(passed(said), "8139cp")
