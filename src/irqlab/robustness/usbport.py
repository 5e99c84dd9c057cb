# SPDX-License-Identifier: GPL-2.0-or-later
"""A USB NIC of the tester's: its plug, its faults, and the DUT set up on it again after it was plugged in."""

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
"""What of the NIC's answers can be damaged: bulk IN transfers, replies to control requests, interrupt statuses, bulk OUT."""


@dataclass(frozen=True)
class FaultPlan:
    """Which of a NIC's answers to the host are damaged."""

    seed: int
    permille: int
    """How many of a thousand."""
    only: str | None = None
    """Of KINDS; None: of all."""
    trailing_fragments: bool = True
    """Transfers may end in the beginning of one more frame."""


def inject_faults(dut: Dut, port: int, plan: FaultPlan | None) -> dict[str, int]:
    """Damages the answers of the NIC at `port` from now on; None: no more. Returns what was damaged until now, by kind."""
    wanted: dict[str, Any] = {"seed": None, "permille": 0}
    if plan is not None:
        wanted = {"seed": plan.seed, "permille": plan.permille, "only": plan.only, "stubs": plan.trailing_fragments}
    found = dut.rpc.call("hostile", port=port, **wanted)
    return {kind: int(found["kinds"][kind]) for kind in KINDS}


def plug(dut: Dut, port: int, plugged: bool) -> None:
    """Plugs the NIC in, or unplugs it."""
    dut.rpc.call("plug", port=port, plugged=plugged)


def interface(port: int) -> str:
    """The DUT's name of the NIC at a port."""
    return INTERFACES[port]


def is_there(dut: Dut, port: int) -> bool:
    """Whether the DUT has the interface."""
    path = f"/sys/class/net/{interface(port)}/address"
    return dut.read(path)[path] is not None


def configure(dut: Dut, port: int, testbed: Testbed) -> bool:
    """Waits for the interface, gives it its address and schemes, and sets it up; whether all that was possible."""
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
    """Unplugs the NIC, plugs it in, configures it; whether frames pass then."""
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
