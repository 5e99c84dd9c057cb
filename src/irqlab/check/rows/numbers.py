# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth of numbers: what the kernel's counters say is what the tester sent and received.

Bytes are those of frames without their FCS (include/uapi/linux/if_link.h, rtnl_link_stats64).
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irqlab.check.row import Outcome, Row, Tally, Workplace, not_covered, not_supported
from irqlab.check.wire import LEAST, Order, carry, connect, filler, frame
from irqlab.config.addresses import INTERFACES, stream
from irqlab.dut.router import Dut

GROUP = "Numbers"
FCS = 4
SIZES = (64, 65, 67, 128, 255, 512, 777, 1024, 1400, 1517, 1518)
SHORT = (20, 42, 59)
"""Bytes of frames without FCS that a card pads. QEMU's models send them as they are."""
FRAMES = 40
"""Of each size, in each direction."""
TRIES, STEP_NS = 6, 1_000_000_000
"""Drivers may read the NIC's counters every two seconds only."""
LONG, LONG_FRAMES = (1515, 1519, 1600, 2000), 8
"""Bytes without FCS of frames that are longer than an MTU of 1500 allows, and how many there are of each."""
RESTS_NS = 5_000_000_000
"""Drivers may read the NIC's counters every two seconds only."""
ARP, MOST_ARP = 64, 2
"""Bytes of an answer to the kernel's question for an address, and how many may come meanwhile."""
GOOD = ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes")
BAD = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_crc_errors", "rx_frame_errors", "rx_length_errors",
       "rx_over_errors", "rx_fifo_errors", "rx_missed_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors",
       "tx_heartbeat_errors", "tx_window_errors", "collisions")  # fmt: skip


@dataclass(frozen=True)
class Moved:
    """Frames that an interface received or sent, as the tester saw them."""

    rx_packets: int = 0
    rx_bytes: int = 0
    tx_packets: int = 0
    tx_bytes: int = 0


@dataclass
class Reading:
    """An interface's counters, from each place where they are shown."""

    sysfs: dict[str, int] = field(default_factory=dict)
    netlink: dict[str, int] = field(default_factory=dict)
    ethtool: dict[str, int] = field(default_factory=dict)


def read(dut: Dut, interface: str) -> Reading:
    """Reads them."""
    home = f"/sys/class/net/{interface}/statistics"
    names = (*GOOD, *BAD, "multicast")
    files = dut.read(*(f"{home}/{name}" for name in names))
    sysfs = {name: int(files[f"{home}/{name}"] or 0) for name in names}
    (link,) = json.loads(dut.run("ip", "-j", "-s", "-s", "link", "show", "dev", interface))
    stats = link.get("stats64") or link.get("stats") or {}
    netlink = {f"{side}_{name}": int(value) for side in ("rx", "tx") for name, value in stats.get(side, {}).items()}
    text = dut.attempt("ethtool", "-S", interface)["out"]
    return Reading(
        sysfs, netlink, {name.strip(): int(n) for name, n in re.findall(r"^ +(\S[^\n]*?): (\d+)$", text, re.MULTILINE)}
    )


def change(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """By how much counters have grown."""
    return {name: value - before.get(name, 0) for name, value in after.items()}


def _forwarded(place: Workplace) -> Outcome:
    tally = Tally()
    with place.dut(silent=True) as dut:
        dut.wait_forwarding()
        _keep_neighbours(dut)
        for sizes in (SIZES[:1], SIZES[-1:], SIZES):
            _settled(dut)
            before = {interface: read(dut, interface) for interface in INTERFACES}
            moved = _send(dut, sizes, place.testbed.nic.line_rate_bps)
            if moved is None:
                continue
            _agree(dut, tally, before, moved, f"after {FRAMES} frames each of {_named(sizes)} both ways")
    return tally.outcome(f"sysfs, netlink and ethtool -S agree with the tester in {tally.looked} counters, to the frame and byte")


def _keep_neighbours(dut: Dut) -> None:
    """The kernel does not ask for the tester's addresses again while counters are waited for."""
    for line in dut.run("ip", "-4", "neigh", "show").splitlines():
        address, _, interface, _, mac, *_ = line.split()
        dut.run("ip", "neigh", "replace", address, "dev", interface, "lladdr", mac, "nud", "permanent")


def _named(sizes: Sequence[int]) -> str:
    return f"{sizes[0]} bytes" if len(sizes) == 1 else f"{len(sizes)} sizes"


def _settled(dut: Dut) -> None:
    """Waits until the counters rest."""
    last: Any = None
    for _ in range(TRIES):
        now = [read(dut, interface) for interface in INTERFACES]
        if now == last:
            return
        last = now
        dut.sleep(STEP_NS)


def _send(dut: Dut, sizes: Sequence[int], line_rate_bps: int) -> list[Moved] | None:
    """Sends frames both ways; what each interface moved. None: other frames passed as well, so nothing is known exactly."""
    every_ns = round((max(sizes) + 20) * 8e9 / line_rate_bps * 1.5) * len(sizes) + 200_000 * len(sizes)
    streams = [
        stream(port, 1 - port, {"kind": "constant", "rate_pps": 1e9 / every_ns}, {"kind": "fixed", "frame_bytes": size})
        | {"count": FRAMES, "phase_ns": n * every_ns // len(sizes)}
        for n, size in enumerate(sizes)
        for port in (0, 1)
    ]
    found = dut.run_trial({"warmup_ns": 0, "duration_ns": (FRAMES + 1) * every_ns, "drain_ns": 50_000_000}, streams)
    if any(port["host"] or port["stray"] for port in found["ports"]):
        return None
    frames = [[0, 0], [0, 0]]
    out = [[0, 0], [0, 0]]
    for number, one in enumerate(found["streams"]):
        size, port = sizes[number // 2] - FCS, number % 2
        frames[port][0] += one["sent"]
        frames[port][1] += one["sent"] * size
        out[1 - port][0] += one["received"]
        out[1 - port][1] += one["received"] * size
    if any(frames[port][0] != found["ports"][port]["sent"] for port in (0, 1)):
        return None
    return [Moved(frames[p][0], frames[p][1], out[p][0], out[p][1]) for p in (0, 1)]


def _agree(dut: Dut, tally: Tally, before: Mapping[str, Reading], moved: Sequence[Moved], when: str) -> None:
    """Compares all counters; those of the NIC may come later."""
    for port, interface in enumerate(INTERFACES):
        wanted = vars(moved[port])
        for attempt in range(TRIES):
            after = read(dut, interface)
            wrong = list(_wrong(before[interface], after, wanted))
            if not wrong or attempt == TRIES - 1:
                break
            dut.sleep(STEP_NS)
        tally.looked += len(wanted) * 2 + len(BAD)
        tally.wrong += [f"{interface}, {when}: {text}" for text in wrong]
        _named_counters(tally, before[interface], after, wanted, interface)


def _wrong(before: Reading, after: Reading, wanted: Mapping[str, int]) -> list[str]:
    found = []
    grown, shown = change(before.sysfs, after.sysfs), change(before.netlink, after.netlink)
    for name, value in wanted.items():
        if grown[name] != value:
            packets, more = wanted[name.replace("bytes", "packets")], grown[name] - value
            each = f" ({more // packets:+d} a frame)" if "bytes" in name and packets and not more % packets else ""
            found.append(f"{name} grew by {grown[name]}, and the tester counts {value}{each}")
        if name in shown and shown[name] != grown[name]:
            found.append(f"{name} of ip -s -s link grew by {shown[name]}, and that of sysfs by {grown[name]}")
    return found + [f"{name} grew by {grown[name]}, and there was no error" for name in BAD if grown[name]]


def _named_counters(
    tally: Tally, before: Reading, after: Reading, wanted: Mapping[str, int], interface: str, of: str = "ethtool -S"
) -> None:
    """Counters of ethtool -S (or `of`) with the same names. Those of bytes may include the FCS: nothing forbids it."""
    grown = change(before.ethtool, after.ethtool)
    for name, value in wanted.items():
        if name not in grown or grown[name] == value:
            continue
        with_fcs = value + FCS * wanted[name.replace("bytes", "packets")]
        if "bytes" in name and grown[name] == with_fcs:
            tally.notes.append(f"{interface}: {name} of {of} includes the FCS")
        else:
            tally.expect(False, f"{interface}: {name} of {of} grew by {grown[name]}, and the tester counts {value}")


def _local(place: Workplace) -> Outcome:
    """What the DUT itself sends, in parts and whole, and groups."""
    tally = Tally()
    with place.dut(silent=True) as dut:
        connect(dut)
        for name, group in (("", ""), ("to a group", "01:00:5e:00:00:01"), ("to all", "ff:ff:ff:ff:ff:ff")):
            dut.attempt("ip", "link", "set", INTERFACES[0], "allmulticast", "on")
            _settled(dut)
            before = {interface: read(dut, interface) for interface in INTERFACES}
            sizes = (*(SHORT if place.subject.has_time else ()), 60, 61, 100, 1000, 1513, 1514)
            orders = [Order(frame(1, filler(size - 14, size), to=group or None)) for size in sizes]
            carried = carry(dut, 1, orders)
            arrived = sum(len(one.got) for one in carried)
            tally.expect(arrived == len(orders), f"{name}: {arrived} of {len(orders)} frames arrived")
            total = sum(max(size, LEAST) for size in sizes)  # on the wire, short ones are padded
            moved = [Moved(rx_packets=len(sizes), rx_bytes=total), Moved(tx_packets=len(sizes), tx_bytes=total)]
            _agree(dut, tally, before, moved, f"after {len(sizes)} frames of the DUT itself {name}".rstrip())
            multicast = read(dut, INTERFACES[0]).sysfs["multicast"] - before[INTERFACES[0]].sysfs["multicast"]
            if group.startswith("01") and multicast != len(sizes):
                tally.notes.append(f"multicast of {INTERFACES[0]} grew by {multicast} after {len(sizes)} frames to a group")
    return tally.outcome("the counters agree with what the DUT sent, to one, to a group and to all")


def _queues(place: Workplace) -> Outcome:
    """Statistics of queues over netlink, summed up, against what the tester sent and received."""
    tally = Tally()
    with place.dut(silent=True) as dut:
        done = dut.attempt("irqlab-guest", "queues", INTERFACES[0])
        if done["code"] and "not supported" in done["err"]:
            return not_supported(done["err"].strip())
        dut.wait_forwarding()
        _settled(dut)
        before = [queues(dut, interface) for interface in INTERFACES]
        moved = _send(dut, SIZES, place.testbed.nic.line_rate_bps)
        if moved is None:
            return not_covered("other frames passed as well, so nothing is known exactly")
        _settled(dut)
        for port, interface in enumerate(INTERFACES):
            now = queues(dut, interface)
            _named_counters(
                tally, Reading(ethtool=before[port]), Reading(ethtool=now), vars(moved[port]), interface, "qstats-get"
            )
            tally.looked += len(GOOD)
            tally.expect(any(name in now for name in GOOD), f"{interface}: qstats-get counts no packets")
    return tally.outcome("the statistics of queues, summed up, agree with the tester")


def queues(dut: Dut, interface: str) -> dict[str, int]:
    """Statistics of an interface's queues over netlink (`qstats-get`), summed up, by the names of sysfs."""
    found: dict[str, int] = {}
    for queue in json.loads(dut.run("irqlab-guest", "queues", interface)):
        for name in GOOD:
            value = queue.get(name.replace("_", "-"))
            if value is not None:
                found[name] = found.get(name, 0) + value
    return found


def _kept(place: Workplace) -> Outcome:
    """Counters do not fall or vanish if the interface goes down and up, and its rings change."""
    tally = Tally()
    rings = place.subject.facts.rings
    interface = INTERFACES[0]
    changes = [("down and up", ["sh", "-c", f"ip link set {interface} down; ip link set {interface} up"])]
    if rings is not None and rings.rx_max >= 2 * rings.rx:
        changes.append(("rings of twice the size", ["ethtool", "-G", interface, "rx", str(2 * rings.rx)]))
    changes.append(("another MTU", ["ip", "link", "set", interface, "mtu", "1400"]))
    with place.dut() as dut:
        _send(dut, SIZES, place.testbed.nic.line_rate_bps)
        _settled(dut)
        for what, argv in changes:
            before = read(dut, interface)
            dut.run(*argv)
            if not tally.expect(dut.wait_forwarding() is not None, f"after {what} no frames pass any more"):
                break
            after = read(dut, interface)
            for name in GOOD:
                old, new = before.sysfs[name], after.sysfs[name]
                tally.expect(new >= old, f"{name} fell from {old} to {new} with {what}")
    return tally.outcome(f"no counter fell with {', '.join(what for what, _ in changes)}")


def _long(place: Workplace) -> Outcome:
    """Frames that are longer than the MTU allows: each is received or an error, once, and then the counters rest."""
    tally = Tally()
    interface = INTERFACES[0]
    with place.dut() as dut:
        dut.wait_forwarding()
        for size in LONG:
            _settled(dut)
            before = read(dut, interface)
            data = b64encode(frame(1, filler(size - 14, size))).decode()
            event = {"do": {"kind": "frame", "port": 0, "data": data}, "first_ns": 0, "every_ns": 1_000_000, "count": LONG_FRAMES}
            dut.run_trial({"warmup_ns": 0, "duration_ns": 50_000_000, "drain_ns": 1_000, "events": [event]}, [])
            dut.sleep(RESTS_NS)
            after = read(dut, interface)
            dut.sleep(RESTS_NS)
            later = read(dut, interface)
            for name, count in change(after.sysfs, later.sysfs).items():
                tally.expect(
                    not count or name not in BAD, f"{name} grows by {count} without a frame, after frames of {size} bytes"
                )
            changes = change(before.sysfs, after.sysfs)
            grown = {name: count for name, count in changes.items() if count and name.startswith("rx")}
            for name, count in grown.items():
                most = (
                    LONG_FRAMES * size + ARP * MOST_ARP if name == "rx_bytes" else LONG_FRAMES + MOST_ARP * (name == "rx_packets")
                )
                what = f"{name} grew by {count} after {LONG_FRAMES} frames of {size} bytes"
                tally.expect(0 <= count <= most, what)
            tally.notes.append(f"{LONG_FRAMES} frames of {size} bytes without FCS: {grown or 'no counter grew'}")
            tally.expect(dut.wait_forwarding() is not None, f"after frames of {size} bytes no frames pass any more")
    return tally.outcome(f"frames of {LONG[0]} to {LONG[-1]} bytes: no counter grew by more, and all rest afterwards")


ROWS = (
    Row("numbers-forwarded", "Counters of forwarded frames", GROUP, _forwarded, 0.7, risk=7),
    Row("numbers-own", "Counters of the DUT's own frames", GROUP, _local, 0.5, risk=6),
    Row("numbers-queues", "Counters of queues over netlink", GROUP, _queues, 0.3),
    Row("numbers-long", "Counters of frames that are too long", GROUP, _long, 0.4),
    Row("numbers-kept", "Counters over down and up", GROUP, _kept, 0.5),
)
