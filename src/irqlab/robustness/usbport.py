# SPDX-License-Identifier: GPL-2.0-or-later
"""A USB NIC of the tester's that is unplugged and plugged in again: making the DUT a router on it anew."""

from __future__ import annotations

from irqlab.config.addresses import INTERFACES, PORTS, dut_ip, stream
from irqlab.dut import schemes
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.trials.testbed import Testbed

STEP_NS = 50_000_000
APPEARS_NS = 5_000_000_000
PASSES_NS = 15_000_000_000
IN_A_ROW = 3


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
    except IrqlabError:
        return False
    dut.attempt("ip", "addr", "replace", f"{dut_ip(port)}/24", "dev", name)
    return bool(dut.attempt("ip", "link", "set", name, "up")["code"] == 0)


def again(dut: Dut, port: int, testbed: Testbed) -> bool:
    """Unplugs the NIC, plugs it in, configures it; whether frames pass then."""
    for plugged in (False, True):
        dut.rpc.call("plug", port=port, plugged=plugged)
        dut.sleep(500_000_000)
    return configure(dut, port, testbed) and passes(dut, PASSES_NS)


def passes(dut: Dut, limit_ns: int) -> bool:
    """Whether the DUT forwards both ways, some frames in a row, before the limit is over."""
    one, size = {"kind": "constant", "rate_pps": 1000.0}, {"kind": "fixed", "frame_bytes": 64}
    streams = [{**stream(p, 1 - p, one, size), "count": 1} for p in range(PORTS)]
    began_ns = int(dut.rpc.call("clock")["now_ns"])
    in_a_row = 0
    while in_a_row < IN_A_ROW:
        result = dut.run_trial({"warmup_ns": 0, "duration_ns": 1_000_000, "drain_ns": 20_000_000}, streams)
        in_a_row = in_a_row + 1 if all(s["received"] == 1 for s in result["streams"]) else 0
        if int(dut.rpc.call("clock")["now_ns"]) - began_ns > limit_ns:
            return False
        if not in_a_row:
            dut.sleep(STEP_NS)
    return True


def need(testbed: Testbed) -> None:
    """Raises IrqlabError if the bed's NICs cannot be unplugged."""
    if not testbed.nic.usb_speed:
        raise IrqlabError(f"{testbed.nic.model}: only the tester's own USB NICs (lan7800) can be unplugged, or mean ill")
