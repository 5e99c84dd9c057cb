# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared: the kernel's driver before the series and today, ours in the same two states, and the patches between."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from irqlab.config.costs import Costs
from irqlab.config.memory import Memory
from irqlab.config.placement import Placement
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig
from irqlab.reproduce.session import Session
from irqlab.setup import older_drivers
from irqlab.trials.iperf import IperfTrial
from irqlab.trials.testbed import Testbed

IN_TREE = "lan78xx"
BEFORE = "lan78xx_5_10"
"""The kernel's driver before the series (irqlab.setup.older_drivers), built for the DUT's kernel."""
NIC = "lan7800-superspeed"
"""The letter's boards have USB 3."""
USB2 = "lan7800"
"""The Raspberry Pi 3 B+ has a LAN7515, a LAN7800 behind a hub, on USB 2."""
SPEEDS = {"slow": 500, "fast": 1000}
"""In MIPS (docs/papers/lan78xx.md says why these)."""
PROCESSORS = 4
"""Of most of the letter's boards."""
OWN, KERNELS = "on a processor of its own", "where the kernel puts it"
"""Where iperf3 runs. The interrupts have processor 0."""
PLACED = {OWN: Placement(application=1), KERNELS: Placement()}
PATCHES = {
    2: "transmit: 10 URBs of 32 KiB, allocated once, instead of 4 of 9,000 bytes",
    3: "receive: 30 URBs of 32 KiB, allocated once, frames copied, a delay of 136 µs, instead of 4 of 12 KiB, clones, 34 µs",
    5: "no hard_header_len of its own, so GRO works",
    6: "NAPI in place of the tasklet",
}
"""The series' patches. Patches 1 and 4 change nothing that can be measured: a check of an allocation, a function's place."""
SWITCHES = {"tx_pool": 2, "rx_pool": 3, "gro": 5, "poll_resubmit": 6, "overflow_queue": 6}
"""Files of /sys/class/net/<interface>/irqmod_usb, and the patch that each belongs to. Patch 6 is also the receive scheme."""
ADAPTIVE, QUEUES = "adaptive_burst", "tx_queue"
DELAY_US = {False: 34, True: 136}
"""How long the chip waits for more frames, without patch 3 and with it (0x800 and 0x2000, in units of 1/60 µs)."""
ALL = frozenset(PATCHES)


@dataclass(frozen=True)
class Configuration:
    """A driver, and of ours the patches that are in force."""

    title: str
    patches: frozenset[int] = ALL
    adaptive: bool = False
    """The chip's burst cap follows the mean frame size: ours, not the series'."""
    queues: bool = False
    """Packets are queued and sent by the poll: the series', not ours."""
    driver: str | None = None
    """One of the kernel's; None: ours."""

    @property
    def key(self) -> str:
        """Its patches, as text."""
        return " ".join(map(str, sorted(self.patches)))

    def testbed(
        self,
        session: Session,
        mips: int,
        nic: str = NIC,
        memory: Memory | None = None,
        dut: DutConfig | None = None,
        cost_model: bool = False,
        modules: tuple[str, ...] = (),
        **processors: Any,
    ) -> Testbed:
        """On a board of that speed. `dut`, `cost_model`, `modules` and `processors` are for the kernel's drivers only."""
        nic = session.config.nic or nic
        if self.driver is not None:
            dut = dut or DutConfig()
            return session.testbed(
                driver=self.driver,
                nic=nic,
                mips=mips,
                memory=memory,
                dut=dut,
                cost_model=cost_model,
                modules=modules,
                **processors,
            )
        schemes = Schemes(rx="napi" if 6 in self.patches else "standard", rx_usecs=DELAY_US[3 in self.patches])
        files = [(f"irqmod_usb/{name}", str(int(patch in self.patches))) for name, patch in SWITCHES.items()]
        files.append((f"irqmod_usb/{ADAPTIVE}", str(int(self.adaptive))))
        if self.queues:
            files.append((f"irqmod_usb/{QUEUES}", "1"))
        return session.testbed(dut=DutConfig(schemes=schemes, attributes=tuple(files)), nic=nic, mips=mips, memory=memory)


DRIVERS = {
    "before": Configuration("lan78xx of Linux 5.10", driver=BEFORE),
    "in_tree": Configuration("in-tree lan78xx", driver=IN_TREE),
    "standard": Configuration("standard", frozenset()),
    "napi": Configuration("napi"),
    "ours": Configuration("napi, adaptive burst", adaptive=True),
}
"""Those that are compared throughout: the kernel's before the series and today's; ours before and after it, and as it comes."""
SERIES = {"series": Configuration("napi, sends as the series does", queues=True)}
"""Compared with napi where this matters: sending."""
PAIRS = {"kernel": ("before", "in_tree"), "ours": ("standard", "napi")}
"""Drivers before the series and after it."""
QUICK_DRIVERS = (*PAIRS["kernel"], "ours")
"""Those of a quick look."""


@dataclass(frozen=True)
class Condition:
    """Another condition for a UDP test than the tables have."""

    what: str
    test: str
    boards: tuple[str, ...] = ("slow",)
    rate_bps: int | None = None
    """0: the sender sends as fast as it can (iperf3 -b 0)."""
    costs: Costs | None = None
    gro: bool = True
    pauses: bool = False
    modules: tuple[str, ...] = ()
    """Modules to load besides the driver."""
    dut: DutConfig = field(default_factory=DutConfig)
    drivers: tuple[str, ...] = PAIRS["kernel"]

    def trial(self, test: IperfTrial) -> IperfTrial:
        """The test under this condition."""
        return replace(test, rate_bps=self.rate_bps, costs=self.costs, gro=self.gro, pauses=self.pauses)


def _sysctl(name: str, value: int) -> DutConfig:
    return DutConfig(sysctls=((name, str(value)),))


UDP_TX, UDP_RX = "UDP Tx", "UDP Rx"
AS_ABOVE = "as in the tables"
NO_RATE = "iperf3 -b 0"
MODERATED, MODERATION = "an xHCI interrupt in 40 µs", ("irqlab_xhci_imod",)
"""As Linux asks of the controller, and QEMU's does not do (drivers/xhci_imod)."""
THREAD = DutConfig(schemes=Schemes(napi_threads="on"))
AFTER = ("in_tree",)
CONDITIONS = (
    Condition(AS_ABOVE, UDP_TX, tuple(SPEEDS)),
    Condition(NO_RATE, UDP_TX, tuple(SPEEDS), rate_bps=0),
    Condition("an interrupt costs 5 µs", UDP_TX, ("fast",), costs=Costs(irq=5_000)),
    Condition(f"{NO_RATE}, an interrupt costs 5 µs", UDP_TX, ("fast",), rate_bps=0, costs=Costs(irq=5_000)),
    Condition(f"{NO_RATE}, an interrupt costs 20 µs", UDP_TX, ("fast",), rate_bps=0, costs=Costs(irq=20_000)),
    Condition("NAPI in a thread", UDP_TX, dut=THREAD, drivers=AFTER),
    Condition(MODERATED, UDP_TX, tuple(SPEEDS), modules=MODERATION),
    Condition(f"{NO_RATE}, {MODERATED}", UDP_TX, tuple(SPEEDS), rate_bps=0, modules=MODERATION),
    Condition(
        f"{NO_RATE}, {MODERATED}, an interrupt costs 5 µs",
        UDP_TX,
        ("fast",),
        rate_bps=0,
        costs=Costs(irq=5_000),
        modules=MODERATION,
    ),
    Condition(AS_ABOVE, UDP_RX),
    Condition("600 Mbit/s offered", UDP_RX, rate_bps=600_000_000),
    Condition("net.core.netdev_max_backlog 100000", UDP_RX, dut=_sysctl("net.core.netdev_max_backlog", 100_000)),
    Condition("GRO off", UDP_RX, gro=False, drivers=AFTER),
    Condition("net.core.gro_normal_batch 1", UDP_RX, dut=_sysctl("net.core.gro_normal_batch", 1), drivers=AFTER),
    Condition("NAPI in a thread", UDP_RX, dut=THREAD, drivers=AFTER),
    Condition("the link partner offers pause frames", UDP_RX, pauses=True),
)
"""Of the kernel's drivers. That before the series has neither NAPI nor GRO."""
WITH, WITHOUT, UP_TO = "with", "without", "up to"


def buildable(session: Session) -> dict[str, Configuration]:
    """Those of DRIVERS that there are for the DUT's kernel: an older kernel's can be built for some only. Raises SetupError."""
    release = session.kernel_release()
    older = {name: older_drivers.find(chosen.driver) for name, chosen in DRIVERS.items() if chosen.driver}
    return {name: chosen for name, chosen in DRIVERS.items() if not (found := older.get(name)) or found.builds_for(release)}


def looked_at(session: Session) -> dict[str, Configuration]:
    """Those of them that are measured throughout."""
    return {name: chosen for name, chosen in buildable(session).items() if not session.quick or name in QUICK_DRIVERS}


def steps() -> dict[tuple[str, int], tuple[Configuration, Configuration]]:
    """Our driver without a patch and with it, by (how, patch): left out of napi, added to standard, and in the series' order."""
    found, before = {}, DRIVERS["standard"]
    for patch in PATCHES:
        found[WITHOUT, patch] = (Configuration(f"napi without patch {patch}", ALL - {patch}), DRIVERS["napi"])
        found[WITH, patch] = (DRIVERS["standard"], Configuration(f"standard with patch {patch}", frozenset({patch})))
        after = Configuration(f"standard with the patches up to {patch}", frozenset(p for p in PATCHES if p <= patch))
        found[UP_TO, patch] = (before, after)
        before = after
    return found
