# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth of frames: what arrives is what was sent."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

from irqlab.check import packets, wire
from irqlab.check.packets import ETHERNET, FIN_PUSH_ACK, IP, IPV4, PUSH_ACK, TCP, TCP_HEADER, UDP, Packet
from irqlab.check.row import Outcome, Row, Tally, Workplace, not_covered, not_supported
from irqlab.check.subject import Subject
from irqlab.check.wire import LEAST, MOST, Carried, Order, carry, connect, difference, filler, frame, ready
from irqlab.config.addresses import INTERFACES, UDP_DISCARD, dut_ip, dut_mac, stream
from irqlab.dut.router import Dut

GROUP = "Frames"
SIZES = range(64, 1519)
"""With FCS."""
PER_TRIAL = 128
"""Sizes in one trial, in each direction: a trial has at most 256 streams."""
ROOM = 1.5
"""Frames come at the line rate divided by this."""
VLAN, OTHER_VLAN, UNKNOWN_VLAN = 5, 4094, 77
VLAN_OFFLOADS = {"rxvlan": "rx-vlan-offload", "txvlan": "tx-vlan-offload"}
VLAN_MODES = (
    (("rxvlan", "on"), ("txvlan", "on")),
    (("rxvlan", "off"), ("txvlan", "off")),
    # On again: a driver may say at first that the NIC does it, and not have told the NIC. It may look at it only when rx changes.
    (("rxvlan", "on"), ("txvlan", "on"), ("rx", "off"), ("rx", "on")),
    (("rxvlan", "off"),),
    (("rxvlan", "on"), ("txvlan", "off")),
)
MODEL_MTU = {"irqlab-8139cp": 2000}
"""NIC models that cut longer frames, which the NIC does not (docs/inside/rtl8139-model.md)."""
TCP_MSS = 1448
MOST_SEGMENTS = 60
"""Of one packet: the qdisc and the receiving ring have room for them."""


def _sizes(place: Workplace) -> Outcome:
    """The tester sends each size through the DUT, both ways."""
    tally = Tally()
    apart_ns = round((SIZES[-1] + 20) * 8e9 / place.testbed.nic.line_rate_bps * ROOM) + 100_000
    with place.dut(silent=True) as dut:
        for first in range(SIZES[0], SIZES[-1] + 1, PER_TRIAL):
            sizes = range(first, min(first + PER_TRIAL, SIZES[-1] + 1))
            streams = [
                stream(port, 1 - port, {"kind": "constant", "rate_pps": 1.0}, {"kind": "fixed", "frame_bytes": size})
                | {"count": 1, "phase_ns": n * apart_ns}
                for n, size in enumerate(sizes)
                for port in (0, 1)
            ]
            result = dut.run_trial({"warmup_ns": 0, "duration_ns": (len(sizes) + 1) * apart_ns, "drain_ns": 50_000_000}, streams)
            for number, found in enumerate(result["streams"]):
                what = f"{sizes[number // 2]} bytes, from {INTERFACES[number % 2]} to {INTERFACES[1 - number % 2]}"
                right = found["sent"] == found["received"] == 1 and not found["corrupted"] and not found["duplicated"]
                tally.expect(right, f"{what}: sent {found['sent']}, received {found['received']}, changed {found['corrupted']}")
            stray = sum(port["stray"] + port["corrupted"] for port in result["ports"])
            tally.expect(not stray, f"{stray} frames came out changed or at the wrong port, sizes {sizes[0]} to {sizes[-1]}")
    return tally.outcome(f"{len(SIZES)} sizes from 64 to 1518 bytes passed both ways, unchanged")


def _own(place: Workplace) -> Outcome:
    """The DUT sends each size from each interface to the other."""
    tally = Tally()
    with place.dut(silent=True) as dut:
        connect(dut)
        for source in (0, 1):
            orders = [Order(frame(source, filler(size - ETHERNET, size))) for size in range(ETHERNET + 1, MOST + 1)]
            _compare(tally, orders, carry(dut, source, orders), f"{INTERFACES[source]}: ")
    return tally.outcome(f"{MOST - ETHERNET} sizes of 15 to {MOST} bytes without FCS arrived as they were sent, both ways")


def _compare(tally: Tally, orders: Sequence[Order], carried: Sequence[Carried], where: str) -> None:
    for order, one in zip(orders, carried, strict=True):
        wrong = difference(order, one)
        tally.expect(not wrong, f"{where}{wrong}")


def _scatter(place: Workplace) -> Outcome:
    """The kernel cuts large packets into frames that refer to parts of their pages: the driver maps parts of odd lengths."""
    tally = Tally()
    with place.dut() as dut:
        connect(dut)
        for interface in INTERFACES:
            dut.attempt("ethtool", "-K", interface, "sg", "on", "tx", "on")
            dut.attempt("ethtool", "-K", interface, "tso", "off")
        ready(dut)
        for source in (0, 1):
            # More frames than the ring has descriptors, so that each is used for each part.
            for size in (4_500, 9_001, 16_385, 33_333, 40_000):
                for mss in (7, 100, 255, 536, 1001, TCP_MSS):
                    if size <= mss * MOST_SEGMENTS:
                        _cut(dut, tally, source, size, mss)
    return tally.outcome(
        f"{tally.looked} large packets, cut by the kernel into frames of two and more parts, arrived as they were sent"
    )


def _cut(dut: Dut, tally: Tally, source: int, size: int, mss: int, forgiving: bool = False) -> None:
    """Sends a TCP packet that the kernel or the NIC cuts into segments.

    `forgiving`: QEMU's e1000 sends an empty segment behind data that fill the last one.
    """
    packet = Packet(TCP, filler(size, size + mss), flags=FIN_PUSH_ACK)
    order = Order(frame(source, packet.whole(partial=True), kind=IPV4), packet.offload(mss), -(-size // mss))
    (one,) = carry(dut, source, [order])
    wrong = _wrong_segments(packet, mss, one, forgiving)
    tally.expect(not wrong, f"{INTERFACES[source]}: {size} bytes in segments of {mss}: {wrong}")


def _tx_checksums(place: Workplace) -> Outcome:
    tally = Tally()
    with place.dut() as dut:
        connect(dut)
        for interface in INTERFACES:
            dut.attempt("ethtool", "-K", interface, "tx", "on")
        for source in (0, 1):
            orders, asked = [], []
            for protocol in (UDP, TCP):
                most = MOST - ETHERNET - IP - (packets.UDP_HEADER if protocol == UDP else TCP_HEADER)
                for size in (*range(64), *range(64, most, 61), most - 1, most):
                    packet = Packet(protocol, filler(size, size))
                    orders.append(Order(frame(source, packet.whole(partial=True), kind=IPV4), packet.offload()))
                    asked.append(packet)
            for packet, one in zip(asked, carry(dut, source, orders), strict=True):
                whole = Order(frame(source, packet.whole(), kind=IPV4))
                name = "UDP" if packet.protocol == UDP else "TCP"
                bad = packets.verdict(one.got[0].data) if one.got else ""
                wrong = bad or difference(whole, one)
                tally.expect(not wrong, f"{INTERFACES[source]}: {name} with {len(packet.payload)} bytes: {wrong}")
    return tally.outcome(f"the checksums of {tally.looked} UDP and TCP packets, left to the interface, were right")


def _needs_tx_checksums(subject: Subject) -> Outcome | None:
    return _needs(subject, "tx-checksum-ipv4", "tx-checksum-ip-generic")


def _needs(subject: Subject, *features: str) -> Outcome | None:
    if any(subject.facts.can_change(name) or ((found := subject.facts.features.get(name)) and found.on) for name in features):
        return None
    return not_supported(f"ethtool -k: {' and '.join(features)} off [fixed]")


def _segments(place: Workplace) -> Outcome:
    """Large TCP packets that the NIC cuts into segments, of many lengths, in one part and in several."""
    tally = Tally()
    with place.dut() as dut:
        connect(dut)
        for interface in INTERFACES:
            dut.attempt("ethtool", "-K", interface, "sg", "on", "tx", "on", "tso", "on")
        ready(dut)
        on = [dut.attempt("ethtool", "-k", interface)["out"] for interface in INTERFACES]
        if not all(re.search(r"^tcp-segmentation-offload: on", text, re.MULTILINE) for text in on):
            return not_supported("ethtool -K tso on: it stays off")
        for source in (0, 1):
            for size in (1449, 1500, 2896, 2897, 4000, 8191, 16_384, 33_333, 60_000):
                for mss in (536, TCP_MSS):
                    if size <= mss * MOST_SEGMENTS:
                        _cut(dut, tally, source, size, mss, not place.subject.has_time)
    return tally.outcome(f"{tally.looked} TCP packets of up to 60,000 bytes were cut into segments correctly")


def _wrong_segments(packet: Packet, mss: int, carried: Carried, forgiving: bool) -> str:
    if carried.error:
        return carried.error
    count = -(-len(packet.payload) // mss)
    got = list(carried.got)
    if forgiving and len(got) == count + 1 and struct.unpack("!H", got[-1].data[ETHERNET:][2:4])[0] == IP + TCP_HEADER:
        del got[-1]
    if len(got) != count:
        return f"{len(got)} segments arrived, not {count}"
    for number, arrival in enumerate(got):
        if bad := packets.verdict(arrival.data):
            return f"segment {number}: {bad}"
        ip = arrival.data[ETHERNET:]
        size, sequence = struct.unpack("!H", ip[2:4])[0], struct.unpack("!I", ip[IP + 4 : IP + 8])[0]
        if sequence != packet.sequence + number * mss:
            return f"segment {number}: its sequence number is {sequence}, not {packet.sequence + number * mss}"
        if ip[IP + TCP_HEADER : size] != packet.payload[number * mss : (number + 1) * mss]:
            return f"segment {number}: its data are not what was sent"
        flags, wanted = ip[IP + 13], packet.flags if number == count - 1 else packet.flags & ~(PUSH_ACK & ~0x10) & ~1
        if flags != wanted:
            return f"segment {number}: its flags are {flags:#x}, not {wanted:#x}"
    return ""


def _rx_checksums(place: Workplace) -> Outcome:
    """A packet with a wrong checksum is not said to be right, and the kernel does not accept it."""
    tally = Tally()
    with place.dut() as dut:
        connect(dut)
        for interface in INTERFACES:
            dut.attempt("ethtool", "-K", interface, "rx", "on")
        ready(dut)
        verified = 0
        for source in (0, 1):
            right, wrong = _for_receiver(source)
            got = carry(dut, source, [Order(data) for _, data in right])
            verified += sum(one.got[0].verified for one in got if one.got)
            for (name, data), one in zip(right, got, strict=True):
                bad = difference(Order(data), one)
                tally.expect(not bad, f"{INTERFACES[1 - source]}: {name}: {bad}")
            for (name, _), one in zip(wrong, carry(dut, source, [Order(data) for _, data in wrong]), strict=True):
                said = any(arrival.verified for arrival in one.got)
                tally.expect(not said, f"{INTERFACES[1 - source]}: {name}: the driver says that the checksum is right")
        _not_accepted(dut, tally)
        if not verified and not tally.wrong:
            known = place.subject.facts.features.get("rx-checksumming")
            if known is None or (known.fixed and not known.on):
                return not_supported("ethtool -k: rx-checksumming off [fixed]; the kernel accepted no packet that is wrong")
            model = place.testbed.nic.model
            return not_covered(f"{model} says of no packet that its checksum is right; the kernel accepted none that is wrong")
        tally.notes.append(f"{verified} packets with right checksums were said to be right")
    return tally.outcome("no packet with a wrong checksum was said to be right, or accepted by the kernel")


def _for_receiver(source: int) -> tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]]:
    """Frames with right checksums, and with wrong ones."""
    right, wrong = [], []
    for protocol, name in ((UDP, "UDP"), (TCP, "TCP")):
        for size in (0, 1, 2, 3, 17, 18, 19, 30, 63, 64, 65, 100, 101, 500, 501, 1400, 1401, 1459, 1460):
            packet = Packet(protocol, filler(size, size))
            right.append((f"{name}, {size} bytes", frame(source, packet.whole(), kind=IPV4)))
            wrong.append((f"{name}, {size} bytes, wrong checksum", frame(source, packet.whole(wrong=True), kind=IPV4)))
        packet = Packet(protocol, filler(200, 1))
        whole = frame(source, packet.whole(wrong=True), kind=IPV4)
        wrong.append((f"{name} in a VLAN, wrong checksum", whole[:12] + struct.pack("!HH", 0x8100, VLAN) + whole[12:]))
        for part, fragment in (("first", 0x2000), ("a later", 0x2010)):
            piece = Packet(protocol, filler(200, 2), fragment=fragment).whole(wrong=True)
            wrong.append((f"{part} fragment of {name}, wrong checksum", frame(source, piece, kind=IPV4)))
    return right, wrong


def _not_accepted(dut: Dut, tally: Tally) -> None:
    """The kernel counts a datagram for a port without a socket only if its checksum is right."""
    dut.run("ip", "addr", "add", f"{dut_ip(0)}/24", "dev", INTERFACES[0])
    peer = bytes(map(int, dut_ip(0).split(".")))
    packet = Packet(UDP, filler(64, 3), source=peer[:3] + b"\x07", destination=peer, port=UDP_DISCARD)
    count = 20
    for what, data, right in (
        ("a wrong checksum", packet.whole(wrong=True), False),
        ("a wrong checksum of the IP header", packet.whole(wrong_header=True), False),
        ("right checksums", packet.whole(), True),
    ):
        before = _udp(dut)
        carry(dut, 1, [Order(frame(1, data, kind=IPV4))] * count)
        accepted = _udp(dut)["NoPorts"] - before["NoPorts"]
        tally.expect(accepted == (count if right else 0), f"the kernel accepted {accepted} of {count} datagrams with {what}")


def _udp(dut: Dut) -> dict[str, int]:
    lines = [
        line.split()[1:] for line in (dut.read("/proc/net/snmp")["/proc/net/snmp"] or "").splitlines() if line.startswith("Udp:")
    ]
    return dict(zip(lines[0], map(int, lines[1]), strict=True))


GROUP_ADDRESS, OTHER_GROUP, STRANGER = "01:00:5e:00:00:37", "01:00:5e:11:22:33", "52:54:00:77:00:01"
CHANGED = "52:54:00:00:00:7e"


def _filters(place: Workplace) -> Outcome:
    """Which addresses an interface listens to, and after which changes."""
    tally = Tally()
    with place.dut() as dut:
        connect(dut)
        exact = not _hears(dut, STRANGER)
        if not exact:
            tally.notes.append("frames to a stranger arrive without promiscuous mode, too: the filter is not exact")
        for state, change in _states():
            change(dut)
            ready(dut)
            _listens(dut, tally, state, exact)
        _every_tag(dut, tally)
    return tally.outcome(f"the right frames arrived in {len(_states())} states: groups, promiscuous, all groups, down and up")


def _states() -> list[tuple[str, Callable[[Dut], object]]]:
    eth = INTERFACES[0]
    many = " ".join(f"01:00:5e:40:00:{n:02x}" for n in range(1, 101))
    return [
        ("at first", lambda _: None),
        ("in a group", lambda dut: dut.run("ip", "maddr", "add", GROUP_ADDRESS, "dev", eth)),
        ("in a group, promiscuous", lambda dut: dut.run("ip", "link", "set", eth, "promisc", "on")),
        ("in a group, after that", lambda dut: dut.run("ip", "link", "set", eth, "promisc", "off")),
        ("in a group, all groups", lambda dut: dut.run("ip", "link", "set", eth, "allmulticast", "on")),
        ("in a group, not all", lambda dut: dut.run("ip", "link", "set", eth, "allmulticast", "off")),
        ("in a group, after down and up", lambda dut: dut.run("sh", "-c", f"ip link set {eth} down; ip link set {eth} up")),
        ("in a group, promiscuous again", lambda dut: dut.run("ip", "link", "set", eth, "promisc", "on")),
        (
            "in a group, promiscuous after down and up",
            lambda dut: dut.run("sh", "-c", f"ip link set {eth} down; ip link set {eth} up"),
        ),
        ("in a group, at the end", lambda dut: dut.run("ip", "link", "set", eth, "promisc", "off")),
        ("in a group of 101", lambda dut: dut.run("sh", "-c", f"for a in {many}; do /bin/ip maddr add $a dev {eth}; done")),
        (
            "in a group after 100 were left",
            lambda dut: dut.run("sh", "-c", f"for a in {many}; do /bin/ip maddr del $a dev {eth}; done"),
        ),
        ("in no group", lambda dut: dut.run("ip", "maddr", "del", GROUP_ADDRESS, "dev", eth)),
    ]


def _hears(dut: Dut, address: str) -> int:
    """How many frames arrive if one is sent to an address."""
    (one,) = carry(dut, 1, [Order(frame(1, filler(100, 1), to=address), expect=0)], wait_ms=5)
    return len(one.got)


def _listens(dut: Dut, tally: Tally, state: str, exact: bool) -> None:
    promiscuous, every = "promiscuous" in state, "all groups" in state
    promiscuous = promiscuous and "after that" not in state
    wanted = {
        dut_mac(0): True,
        "ff:ff:ff:ff:ff:ff": True,
        GROUP_ADDRESS: ("in a group" in state) or None,
        OTHER_GROUP: (promiscuous or every) or None,
        STRANGER: promiscuous or (False if exact else None),
    }
    for address, arrives in wanted.items():
        if arrives is not None:
            found = _hears(dut, address)
            tally.expect(found == int(arrives), f"{state}: of 1 frame to {address} {found} arrived")


def _address(place: Workplace) -> Outcome:
    """The MAC address changes while the interface is up, and while it is down."""
    tally = Tally()
    eth = INTERFACES[0]
    with place.dut() as dut:
        connect(dut)
        exact = not _hears(dut, STRANGER)
        live = dut.attempt("ip", "link", "set", eth, "address", CHANGED)
        if live["code"]:
            tally.notes.append(f"while it is up the address cannot be changed: {live['err'].strip()}")
        else:
            _new_address(dut, tally, "changed while up", CHANGED, dut_mac(0), exact)
        dut.run("ip", "link", "set", eth, "down")
        dut.run("ip", "link", "set", eth, "address", STRANGER)
        dut.run("ip", "link", "set", eth, "up")
        _wait_link(dut, STRANGER)
        _new_address(dut, tally, "changed while down", STRANGER, dut_mac(0), exact)
        dut.run("ip", "link", "set", eth, "down")
        dut.run("ip", "link", "set", eth, "up")
        _wait_link(dut, STRANGER)
        _new_address(dut, tally, "after down and up", STRANGER, dut_mac(0), exact)
        bad = dut.attempt("ip", "link", "set", eth, "address", "01:00:00:00:00:01")
        tally.expect(bad["code"] != 0, "the address of a group was taken as its own")
    return tally.outcome(
        "frames to the new address arrived, and none to the old one" if exact else "frames to the new address arrived"
    )


def _wait_link(dut: Dut, address: str) -> None:
    for _ in range(wire.READY_TRIES):
        if _hears(dut, address):
            return
        dut.sleep(wire.READY_STEP_NS)


def _new_address(dut: Dut, tally: Tally, when: str, new: str, old: str, exact: bool) -> None:
    tally.expect(_hears(dut, new) == 1, f"{when}: a frame to the new address did not arrive")
    if exact:
        tally.expect(_hears(dut, old) == 0, f"{when}: a frame to the old address arrived")


def _vlan(place: Workplace) -> Outcome:
    """Frames with a VLAN tag, put in and taken out by the NIC and by the kernel."""
    tally = Tally()
    how = _in_modes(place, lambda dut, where: _tagged(dut, tally, where))
    return tally.outcome(f"frames with VLAN tags of all sizes arrived as they were sent; {how}")


def _vlan_segments(place: Workplace) -> Outcome:
    """What a VLAN interface sends, with checksums and segments left to the NIC."""
    tally = Tally()
    how = _in_modes(place, lambda dut, where: _tagged_segments(dut, tally, where, not place.subject.has_time))
    return tally.outcome(f"TCP packets of a VLAN interface arrived in segments as they should; {how}")


def _in_modes(place: Workplace, look: Callable[[Dut, str], None]) -> str:
    """Looks at VLAN interfaces in each mode of their offloads. Returns how tags are put in and taken out."""
    facts = place.subject.facts
    able = [name for name, feature in VLAN_OFFLOADS.items() if facts.can_change(feature)]
    with place.dut() as dut:
        wire.load(dut, place.testbed, "8021q")
        connect(dut)
        for vlan in (VLAN, OTHER_VLAN):  # the NIC may drop frames of others
            name = f"r{vlan}"
            dut.run("ip", "link", "add", "link", INTERFACES[0], "name", name, "type", "vlan", "id", str(vlan))
            dut.run("ip", "link", "set", name, "up")
        dut.run("ip", "link", "add", "link", INTERFACES[1], "name", "v1", "type", "vlan", "id", str(VLAN))
        dut.run("ip", "link", "set", "v1", "up")
        for number, mode in enumerate(VLAN_MODES if able else VLAN_MODES[:1]):
            for interface in INTERFACES:
                for name, state in mode:
                    if name in able or name == "rx":
                        dut.attempt("ethtool", "-K", interface, name, state)
            ready(dut)
            how = " and ".join(f"{name} {state}" for name, state in mode)
            look(dut, f"{number + 1}, {how}" if able else "tags by the kernel")
    return (
        "tags put in and taken out by the NIC and by the kernel"
        if able
        else "tags by the kernel: ethtool -k: vlan-offload [fixed]"
    )


def _tagged(dut: Dut, tally: Tally, where: str) -> None:
    sizes = (*range(LEAST, 72), 127, 128, 511, 512, 1496, 1497, 1498, 1512, 1513, MOST)
    for vlan, sender in ((VLAN, "v1"), (VLAN, ""), (OTHER_VLAN, ""), (0, ""), (0xE005, "")):
        plain = [frame(1, filler(size - ETHERNET, size + vlan)) for size in sizes]
        orders = [Order(data if sender else data[:12] + struct.pack("!HH", 0x8100, vlan) + data[12:]) for data in plain]
        for data, one in zip(plain, carry(dut, 1, orders, sender=sender), strict=True):
            how = f"{where}: tag {vlan:#x} of {'a VLAN interface' if sender else 'the data'}"
            wrong = difference(Order(data), one) if one.got or one.error else f"a frame of {len(data)} bytes did not arrive"
            tally.expect(not wrong, f"{how}: {wrong}")
            if one.got:
                tally.expect(one.got[0].tag == vlan, f"{how}: it arrived with {one.got[0].tag}")


def _tagged_segments(dut: Dut, tally: Tally, where: str, forgiving: bool) -> None:
    """TCP packets of a VLAN interface: checksums and segments are left to the NIC as far as it says that it can."""
    for size, mss in ((700, 0), (2 * TCP_MSS, TCP_MSS), (10_000, 536)):
        packet = Packet(TCP, filler(size, size), flags=FIN_PUSH_ACK)
        order = Order(frame(1, packet.whole(partial=True), kind=IPV4), packet.offload(mss), -(-size // mss) if mss else 1)
        (one,) = carry(dut, 1, [order], sender="v1")
        wrong = _wrong_segments(packet, mss or size, one, forgiving)
        tally.expect(not wrong, f"{where}: {size} bytes of a VLAN interface, in segments of {mss or size}: {wrong}")
        tags = {arrival.tag for arrival in one.got} - {VLAN}
        tally.expect(not tags, f"{where}: {size} bytes of a VLAN interface: segments arrived with {tags}")


def _every_tag(dut: Dut, tally: Tally) -> None:
    """In promiscuous mode frames of VLANs that nobody has registered arrive as well."""
    dut.run("ip", "link", "set", INTERFACES[0], "promisc", "on")
    ready(dut)
    data = frame(1, filler(100, 1))
    (one,) = carry(dut, 1, [Order(data[:12] + struct.pack("!HH", 0x8100, UNKNOWN_VLAN) + data[12:])])
    tally.expect(len(one.got) == 1, f"promiscuous: a frame of a VLAN that nobody has registered ({UNKNOWN_VLAN}) did not arrive")
    dut.run("ip", "link", "set", INTERFACES[0], "promisc", "off")


def _jumbo(place: Workplace) -> Outcome:
    tally = Tally()
    most = place.subject.facts.mtu[1]
    limit = MODEL_MTU.get(place.testbed.nic.card, 9000)
    with place.dut() as dut:
        connect(dut)
        refused = dut.attempt("ip", "link", "set", INTERFACES[0], "mtu", str(most + 1))
        tally.expect(refused["code"] != 0, f"an MTU of {most + 1} is accepted, above maxmtu")
        for mtu in sorted({size for size in (1501, 2000, 4000, 9000, most) if 1500 < size <= min(most, limit)}):
            for interface in INTERFACES:
                dut.run("ip", "link", "set", interface, "mtu", str(mtu))
            ready(dut)
            for source in (0, 1):
                sizes = (LEAST, 512, MOST, mtu, mtu + ETHERNET - 2, mtu + ETHERNET - 1, mtu + ETHERNET)
                orders = [Order(frame(source, filler(size - ETHERNET, size))) for size in sizes]
                _compare(tally, orders, carry(dut, source, orders), f"MTU {mtu}, {INTERFACES[source]}: ")
        for mtu in (1500, max(576, place.subject.facts.mtu[0])):
            for interface in INTERFACES:
                dut.run("ip", "link", "set", interface, "mtu", str(mtu))
            ready(dut)
            orders = [Order(frame(0, filler(mtu, 1))), Order(frame(0, filler(46, 2)))]
            _compare(tally, orders, carry(dut, 0, orders), f"MTU {mtu} after that: ")
    cut = f"; the model cuts frames above {limit} bytes" if limit < min(most, 9000) else ""
    return tally.outcome(
        f"frames of all sizes up to the MTU arrived, with MTUs up to {min(most, limit)}, and with 1500 again{cut}"
    )


def _needs_jumbo(subject: Subject) -> Outcome | None:
    most = subject.facts.mtu[1]
    return not_supported(f"ip -d link: maxmtu {most}") if most <= 1500 else None


ROWS = (
    Row("frames-sizes", "Every size through the DUT", GROUP, _sizes, 1.0, risk=7),
    Row("frames-own", "Every size from one interface to the other", GROUP, _own, 1.5, risk=7),
    Row(
        "frames-scatter",
        "Packets in several parts",
        GROUP,
        _scatter,
        0.7,
        needs=lambda subject: _needs(subject, "tx-scatter-gather"),
    ),
    Row("frames-tx-checksums", "Checksums left to the NIC", GROUP, _tx_checksums, 0.7, needs=_needs_tx_checksums),
    Row(
        "frames-segments",
        "TCP segments left to the NIC",
        GROUP,
        _segments,
        0.7,
        needs=lambda subject: _needs(subject, "tx-tcp-segmentation"),
    ),
    Row("frames-rx-checksums", "Wrong checksums", GROUP, _rx_checksums, 0.7, risk=6),
    Row("frames-filters", "Groups and promiscuous mode", GROUP, _filters, 0.7, risk=6),
    Row("frames-address", "Another MAC address", GROUP, _address, 0.5),
    Row("frames-vlan", "VLAN tags", GROUP, _vlan, 0.8),
    Row("frames-vlan-segments", "TCP segments in a VLAN", GROUP, _vlan_segments, 0.5),
    Row("frames-jumbo", "Large and small MTUs", GROUP, _jumbo, 0.7, needs=_needs_jumbo),
)
