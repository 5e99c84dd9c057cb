# SPDX-License-Identifier: GPL-2.0-or-later
"""Controls a NIC of the tester's own: removal, fault injection, and reconfiguration of the DUT afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irqlab.config.addresses import INTERFACES, dut_ip, dut_mac
from irqlab.dut import schemes
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError
from irqlab.trials.testbed import Testbed

STEP_NS = 50_000_000
APPEARS_NS = 5_000_000_000
SETTLES_NS = 500_000_000
USB_KINDS = ("transfers", "replies", "statuses", "refusals")
"""Kinds of faults: in bulk IN transfers, replies to control requests, and interrupt statuses; refused bulk OUT."""
PCI_KINDS = ("registers", "descriptors", "interrupts")
"""Kinds of faults: in reads of registers, and in what the card writes into descriptors; interrupts without a cause."""


@dataclass(frozen=True)
class FaultPlan:
    """Which of a NIC's responses are corrupted."""

    seed: int
    permille: int
    """Share of responses that are corrupted, in 1/1000."""
    only: str | None = None
    """One of USB_KINDS or PCI_KINDS; None: all kinds of the NIC."""
    trailing_fragments: bool = True
    """USB: transfers may end with the start of another frame."""


def kinds(testbed: Testbed) -> tuple[str, ...]:
    """The kinds of faults that the testbed's NICs can have."""
    return PCI_KINDS if testbed.nic.pci_bus else USB_KINDS


def inject_faults(dut: Dut, port: int, plan: FaultPlan | None) -> dict[str, int]:
    """Starts injecting faults at `port`; None: stops. Returns the number of faults injected so far, by kind."""
    wanted: dict[str, Any] = {"seed": None, "permille": 0}
    if plan is not None:
        wanted = {"seed": plan.seed, "permille": plan.permille, "only": plan.only, "stubs": plan.trailing_fragments}
    found = dut.rpc.call("hostile", port=port, **wanted)
    return {kind: int(count) for kind, count in found["kinds"].items()}


def plug(dut: Dut, port: int, plugged: bool) -> None:
    """Plugs the NIC in, or unplugs it. The DUT is not told about a PCI card: its driver has to find out."""
    dut.rpc.call("plug", port=port, plugged=plugged)


def interface(port: int) -> str:
    """The DUT's interface name of the NIC at a port."""
    return INTERFACES[port]


def address(dut: Dut, port: int) -> str | None:
    """The interface's MAC address; None: there is no interface."""
    path = f"/sys/class/net/{interface(port)}/address"
    found = dut.read(path)[path]
    return None if found is None else found.strip()


def is_there(dut: Dut, port: int) -> bool:
    """Whether the DUT has the interface."""
    return address(dut, port) is not None


def state(dut: Dut, port: int) -> str:
    """What the DUT shows of a port at which no frames pass: a line of summary, then counters and registers."""
    name = interface(port)
    found = address(dut, port)
    if found is None:
        return f"{name}: there is no such interface"
    summary = [f"{name}: address {found}"]
    if found != dut_mac(port):
        summary.append(f"frames are sent to {dut_mac(port)}")
    paths = {what: f"/sys/class/net/{name}/{what}" for what in ("operstate", "flags", "carrier")}
    read = dut.read(*paths.values())
    summary += [f"{what} {(read[path] or 'not readable').strip()}" for what, path in paths.items()]
    said = dut.attempt("sh", "-c", _STATE.format(name=name))
    return ", ".join(summary) + "\n" + str(said["out"]).rstrip()


_STATE = (
    "grep -w {name} /proc/interrupts; ip -s link show dev {name}; ethtool -S {name} 2>/dev/null | grep -v ': 0$';"
    " ethtool -d {name} 2>/dev/null"
)
"""Works for every driver; registers where it shows them."""


def configure(dut: Dut, port: int, testbed: Testbed) -> bool:
    """Waits for the interface, sets its address and schemes, and brings it up; returns whether that succeeded."""
    name = interface(port)
    for _ in range(APPEARS_NS // STEP_NS):
        if is_there(dut, port):
            break
        dut.sleep(STEP_NS)
    else:
        return False
    try:
        dut.set_attributes(testbed.config.dut, name)
        schemes.apply(dut, testbed.config.dut.schemes, [name], testbed.driver)
    except (DutError, schemes.SchemeError, TesterError):
        return False
    dut.attempt("ip", "addr", "replace", f"{dut_ip(port)}/24", "dev", name)
    return bool(dut.attempt("ip", "link", "set", name, "up")["code"] == 0)


def take_from_driver(dut: Dut, port: int, testbed: Testbed) -> None:
    """Unplugs a USB NIC; unbinds the driver from a PCI card."""
    if testbed.nic.pci_bus:
        address = _pci_address(port, testbed)
        dut.attempt("sh", "-c", f"echo {address} >/sys/bus/pci/devices/{address}/driver/unbind")
    else:
        plug(dut, port, plugged=False)


def give_to_driver(dut: Dut, port: int, testbed: Testbed) -> None:
    """Plugs a USB NIC in; binds the driver to a PCI card."""
    if testbed.nic.pci_bus:
        dut.attempt("sh", "-c", f"echo {_pci_address(port, testbed)} >/sys/bus/pci/drivers_probe")
    else:
        plug(dut, port, plugged=True)


def _pci_address(port: int, testbed: Testbed) -> str:
    return f"0000:00:{testbed.nic.slots[port]:02x}.0"


def put_back(dut: Dut, port: int, testbed: Testbed) -> None:
    """Plugs in a NIC that was unplugged. A driver that still holds a PCI card is unbound and bound again."""
    plug(dut, port, plugged=True)
    if testbed.nic.pci_bus:
        take_from_driver(dut, port, testbed)
        give_to_driver(dut, port, testbed)


def replug(dut: Dut, port: int, testbed: Testbed) -> bool:
    """Replugs and configures the NIC; returns whether frames pass afterwards."""
    plug(dut, port, plugged=False)
    dut.sleep(SETTLES_NS)
    put_back(dut, port, testbed)
    dut.sleep(SETTLES_NS)
    return configure(dut, port, testbed) and dut.wait_forwarding() is not None


def require_hotplug(testbed: Testbed) -> None:
    """Raises IrqlabError if the testbed's NICs cannot be unplugged."""
    if not testbed.nic.usb_speed:
        raise IrqlabError(
            f"{testbed.nic.model}: only the tester's own USB NICs (lan7800) can be unplugged again and again, or suspended alone"
        )


def require_faults(testbed: Testbed) -> None:
    """Raises IrqlabError if no faults can be injected into the testbed's NICs."""
    if not testbed.nic.is_own:
        raise IrqlabError(f"{testbed.nic.model}: faults can be injected only into the tester's own NICs (lan7800, irqlab-...)")
