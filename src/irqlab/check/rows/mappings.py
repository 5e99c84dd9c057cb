# SPDX-License-Identifier: GPL-2.0-or-later
"""DMA mappings: each fails once while packets of several parts are sent, and each is undone.

The kernel copies all that is mapped through bounce buffers (swiotlb=force), and says how many of them are in use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from irqlab.check.kinds import kind
from irqlab.check.packets import IPV4, TCP, Packet
from irqlab.check.row import BROKEN, Outcome, Row, Workplace, failed, not_covered, not_supported, passed
from irqlab.check.subject import Subject
from irqlab.check.wire import Order, carry, connect, filler, frame, ready
from irqlab.config.addresses import INTERFACES
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.hunting.functions import ALLOCATORS, functions, used
from irqlab.qemu.cancellation import CancelledError
from irqlab.trials.hunt import NEVER
from irqlab.trials.testbed import Testbed

GROUP = "Failures"
MAPS = "dma_map_page_attrs"
BOUNCED = "swiotlb=32768,force"
"""64 MiB: vmxnet3 maps more than 8."""
IN_USE = "/sys/kernel/debug/swiotlb/io_tlb_used"
CALLS = 48
"""Calls that fail, at most: the first one, the second one, ..."""
LEAST_CALLS = 16
ENOUGH = 2
"""Calls with which the same goes wrong: no other one needs to fail."""
SEGMENT_BYTES, SEGMENTS = 1001, 5
"""Of a packet that the kernel cuts into frames of several parts."""
BEGIN_NS, LAST_NS, DURATION_NS = 1_000_000, 180_000_000, 200_000_000


def _mappings(place: Workplace) -> Outcome:
    config = place.testbed.config
    arguments = f"{config.kernel_arguments} {BOUNCED}".strip()
    testbed = Testbed.resolve(replace(config, nic=place.testbed.nic.model, kernel_arguments=arguments))
    known = functions(testbed)
    if MAPS not in used(testbed, known):
        return not_supported(f"the driver does not call {MAPS}")
    packet = Packet(TCP, filler(SEGMENT_BYTES * SEGMENTS, 1))
    data = frame(1, packet.whole(partial=True), kind=IPV4)
    order = Order(data, packet.offload(SEGMENT_BYTES), SEGMENTS)
    tried = _Tried()
    while not tried.done:
        try:
            outcome = _in_one_dut(place, testbed, known.address(MAPS), order, tried)
            if outcome is not None:
                return outcome
        except BROKEN as error:
            if not tried.number or isinstance(error, CancelledError):
                raise
            tried.wrong.setdefault(kind(str(error)), []).append(f"mapping {tried.number} failed: {error}")
            tried.done = len(tried.wrong[kind(str(error))]) >= ENOUGH
    if tried.wrong:
        texts = [many[0] for many in tried.wrong.values()]
        return failed(texts[0].splitlines()[0], [*texts[1:], *texts[0].splitlines()[1:]], kinds=list(tried.wrong))
    return passed(
        f"{tried.number} mappings failed, one at a time, of packets in several parts: frames pass, every mapping is undone"
    )


@dataclass
class _Tried:
    """What was tried in all DUTs."""

    number: int = 0
    """Calls that failed so far: which one fails next."""
    done: bool = False
    wrong: dict[str, list[str]] = field(default_factory=dict)
    """By kind: what went wrong."""


def _in_one_dut(place: Workplace, testbed: Testbed, address: int, order: Order, tried: _Tried) -> Outcome | None:
    """Fails one call after the other. None: what came of it is in `tried`. Raises IrqlabError if something goes wrong."""
    with testbed.open() as dut:
        dut.kernel_log.forget()
        dut.attempt("mount", "-t", "debugfs", "none", "/sys/kernel/debug")
        connect(dut)
        for interface in INTERFACES:
            dut.attempt("ethtool", "-K", interface, "sg", "on", "tx", "on")
            dut.attempt("ethtool", "-K", interface, "tso", "off")
        ready(dut)
        before = _in_use(dut, "down")
        if before is None:
            return not_covered(f"this kernel does not say how many bounce buffers are in use ({IN_USE})")
        _in_use(dut, "up")
        ready(dut)
        first = tried.number
        while tried.number < CALLS and not (tried.number >= LEAST_CALLS and place.allowance.over):
            tried.number += 1
            if not _fails(dut, address, tried.number - 1, order):
                tried.number -= 1
                break
            ready(dut)
            place.progress(f"{tried.number} mappings failed")
        tried.done = True
        after = _in_use(dut, "down")
        dut.kernel_log.check(messages=False)  # a driver may say that a mapping has failed
    if after != before:
        what = f"while both interfaces are down, {before} bounce buffers are in use before, {after} after"
        raise DutError(f"{what} {tried.number - first} mappings failed: some were not undone")
    return None


def _fails(dut: Dut, address: int, number: int, order: Order) -> bool:
    """Sends a packet while the call with this number fails; whether there was such a call."""

    def send(_: int) -> None:
        dut.sleep(2 * BEGIN_NS)
        carry(dut, 1, [order], wait_ms=20)

    events = [
        {
            "do": {"kind": "fail", "function": 0, "after": after, "value": ALLOCATORS[MAPS]},
            "first_ns": at_ns,
            "every_ns": DURATION_NS,
            "count": 1,
        }
        for at_ns, after in ((BEGIN_NS, number), (LAST_NS, NEVER))
    ]
    trial = {"warmup_ns": 0, "duration_ns": DURATION_NS, "drain_ns": 1_000, "probes": [address], "events": events}
    result = dut.run_trial(trial, [], send)
    return any(entry[3] for entry in result["probes"])


def _in_use(dut: Dut, state: str) -> int | None:
    """Sets both interfaces up or down; how many bounce buffers are in use then. None: not known."""
    for interface in INTERFACES:
        dut.run("ip", "link", "set", interface, state)
    text = dut.read(IN_USE)[IN_USE]
    return None if text is None else int(text)


def _needs(subject: Subject) -> Outcome | None:
    return not_covered("the mappings of USB transfers are the host controller's") if subject.is_usb else None


ROWS = (Row("failures-mappings", "Every DMA mapping fails once", GROUP, _mappings, 1.0, needs=_needs, risk=6),)
