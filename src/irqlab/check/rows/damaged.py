# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames that no sender should send: too short, or with a wrong FCS."""

from __future__ import annotations

from base64 import b64encode

from irqlab.check.packets import ETHERNET, IPV4, UDP, Packet
from irqlab.check.row import Outcome, Row, Tally, Workplace, not_covered
from irqlab.check.rows.numbers import BAD, MOST_ARP, change, read
from irqlab.check.subject import Subject
from irqlab.check.wire import LEAST, filler, frame
from irqlab.config.addresses import INTERFACES, dut_mac, stream, tester_ip
from irqlab.dut.router import Dut

GROUP = "Frames"
SHORT = (ETHERNET, 15, 20, 33, 42, 59)
"""Bytes of runts, without FCS."""
SPOILT = (LEAST, 61, 512, 1514)
"""Bytes of frames with a wrong FCS, without it."""
COUNT = 8
"""Of each, with as many good ones between them."""
APART_NS = 2_000_000
RESTS_NS = 5_000_000_000
"""Drivers may read the NIC's counters every two seconds only."""


def _address(text: str) -> bytes:
    return bytes(map(int, text.split(".")))


def _forwarded(size: int) -> bytes:
    """A frame that the DUT would forward, of so many bytes, cut if it is too short for that."""
    packet = Packet(UDP, filler(max(size - 42, 0), size), source=_address(tester_ip(0)), destination=_address(tester_ip(1)))
    return frame(1, packet.whole(), to=dut_mac(0), kind=IPV4)[:size]


def _damaged(place: Workplace) -> Outcome:
    """None is passed on, the good ones between them all are, and each counts as at most one error."""
    tally = Tally()
    interface = INTERFACES[0]
    with place.dut() as dut:
        for mode in ("off", "on"):
            dut.run("ip", "link", "set", interface, "promisc", mode)
            if not tally.expect(dut.wait_forwarding() is not None, f"promiscuous mode {mode}: no frames pass"):
                break
            for size, damaged in [*((size, False) for size in SHORT), *((size, True) for size in SPOILT)]:
                _send(dut, tally, f"promiscuous mode {mode}: ", size, damaged)
        tally.expect(dut.wait_forwarding() is not None, "afterwards no frames pass any more")
    sizes = f"{len(SHORT)} sizes of runts and {len(SPOILT)} of frames with a wrong FCS"
    return tally.outcome(f"{sizes}, with and without promiscuous mode: none was passed on, no error counts twice")


def _send(dut: Dut, tally: Tally, where: str, size: int, damaged: bool) -> None:
    before = [read(dut, interface) for interface in INTERFACES]
    act = {"kind": "frame", "port": 0, "data": b64encode(_forwarded(size)).decode(), "damaged": damaged}
    event = {"do": act, "first_ns": APART_NS // 2, "every_ns": APART_NS, "count": COUNT}
    good = stream(0, 1, {"kind": "constant", "rate_pps": 1e9 / APART_NS}, {"kind": "fixed", "frame_bytes": 256}) | {
        "count": COUNT
    }
    trial = {"warmup_ns": 0, "duration_ns": (COUNT + 1) * APART_NS, "drain_ns": 50_000_000, "events": [event]}
    found = dut.run_trial(trial, [good])
    dut.sleep(RESTS_NS)
    received, sent = (change(old.sysfs, read(dut, one).sysfs) for old, one in zip(before, INTERFACES, strict=True))
    grown = {name: count for name, count in received.items() if count and name in BAD}
    what = f"{where}{COUNT} {'frames with a wrong FCS' if damaged else 'runts'} of {size} bytes between {COUNT} good ones"
    tally.expect(found["streams"][0]["received"] == COUNT, f"{what}: {found['streams'][0]['received']} good ones came out")
    for name, count in (("rx_packets", received["rx_packets"]), ("tx_packets of the other interface", sent["tx_packets"])):
        tally.expect(COUNT <= count <= COUNT + MOST_ARP, f"{what}: {name} grew by {count}")
    for name, count in grown.items():
        tally.expect(count <= COUNT, f"{what}: {name} grew by {count}")
    tally.notes.append(f"{what}: {', '.join(f'{name} {count}' for name, count in grown.items()) or 'no error counted'}")


def _needs(subject: Subject) -> Outcome | None:
    if subject.testbed.nic.is_own:
        return None
    return not_covered(f"{subject.testbed.nic.model} is QEMU's: short frames are padded before it has them, and there is no FCS")


ROWS = (Row("frames-damaged", "Runts and wrong FCS", GROUP, _damaged, 0.6, needs=_needs),)
