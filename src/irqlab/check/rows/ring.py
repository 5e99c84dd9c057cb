# SPDX-License-Identifier: GPL-2.0-or-later
"""A full transmit ring: the wire is slower than the sender."""

from __future__ import annotations

import re
from functools import partial

from irqlab.check import load, wire
from irqlab.check.row import Outcome, Row, Tally, Workplace, not_covered, not_supported
from irqlab.check.subject import Subject
from irqlab.config.addresses import INTERFACES, stream, tester_ip, tester_mac
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.setup import modules
from irqlab.trials.iperf import IperfTrial

GROUP = "A full transmit ring"
USUAL_RING = 64
"""Of drivers that do not say how large theirs is (8139cp)."""
BIG = 1518
TRACE = "/sys/kernel/tracing"
EVENT = f"{TRACE}/events/net/net_dev_xmit"
BUSY = 16
"""NETDEV_TX_BUSY (include/linux/netdevice.h)."""
STORM = 3
"""As many refusals as packets are sent, times that, are a storm."""
UNLIMITED = ("queues/tx-0/byte_queue_limits/limit_min", "10000000")
"""A file of an interface, and what to write to it, so that byte queue limits do not keep its ring from being filled."""
QUIET_NS = 200_000_000
REAP_NS = 10_000_000_000
PACKETS = 600
"""Of a sender in the DUT; the qdisc has room for 1,000."""
MOST_PARTS = 16
"""Pages of a packet, besides its header: MAX_SKB_FRAGS is 17 (include/linux/skbuff.h)."""
TIMEOUT, TIMEOUTS = "irqlab_tx_timeout", 4
"""A module of ours, which does what the kernel's watchdog does (drivers/tx_timeout), and how often."""
MANY = 8
"""Packets for one write to the doorbell (netdev_xmit_more())."""
PULLED_NS = (100_000_000, 3_000_000_000, 12_000_000_000)
"""Shorter than a driver may notice, longer, and longer than the watchdog of most waits."""
LEAST_RINGS = (1, 2, 4, 8, 16, 32, 64, 80, 128)
RING_STEP, RING_STEPS = 8, 18
MOST_FRAMES = 1_100
"""Of a burst."""
SLOWER = 1.6
"""How much faster than the wire frames come that are forwarded."""


def _needs(subject: Subject) -> Outcome | None:
    if subject.has_time:
        return None
    model = subject.testbed.nic.model
    return not_covered(f"{model} is QEMU's: a frame leaves before the write to the doorbell returns, so its ring is never full")


def _needs_parts(subject: Subject) -> Outcome | None:
    if not subject.facts.can_change("tx-scatter-gather"):
        return not_supported("ethtool -k: tx-scatter-gather off [fixed]")
    return _needs(subject)


def unlimited(dut: Dut, open_: bool = True) -> None:
    """Byte queue limits keep a ring from being filled. Lifts them, or sets them as they were."""
    value = UNLIMITED[1] if open_ else "0"
    files = UNLIMITED[0].replace("tx-0", "tx-*")
    for interface in INTERFACES:
        dut.attempt("sh", "-c", f"for f in /sys/class/net/{interface}/{files}; do echo {value} >$f; done")


def _sizes(dut: Dut, subject: Subject) -> list[int | None]:
    """Sizes of the transmit ring: as it is, the smallest that the driver takes, and others. None: as it is."""
    rings = subject.facts.rings
    if rings is None:
        return [None]
    found: list[int | None] = [None]
    least = next((size for size in LEAST_RINGS if _resize(dut, size)), rings.tx)
    wanted = {least, min(2 * least, rings.tx_max), min(4 * least, rings.tx_max)} - {rings.tx}
    _resize(dut, rings.tx)
    return [*found, *sorted(wanted)]


def _resize(dut: Dut, size: int) -> bool:
    """Sets the transmit ring of the second interface; whether it has that size."""
    done = dut.attempt("ethtool", "-G", INTERFACES[1], "tx", str(size))
    text = dut.attempt("ethtool", "-g", INTERFACES[1])["out"]
    return not done["code"] and re.findall(r"^TX:\s+(\d+)", text, re.MULTILINE)[-1] == str(size)


def _forward(place: Workplace) -> Outcome:
    """Bursts come to one interface and leave through the other one, whose wire is slower."""
    tally = Tally()
    wire_bps = place.testbed.nic.line_rate_bps
    with place.dut(line_rate=False, silent=True) as dut:
        for size in _sizes(dut, place.subject):
            if size is not None and not _resize(dut, size):
                continue
            dut.wait_forwarding()
            ring = size or (place.subject.facts.rings.tx if place.subject.facts.rings else USUAL_RING)
            for opened in (True, False):
                unlimited(dut, opened)
                for frame_bytes in (BIG, 256):
                    for count in sorted({ring, 2 * ring, 3 * ring, 3 * ring + 1, 4 * ring} if opened else {4 * ring}):
                        if 0 < count <= MOST_FRAMES and not tally.wrong:
                            _burst(dut, tally, ring, count, frame_bytes, wire_bps)
            if place.allowance.over or tally.wrong:
                break
        _healthy(dut, tally, INTERFACES[1])
    return tally.outcome(f"{tally.looked} facts about bursts that fill the ring: all came out, and so did the frame after them")


def _burst(dut: Dut, tally: Tally, ring: int, count: int, frame_bytes: int, wire_bps: int) -> None:
    """A burst, and a frame that comes when the wire has been idle for some time."""
    wire_ns = (frame_bytes + 20) * 8e9 / wire_bps
    burst_ns, calm_ns = round(count * wire_ns / SLOWER), round(count * wire_ns) + 20_000_000
    size = {"kind": "fixed", "frame_bytes": frame_bytes}
    streams = [
        stream(0, 1, {"kind": "constant", "rate_pps": SLOWER * 1e9 / wire_ns}, size) | {"count": count},
        stream(0, 1, {"kind": "constant", "rate_pps": 1000.0}, size) | {"count": 1, "begin_ns": calm_ns},
    ]
    before = _dropped(dut)
    found = dut.run_trial({"warmup_ns": 0, "duration_ns": calm_ns + burst_ns, "drain_ns": 50_000_000}, streams)
    burst, after = found["streams"]
    refused, dropped = burst["refused"], _dropped(dut) - before
    what = f"ring of {ring}, {count} frames of {frame_bytes} bytes"
    missing = burst["sent"] - burst["received"] - refused - dropped
    tally.expect(missing <= 0, f"{what}: {missing} of {burst['sent']} never came out, and nobody counts them as dropped")
    tally.expect(burst["reordered"] == 0, f"{what}: {burst['reordered']} came out in another order")
    tally.expect(burst["duplicated"] == 0, f"{what}: {burst['duplicated']} came out twice")
    tally.expect(after["received"] == after["sent"], f"{what}: a frame that comes when all have left does not come out")


def _dropped(dut: Dut) -> int:
    """Packets that the qdisc and the interfaces count as dropped."""
    text = dut.run("tc", "-s", "qdisc", "show", "dev", INTERFACES[1])
    names = ("tx_dropped", "tx_errors", "rx_dropped", "rx_missed_errors", "rx_over_errors", "rx_fifo_errors")
    files = [f"/sys/class/net/{interface}/statistics/{name}" for interface in INTERFACES for name in names]
    return sum(int(n) for n in re.findall(r"dropped (\d+)", text)) + sum(int(n or 0) for n in dut.read(*files).values())


def _healthy(dut: Dut, tally: Tally, interface: str) -> None:
    """The queue is neither stopped nor behind: nothing is in flight, the watchdog has not fired, and a host answers."""
    home = f"/sys/class/net/{interface}/queues/tx-0"
    port = INTERFACES.index(interface)
    dut.sleep(QUIET_NS)
    answers = dut.attempt("ping", "-c", "1", "-W", "1", tester_ip(port))
    tally.expect(answers["code"] == 0, f"{interface}: afterwards a host does not answer: the queue does not send any more")
    dut.sleep(QUIET_NS)
    files = dut.read(f"{home}/byte_queue_limits/inflight", f"{home}/tx_timeout")
    inflight, timeouts = (int((text or "0").strip() or 0) for text in files.values())
    tally.expect(inflight == 0, f"{interface}: byte queue limits still count {inflight} bytes as in flight, and nothing is sent")
    tally.expect(timeouts == 0, f"{interface}: the watchdog fired {timeouts} times")


def _senders(place: Workplace) -> Outcome:
    """A sender in the kernel, pktgen, fills the ring through the qdisc and past it, with packets in one part and in several."""
    tally = Tally()
    wire_bps = place.testbed.nic.line_rate_bps
    with place.dut(silent=True) as dut:
        wire.load(dut, place.testbed, "pktgen")
        traced = _trace(dut)
        for size in _sizes(dut, place.subject):
            if size is not None and not _resize(dut, size):
                continue
            dut.wait_forwarding()
            what = f"ring of {size}" if size else "ring as it is"
            unlimited(dut)
            for mode in ("queue_xmit", "start_xmit"):
                if tally.wrong:  # a sender would wait for a queue that is never woken, without end
                    break
                for frame_bytes, frags in ((60, 0), (1514, 0), (1514, 4)):
                    _pktgen(
                        dut,
                        tally,
                        f"{what}, {mode}, {frame_bytes} bytes in {frags or 1} parts",
                        mode,
                        frame_bytes,
                        frags,
                        wire_bps,
                    )
                    if tally.wrong:
                        break
                if traced and mode == "queue_xmit":
                    busy = dut.run("sh", "-c", f"grep -c rc= {TRACE}/trace; echo >{TRACE}/trace").split()[0]
                    tally.expect(int(busy) < STORM * PACKETS, f"{what}: the driver refused {busy} packets (NETDEV_TX_BUSY)")
                    if busy != "0":
                        tally.notes.append(f"{what}: the driver refused {busy} packets (NETDEV_TX_BUSY), which were sent later")
            if place.allowance.over or tally.wrong:
                break
        if not tally.wrong:  # else the sender may still keep the processor busy
            _healthy(dut, tally, INTERFACES[1])
    return tally.outcome(f"{tally.looked} facts about senders in the DUT that fill the ring: every packet left once")


def _trace(dut: Dut) -> bool:
    """Traces what the driver refuses; whether the kernel can."""
    dut.attempt("mount", "-t", "tracefs", "none", TRACE)
    done = dut.attempt("sh", "-c", f"echo 'rc == {BUSY}' >{EVENT}/filter && echo 1 >{EVENT}/enable")
    return bool(done["code"] == 0)


def _parts(place: Workplace) -> Outcome:
    """Packets of many parts, several for one write to the doorbell, with ring sizes that differ by some descriptors.

    So each number of free descriptors occurs when a packet comes that needs more. A driver has to stop its queue before.
    """
    tally = Tally()
    rings, wire_bps = place.subject.facts.rings, place.testbed.nic.line_rate_bps
    with place.dut(silent=True) as dut:
        wire.load(dut, place.testbed, "pktgen")
        traced = _trace(dut)
        unlimited(dut)
        least = 0 if rings is None else next((size for size in LEAST_RINGS if _resize(dut, size)), rings.tx)
        for size in range(least, least + RING_STEPS * RING_STEP, RING_STEP) if least else (0,):
            if size and not _resize(dut, size):
                continue
            dut.wait_forwarding()
            what = f"{f'ring of {size}' if size else 'ring as it is'}, {MOST_PARTS + 1} parts, {MANY} at once"
            _pktgen(dut, tally, what, "start_xmit", 1514, MOST_PARTS, wire_bps, burst=MANY)
            if traced and not tally.wrong:
                busy = int(dut.run("sh", "-c", f"grep -c rc= {TRACE}/trace; echo >{TRACE}/trace").split()[0])
                if busy:
                    tally.notes.append(f"{what}: the driver refused {busy} packets (NETDEV_TX_BUSY)")
            if place.allowance.over or tally.wrong:
                break
        if not tally.wrong:
            _healthy(dut, tally, INTERFACES[1])
    return tally.outcome(f"{tally.looked} facts about packets of {MOST_PARTS + 1} parts that fill the ring: all left once")


def _pktgen(dut: Dut, tally: Tally, what: str, mode: str, frame_bytes: int, frags: int, wire_bps: int, burst: int = 1) -> None:
    settings = [
        f"burst {burst}",
        f"count {PACKETS}", f"pkt_size {frame_bytes}", f"frags {frags}", "delay 0", "clone_skb 0", f"dst {tester_ip(1)}",
        f"dst_mac {tester_mac(1)}", f"xmit_mode {mode}",
    ]  # fmt: skip
    settings = settings[burst == 1 :]
    lines = [f"echo 'add_device {INTERFACES[1]}' >/proc/net/pktgen/kpktgend_0"]
    lines += [f"echo '{setting}' >/proc/net/pktgen/{INTERFACES[1]}" for setting in settings]
    dut.run("sh", "-c", " && ".join(lines))
    before = _dropped(dut)
    started: list[int] = []

    def start(_: int) -> None:
        started.append(dut.rpc.guest("spawn", argv=["sh", "-c", "echo start >/proc/net/pktgen/pgctrl"])["pid"])

    lasts_ns = round(PACKETS * (frame_bytes + 24) * 8e9 / wire_bps * 1.5) + QUIET_NS
    trial = {"warmup_ns": 0, "duration_ns": lasts_ns, "drain_ns": 1_000}
    received = dut.run_trial(trial, [], start)["ports"][1]["received"]
    dropped = _dropped(dut) - before
    if received + dropped >= PACKETS:  # else pktgen may wait for a queue that is never woken
        dut.rpc.guest("reap", limit_ns=REAP_NS, pid=started[0], signal=None)
        dut.run("sh", "-c", "echo rem_device_all >/proc/net/pktgen/kpktgend_0")
    # A queue that stops ends a burst, and the last burst may be one too many.
    right = 0 <= received - (PACKETS - dropped) < burst
    tally.expect(right, f"{what}: {received} of {PACKETS} packets left, {dropped} were dropped")


def _down(place: Workplace) -> Outcome:
    """The interface goes down and up while its ring is full and packets wait in the qdisc."""
    tally = Tally()
    wire_bps = place.testbed.nic.line_rate_bps
    wire_ns = (BIG + 20) * 8e9 / wire_bps
    size = {"kind": "fixed", "frame_bytes": BIG}
    offered = stream(0, 1, {"kind": "constant", "rate_pps": SLOWER * 1e9 / wire_ns}, size)
    eth = INTERFACES[1]
    with place.dut(line_rate=False) as dut:
        for number in range(6):

            def change(_: int, number: int = number) -> None:
                dut.sleep(60_000_000 + number * 37_000)
                for state in ("down", "up"):
                    dut.run("ip", "link", "set", eth, state)

            dut.run_trial({"warmup_ns": 0, "duration_ns": 150_000_000, "drain_ns": 1_000}, [offered], change)
            waited = dut.wait_forwarding()
            tally.expect(waited is not None, f"{eth} went down and up with a full ring: no frames pass any more")
            if waited is None or place.allowance.over:
                break
        _healthy(dut, tally, eth)
    return tally.outcome("down and up with a full ring: frames pass afterwards, nothing is left in flight")


def _cable(place: Workplace) -> Outcome:
    """The cable is pulled while frames leave, for some time, and put in again: frames pass, and the queue is not stuck."""
    tally = Tally()
    eth, port = INTERFACES[1], 1
    wire_ns = (BIG + 20) * 8e9 / place.testbed.nic.line_rate_bps
    offered = stream(0, 1, {"kind": "constant", "rate_pps": SLOWER * 1e9 / wire_ns}, {"kind": "fixed", "frame_bytes": BIG})
    noticed = False
    with place.dut(line_rate=False) as dut:
        unlimited(dut)
        for pulled_ns in PULLED_NS:
            dut.run_trial({"warmup_ns": 0, "duration_ns": 150_000_000, "drain_ns": 1_000}, [offered], partial(_pull, dut, port))
            dut.sleep(pulled_ns)
            carrier = (dut.read(f"/sys/class/net/{eth}/carrier")[f"/sys/class/net/{eth}/carrier"] or "").strip()
            noticed |= carrier == "0"
            dut.rpc.call("cable", port=port, plugged=True)
            what = f"the cable was out for {pulled_ns / 1e9:g} s with frames on their way"
            if not load.passes(dut, tally, what) or place.allowance.over:
                break
        if not tally.wrong:
            _healthy(dut, tally, eth)
    if not noticed and not tally.wrong:
        return not_supported(f"/sys/class/net/{eth}/carrier is 1 with the cable out for {PULLED_NS[-1] / 1e9:g} s")
    full = "with a full ring" if place.subject.has_time else "while frames left"
    return tally.outcome(f"the cable was pulled {full} for {', '.join(f'{ns / 1e9:g}' for ns in PULLED_NS)} s: frames pass again")


def _pull(dut: Dut, port: int, _: int) -> None:
    dut.sleep(60_000_000)
    dut.rpc.call("cable", port=port, plugged=False)


def _timeout(place: Workplace) -> Outcome:
    """The driver is told that its queue hangs, as the kernel's watchdog does: frames pass again without further help."""
    tally = Tally()
    eth = INTERFACES[1]
    told = f"echo {eth} >/sys/module/{TIMEOUT}/parameters/interface"
    with place.dut() as dut:
        dut.load(modules.load(place.testbed.machine.kernel, TIMEOUT))
        before = load.state(dut, eth)
        done = dut.attempt("sh", "-c", told)
        if "not supported" in done["err"]:
            return not_supported("the driver has no ndo_tx_timeout")
        for number in range(TIMEOUTS):
            if not load.passes(dut, tally, f"the driver was told that its queue hangs, {number + 1}"):
                return tally.outcome("")
            load.during(dut, lambda: dut.attempt("sh", "-c", told), QUIET_NS + number * 7_000_000)
        load.passes(dut, tally, "the driver was told under traffic that its queue hangs")
        load.same(tally, before, load.state(dut, eth), "after timeouts")
        _healthy(dut, tally, eth)
        dut.kernel_log.check(messages=False)
        dut.kernel_log.forget()  # a driver may say that it was told
    return tally.outcome(f"told {TIMEOUTS + 1} times that its queue hangs, idle and under traffic: frames pass, all is as before")


def _tcp(place: Workplace) -> Outcome:
    """UDP and TCP of the DUT as fast as its sockets allow."""
    tally = Tally()
    runner = place.runner()
    for udp in (True, False):
        found = runner.attempt(IperfTrial(udp=udp, seconds=1, rate_bps=0 if udp else None))
        name = "UDP" if udp else "TCP"
        if isinstance(found, IrqlabError):
            tally.expect(False, f"{name}: {found}")
            continue
        sent, received = found.dut, found.tester
        if not udp:  # of UDP, the datagrams that are on their way at the end count as lost
            tally.expect(not sent.retransmits, f"TCP: {sent.retransmits} segments were sent again, and the wire loses none")
        tally.expect(received.bps > 0, f"{name}: nothing arrived")
        tally.notes.append(f"{name}: {received.bps / 1e6:.1f} Mbit/s")
    return tally.outcome(f"UDP and TCP at full speed: {', '.join(tally.notes)}")


ROWS = (
    Row("ring-forward", "Forwarding into a slower wire", GROUP, _forward, 1.5, needs=_needs, risk=9),
    Row("ring-senders", "Senders in the DUT", GROUP, _senders, 2.0, needs=_needs, risk=9),
    Row("ring-parts", "Packets of many parts", GROUP, _parts, 0.8, needs=_needs_parts, risk=7),
    Row("ring-down", "Down and up with a full ring", GROUP, _down, 0.7, needs=_needs, risk=6),
    Row("ring-cable", "The cable is pulled", GROUP, _cable, 0.7, risk=6),
    Row("ring-timeout", "The transmit watchdog", GROUP, _timeout, 0.5, risk=6),
    Row("ring-sockets", "UDP and TCP at full speed", GROUP, _tcp, 0.8, risk=6),
)
