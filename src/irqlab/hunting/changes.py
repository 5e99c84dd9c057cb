# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of an interface while frames arrive: what the DUT's agent does in every pair, and how long a pair takes.

A change is undone in the same pair. The sysfs file `flags` sets an interface up and down without a new process.

The kernel forgets a neighbour when its link goes down, and holds frames while it asks for the address. So it is told to ask only
once, for 4 ms. What comes out later was held by the driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from irqlab.config.addresses import INTERFACES, dut_ip
from irqlab.config.schemes import Combination
from irqlab.trials.hunt import Step
from irqlab.trials.testbed import Testbed

UP, DOWN, PROMISCUOUS = "0x1003", "0x1002", "0x1103"
"""IFF_UP, IFF_BROADCAST, IFF_PROMISC, IFF_MULTICAST (include/uapi/linux/if.h)."""
MS = 1_000_000
LINK_NS = 5_500 * MS
"""Long enough for a link to come up: models negotiate for up to 1.6 s, drivers look at the link every two seconds, and the kernel
takes notice of a carrier at most once a second (net/core/link_watch.c)."""


LOSES, WAITS = ("lost",), ("late",)
"""What may happen to frames meanwhile: while an interface is down they are lost; another scheme may let them wait on purpose."""


@dataclass(frozen=True)
class Change:
    """A change, and the way back."""

    name: str
    steps: tuple[Step, ...]
    period_ns: int
    tolerates: tuple[str, ...]
    """What may happen to frames meanwhile (HuntTrial.tolerates)."""
    before: tuple[Step, ...] = ()


def changes(testbed: Testbed, kind: str, interface: str) -> Iterator[Change]:
    """The changes of a kind that this interface may know."""
    asks_once = tuple(
        Step(0, f"/proc/sys/net/ipv4/neigh/{name}/{setting}", value)
        for name in (*INTERFACES, "default")
        for setting, value in (("mcast_solicit", "1"), ("retrans_time_ms", "4"))
    )
    for change in _changes(testbed, kind, interface):
        # What such a NIC model delivers late is not the driver's.
        late = WAITS if testbed.nic.keeps_frames and change.tolerates == LOSES else ()
        yield replace(change, before=(*asks_once, *change.before), tolerates=(*change.tolerates, *late))


def _changes(testbed: Testbed, kind: str, interface: str) -> Iterator[Change]:
    running: dict[str, Any] = testbed.prepared.facts["running"]
    home = f"/sys/class/net/{interface}"
    flags = f"{home}/flags"
    if kind in ("rx-scheme", "tx-scheme"):
        yield from _schemes(testbed, running["schemes"], kind, home)
    elif kind == "down-up":
        yield Change(kind, (Step(0, flags, DOWN), Step(20 * MS, flags, UP)), LINK_NS, LOSES)
    elif kind == "ring" and running["ring_rx"]:
        now = str(running["ring_rx"]), str(running["ring_tx"])
        # Drivers built on irqmod keep tx-frames at half the ring or less; until 0f0d3320 one refused smaller rings.
        least = 2 * ((running["schemes"] or {}).get("tx_frames") or 0)
        other = str(running["ring_rx"] // 2), str(max(running["ring_tx"] // 2, least))
        steps = tuple(
            Step(at_ns, argv=("ethtool", "-G", interface, "rx", rx, "tx", tx))
            for at_ns, (rx, tx) in ((0, other), (LINK_NS // 2, now))
        )
        yield Change(kind, steps, LINK_NS, LOSES)
    elif kind == "mtu":
        yield Change(kind, (Step(0, f"{home}/mtu", "1400"), Step(LINK_NS // 2, f"{home}/mtu", "1500")), LINK_NS, LOSES)
    elif kind == "promisc":
        yield Change(kind, (Step(0, flags, PROMISCUOUS), Step(40 * MS, flags, UP)), 100 * MS, ())
    elif kind == "negotiate":
        yield Change(kind, (Step(0, argv=("ethtool", "-r", interface)),), LINK_NS, LOSES)
    elif kind == "suspend":
        before = (Step(0, "/sys/power/pm_test", "devices"), Step(0, "/sys/module/suspend/parameters/pm_test_delay", "0"))
        yield Change(kind, (Step(0, "/sys/power/state", "mem"),), LINK_NS, LOSES, before)
    elif kind == "unbind" and testbed.nic.usb_speed == "":
        yield _unbind(testbed, interface)


def _schemes(testbed: Testbed, schemes: dict[str, Any] | None, kind: str, home: str) -> Iterator[Change]:
    """From the scheme in force to each other one that goes with the other direction's, and back."""
    if schemes is None:
        return
    side = kind.removesuffix("-scheme")
    now, path = Combination(schemes["rx"], schemes["tx"]), f"{home}/irqmod/{side}_scheme"
    for known in testbed.nic.combinations:
        other = getattr(known, side)
        if known != now and known == replace(now, **{side: other}):
            steps = (Step(0, path, other), Step(50 * MS, path, getattr(now, side)))
            yield Change(f"{kind} {other}", steps, 120 * MS, WAITS)


def _unbind(testbed: Testbed, interface: str) -> Change:
    port = INTERFACES.index(interface)
    # The slots of the pc machine's only bus (irqlab.setup.nics).
    device, driver = f"0000:00:{testbed.nic.slots[port]:02x}.0", f"/sys/bus/pci/drivers/{testbed.driver}"
    again = 100 * MS
    steps = (
        Step(0, f"{driver}/unbind", device),
        Step(20 * MS, f"{driver}/bind", device),
        Step(again, argv=("ip", "addr", "add", f"{dut_ip(port)}/24", "dev", interface)),
        Step(again, argv=("ip", "link", "set", interface, "up")),
    )
    return Change("unbind", steps, LINK_NS + again, LOSES)
