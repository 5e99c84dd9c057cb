# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames that one interface of the DUT sends to the other over a wire, compared byte by byte (guest/src/frames.rs)."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from irqlab.config.addresses import INTERFACES, dut_mac
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.setup import modules
from irqlab.trials.testbed import Testbed

LEAST, MOST = 60, 1514
"""Bytes of a frame without its FCS, with an MTU of 1500."""
EXPERIMENT = b"\x88\xb5"
"""An EtherType for experiments (IEEE 802, local): no protocol of the kernel takes it."""
MANY = 200
"""Orders in one command."""
READY_TRIES, READY_STEP_NS = 80, 100_000_000
"""Until the link is up after a change of settings."""
WAIT_MS = 30


@dataclass(frozen=True)
class Order:
    """A frame to be sent."""

    data: bytes
    """Without FCS."""
    offload: bytes | None = None
    """A virtio_net_hdr: what is left to the interface."""
    expect: int = 1
    """How many frames should arrive."""
    hold: bool = False
    """The next one follows at once; what arrives is reported with the last of them."""


@dataclass(frozen=True)
class Arrival:
    """A frame that arrived."""

    data: bytes
    """Without FCS, and without the VLAN tag."""
    verified: bool
    """The driver says that its checksum is right."""
    tag: int | None
    to: int
    """0: this host, 1: all, 2: a group, 3: another host."""
    hash: int | None = None
    """The driver's hash of its flow; 0: none. None: it was not asked for."""


@dataclass(frozen=True)
class Carried:
    """What became of an order."""

    got: tuple[Arrival, ...] = ()
    error: str = ""
    """Why the interface did not take it."""


def connect(dut: Dut) -> None:
    """Connects the two interfaces with a wire. The kernel's IP has nothing to do with them."""
    dut.sysctl("net.ipv4.ip_forward", "0")
    for interface in INTERFACES:
        dut.run("ip", "addr", "flush", "dev", interface)
        dut.attempt("ethtool", "-K", interface, "gro", "off")
    dut.rpc.call("wire", a=0, b=1, delay_ns=0, loss_ppm=0, seed=1)
    ready(dut)


def ready(dut: Dut) -> None:
    """Waits until frames pass both ways. Raises DutError."""
    for source in (0, 1):
        probe = Order(frame(source, bytes(46)))
        for _ in range(READY_TRIES):
            if carry(dut, source, [probe])[0].got:
                break
            dut.sleep(READY_STEP_NS)
        else:
            raise DutError(f"no frame of {INTERFACES[source]} arrives at {INTERFACES[1 - source]} over a wire")


def frame(source: int, payload: bytes, to: str | None = None, kind: bytes = EXPERIMENT) -> bytes:
    """An Ethernet frame of an interface, to the other one or to an address."""
    return mac(to or dut_mac(1 - source)) + mac(dut_mac(source)) + kind + payload


def mac(text: str) -> bytes:
    """The bytes of an address."""
    return bytes.fromhex(text.replace(":", ""))


def filler(length: int, seed: int) -> bytes:
    """Bytes that differ from place to place and from frame to frame."""
    return Random(seed).randbytes(length)


def carry(
    dut: Dut, source: int, orders: Sequence[Order], sender: str = "", wait_ms: int = WAIT_MS, hashes: bool = False
) -> list[Carried]:
    """Sends frames from port `source` to the other one. Raises DutError.

    `sender`: another interface on top of it. `hashes`: those of flows are told, of frames above 511 bytes.
    """
    found: list[Carried] = []
    argv = ["irqlab-guest", "frames", "--from", sender or INTERFACES[source], "--to", INTERFACES[1 - source]]
    argv += ["--hashes"] if hashes else []
    for first in range(0, len(orders), MANY):
        lines = [json.dumps(_line(order)) for order in orders[first : first + MANY]]
        done = dut.rpc.guest("exec", argv=[*argv, "--wait-ms", str(wait_ms)], stdin="\n".join(lines) + "\n")
        if done["code"]:
            raise DutError(f"frames of {argv[3]} could not be sent: {done['err'].strip()}")
        found += [_carried(json.loads(line)) for line in done["out"].splitlines()]
    return found


def _line(order: Order) -> dict[str, object]:
    offload = b64encode(order.offload).decode() if order.offload else None
    return {"data": b64encode(order.data).decode(), "offload": offload, "expect": order.expect, "hold": order.hold}


def _carried(report: dict[str, object]) -> Carried:
    got = report["got"]
    assert isinstance(got, list)
    arrivals = (Arrival(b64decode(one["data"]), one["verified"], one["tag"], one["to"], one["hash"]) for one in got)
    return Carried(tuple(arrivals), str(report["error"] or ""))


def difference(order: Order, carried: Carried) -> str:
    """What is wrong with what arrived of a frame that is left as it is; empty: nothing. Short frames are padded with zeros."""
    size = f"a frame of {len(order.data)} bytes"
    if carried.error:
        return f"{size} was not taken: {carried.error}"
    if not carried.got:
        return f"{size} did not arrive"
    if len(carried.got) > 1:
        return f"{size} arrived {len(carried.got)} times"
    data = carried.got[0].data
    if data[: len(order.data)] != order.data:
        place = next((n for n, (a, b) in enumerate(zip(order.data, data, strict=False)) if a != b), len(data))
        return f"{size} arrived with {len(data)} bytes, and differs from byte {place} on"
    rest = data[len(order.data) :]
    if len(data) > max(len(order.data), LEAST):
        return f"{size} arrived with {len(data)} bytes"
    if any(rest):
        return f"{size} was padded with {rest.hex()}: memory of the kernel leaves the machine"
    return ""


def load(dut: Dut, testbed: Testbed, *names: str) -> None:
    """Loads modules of the kernel in the DUT, with what they depend on. Raises IrqlabError."""
    for module in modules.load_all(testbed.machine.kernel, list(names)):
        if dut.attempt("test", "-e", f"/sys/module/{module.name.replace('-', '_')}")["code"]:
            dut.load([module])


def bring_back(dut: Dut, interface: str) -> None:
    """Sets an interface down and up, and waits until frames pass over the wire."""
    dut.run("ip", "link", "set", interface, "down")
    dut.run("ip", "link", "set", interface, "up")
    ready(dut)
