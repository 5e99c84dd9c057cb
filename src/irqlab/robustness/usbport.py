# SPDX-License-Identifier: GPL-2.0-or-later
"""Controls a USB NIC of the tester: hotplug, fault injection, and reconfiguration of the DUT after a replug."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irqlab.config.addresses import INTERFACES, dut_ip
from irqlab.dut import schemes
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError
from irqlab.trials.testbed import Testbed

STEP_NS = 50_000_000
APPEARS_NS = 5_000_000_000
SETTLES_NS = 500_000_000
KINDS = ("transfers", "replies", "statuses", "refusals")
"""Kinds of faults: in bulk IN transfers, replies to control requests, and interrupt statuses; refused bulk OUT."""


@dataclass(frozen=True)
class FaultPlan:
    """Which of a NIC's responses are corrupted."""

    seed: int
    permille: int
    """Share of responses that are corrupted, in 1/1000."""
    only: str | None = None
    """One of KINDS; None: all kinds."""
    trailing_fragments: bool = True
    """Transfers may end with the start of another frame."""


def inject_faults(dut: Dut, port: int, plan: FaultPlan | None) -> dict[str, int]:
    """Starts injecting faults at `port`; None: stops. Returns the number of faults injected so far, by kind."""
    wanted: dict[str, Any] = {"seed": None, "permille": 0}
    if plan is not None:
        wanted = {"seed": plan.seed, "permille": plan.permille, "only": plan.only, "stubs": plan.trailing_fragments}
    found = dut.rpc.call("hostile", port=port, **wanted)
    return {kind: int(found["kinds"][kind]) for kind in KINDS}


def plug(dut: Dut, port: int, plugged: bool) -> None:
    """Plugs the NIC in, or unplugs it."""
    dut.rpc.call("plug", port=port, plugged=plugged)


def interface(port: int) -> str:
    """The DUT's interface name of the NIC at a port."""
    return INTERFACES[port]


def is_there(dut: Dut, port: int) -> bool:
    """Whether the DUT has the interface."""
    path = f"/sys/class/net/{interface(port)}/address"
    return dut.read(path)[path] is not None


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


def replug(dut: Dut, port: int, testbed: Testbed) -> bool:
    """Replugs and configures the NIC; returns whether frames pass afterwards."""
    for plugged in (False, True):
        plug(dut, port, plugged)
        dut.sleep(SETTLES_NS)
    return configure(dut, port, testbed) and dut.wait_forwarding() is not None


def require_hotplug(testbed: Testbed) -> None:
    """Raises IrqlabError if the testbed's NICs cannot be unplugged."""
    if not testbed.nic.usb_speed:
        raise IrqlabError(
            f"{testbed.nic.model}: only the tester's own USB NICs (lan7800) can be unplugged, or have faults injected"
        )
