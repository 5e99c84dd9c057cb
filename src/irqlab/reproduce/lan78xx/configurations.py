# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared: the kernel's driver as it is today, ours as it was before the series, and after it, and the steps between."""

from __future__ import annotations

from dataclasses import dataclass

from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig
from irqlab.reproduce.session import Session
from irqlab.trials.testbed import Testbed

IN_TREE = "lan78xx"
NIC = "lan7800-superspeed"
"""The letter's boards have USB 3."""
SPEEDS = {"slow": 500, "fast": 1000}
"""In MIPS (docs/lan78xx.md says why these)."""
SWITCHES = {"b": "urb_pools", "c": "tx_packing", "d": "poll_resubmit", "e": "overflow_queue", "f": "gro"}
"""The series' measures as files of /sys/class/net/<interface>/irqmod_usb; (a) is the receive scheme."""
ADAPTIVE = "adaptive_burst"
MEASURES = {
    "a": "NAPI in place of the tasklet",
    "b": "pools of URB buffers",
    "c": "transmit URBs filled with several packets",
    "d": "receive URBs resubmitted in the poll",
    "e": "overflow queue beyond the budget",
    "f": "no hard_header_len of its own, so GRO works",
}
ALL = frozenset(MEASURES)


@dataclass(frozen=True)
class Configuration:
    """A driver, and of ours the measures that are in force."""

    title: str
    measures: frozenset[str] | None = ALL
    """None: the kernel's driver."""
    adaptive: bool = False
    """The chip's burst cap follows the mean frame size: ours, not the series'."""

    def testbed(self, session: Session, mips: int) -> Testbed:
        """On a board of that speed."""
        nic = session.config.nic or NIC
        if self.measures is None:
            return session.testbed(driver=IN_TREE, nic=nic, mips=mips, dut=DutConfig())
        rx = "napi" if "a" in self.measures else "standard"
        files = [(f"irqmod_usb/{name}", str(int(key in self.measures))) for key, name in SWITCHES.items()]
        files.append((f"irqmod_usb/{ADAPTIVE}", str(int(self.adaptive))))
        return session.testbed(dut=DutConfig(schemes=Schemes(rx=rx), attributes=tuple(files)), nic=nic, mips=mips)


DRIVERS = {
    "in_tree": Configuration("in-tree lan78xx", None),
    "standard": Configuration("standard", frozenset()),
    "napi": Configuration("napi"),
    "ours": Configuration("napi, adaptive burst", adaptive=True),
}
"""Those that are compared throughout: today's, before and after the series, and ours as it comes."""


def steps() -> dict[tuple[str, str], Configuration]:
    """Each measure alone left out of napi, and alone added to standard: by ("without" or "with", measure)."""
    return {
        **{("without", key): Configuration(f"napi without ({key})", ALL - {key}) for key in MEASURES},
        **{("with", key): Configuration(f"standard with ({key})", frozenset(key)) for key in MEASURES},
    }
