# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic while something is done to the interfaces, and what has to be so afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable

from irqlab.check.row import Tally
from irqlab.config.addresses import INTERFACES, stream
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError

NEGOTIATED = re.compile(r"^\t(MDI-X|Link partner [^:]*|Master/slave status|SQI): .*\n(\t[ \t]+.*\n)*", re.MULTILINE)
"""What ethtool shows of the last negotiation, which may end differently the next time."""
RATE_PPS = 4_000.0
LINK_NS, LINK_TRIES, LINK_STEP_NS = 2_500_000_000, 50, 100_000_000
CALM, CALM_PPS = 64, 2_000.0
"""Frames that have to pass afterwards, in each direction, and their rate."""
SETTLE_NS = 50_000_000


def during(dut: Dut, change: Callable[[], object], lasts_ns: int, rate_pps: float = RATE_PPS) -> None:
    """Frames of several sizes come both ways while `change` is done. An error of it is raised when the traffic has ended."""
    errors: list[IrqlabError] = []

    def meanwhile(_: int) -> None:
        dut.sleep(SETTLE_NS)
        try:
            change()
        except IrqlabError as error:
            errors.append(error)

    size = {"kind": "imix", "mix": [[64, 7], [594, 4], [1518, 1]]}
    streams = [stream(p, 1 - p, {"kind": "constant", "rate_pps": rate_pps}, size) for p in (0, 1)]
    dut.run_trial({"warmup_ns": 0, "duration_ns": lasts_ns, "drain_ns": 1_000_000}, streams, meanwhile)
    if errors:
        raise errors[0]


def passes(dut: Dut, tally: Tally, when: str) -> bool:
    """Whether frames pass again both ways, and then none is lost at a calm rate.

    Without the instruction clock a frame takes as long as the host likes: the rate is lower, and frames are waited for longer.
    """
    waited_ns = dut.wait_forwarding()
    if not tally.expect(waited_ns is not None, f"{when}: no frames pass any more"):
        return False
    size = {"kind": "fixed", "frame_bytes": 594}
    calm = {"kind": "constant", "rate_pps": CALM_PPS / dut.slower}
    streams = [stream(p, 1 - p, calm, size) | {"count": CALM} for p in (0, 1)]
    lasts_ns = round(1.2e9 * CALM / CALM_PPS)
    trial = {"warmup_ns": 0, "duration_ns": lasts_ns * dut.slower, "drain_ns": SETTLE_NS * dut.slower}
    found = dut.run_trial(trial, streams)
    lost = sum(one["lost"] for one in found["streams"])
    return tally.expect(not lost, f"{when}: {lost} of {2 * CALM} frames were lost at a calm rate")


def state(dut: Dut, interface: str = INTERFACES[0]) -> dict[str, str]:
    """What is shown of an interface and should be as before: its settings, not its counters.

    A link that is lost may be noticed late, and comes back.
    """
    dut.sleep(LINK_NS)
    carrier = f"/sys/class/net/{interface}/carrier"
    for _ in range(LINK_TRIES):
        if (dut.read(carrier)[carrier] or "").strip() == "1":
            break
        dut.sleep(LINK_STEP_NS)
    shown = {}
    for option in ("-k", "-g", "-c", "-l", "-a", "-i", "--show-priv-flags", ""):
        done = dut.attempt("ethtool", *([option] if option else []), interface)
        text = done["out"] if not done["code"] else done["err"]
        shown[f"ethtool {option}".strip()] = NEGOTIATED.sub("", text)
    link = dut.run("ip", "-d", "link", "show", interface).split("\n", 1)[0]
    # A driver that never reports that the carrier is off is in state UNKNOWN, with a carrier.
    shown["ip link"] = link.split(": ", 1)[1].replace("state UNKNOWN", "state UP")
    home = f"/sys/class/net/{interface}"
    names = ("address", "mtu", "tx_queue_len", "flags", "carrier", "type", "addr_len")
    files = dut.read(*(f"{home}/{name}" for name in names))
    return shown | {f"sysfs {name}": (files[f"{home}/{name}"] or "").strip() for name in names}


def same(tally: Tally, before: dict[str, str], after: dict[str, str], when: str) -> None:
    """Compares two states."""
    for name, text in before.items():
        old, new = text.splitlines(), after.get(name, "").splitlines()
        changed = next(((a, b) for a, b in zip(old, new, strict=False) if a != b), None)
        tally.expect(changed is None and len(old) == len(new), f"{when}: {name} differs: {changed or (len(old), len(new))}")
