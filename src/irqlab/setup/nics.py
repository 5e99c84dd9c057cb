# SPDX-License-Identifier: GPL-2.0-or-later
"""The NIC models: QEMU's PCI NICs, and the tester's own PCI and USB NICs.

PCI IDs are as reported by ``info pci`` on QEMU 7.2 and 10.0. A driver's aliases, such as
``pci:v00008086d0000100Esv*sd*bc*sc*i*``, are shell patterns for the modalias of a device
(drivers/pci/pci-sysfs.c, modalias_show); depmod and udev match them likewise.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from irqlab.config import engine
from irqlab.config.schemes import COMBINATIONS, MODERATED_COMBINATIONS, USB_COMBINATIONS, Combination
from irqlab.setup import SetupError, drivers
from irqlab.setup.modules import Module
from irqlab.setup.qemu import Qemu


@dataclass(frozen=True)
class Nic:
    """A NIC model. `line_rate_bps` is the line rate of the real NIC; QEMU has no limit."""

    model: str
    vendor: int
    device: int
    line_rate_bps: int
    driver: str
    """Its in-tree driver."""
    subsystem: tuple[int, int] = (0x1AF4, 0x1100)
    properties: tuple[str, ...] = ()
    """Further ``key=value`` for QEMU's ``-device``; ``choose`` drops those that this QEMU does not support."""
    also: tuple[str, ...] = ()
    """Modaliases of further devices that it provides."""
    needs: tuple[str, ...] = ()
    """Modules that its drivers need without declaring it (``modules.load_all``)."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Drivers that match it but cannot be measured on it, with the reason."""
    slots: tuple[int, ...] = (4, 5)
    """PCI slots of the two NICs, routed to different interrupt lines of the pc machine."""
    usb_speed: str = ""
    """The tester's own LAN7800 (plugin/src/usb/nic.rs), at this speed: "high" or "super"."""
    pci_bus: str = ""
    """One of the tester's own PCI cards (plugin/src/pci/kinds.rs), on a bus of this clock (MHz) and width (bits).
    A PCI Express card has a link of its own instead (tester/src/pci/link.rs)."""
    possible_errata: tuple[str, ...] = ()
    """Defects of the chip that the tester's own card can have (`--nic MODEL+ERRATUM`)."""
    errata: tuple[str, ...] = ()
    """Those that it has."""
    rewinds: bool = False
    """A QEMU with this NIC can be reused: after reset and restore, the model has no old state (tests/e2e/test_rewind.py)."""
    moderates: bool = False
    """The chip moderates its interrupts, and our driver for it can have it do so."""
    qemu: str | None = None
    """The release of QEMU that it needs; None: any."""
    wrong: Mapping[str, str] = field(default_factory=dict)
    """Rows of `irqlab check` that say nothing about drivers on it -> what QEMU's model does wrong."""
    keeps_frames: bool = False
    """QEMU keeps a frame that comes while the receiver is stopped, and delivers it when it starts: the model returns 0."""
    note: str = ""

    @property
    def device_type(self) -> str:
        """The QEMU device type it needs."""
        if self.pci_bus:
            return MEASURED_CLASS
        return XHCI if self.usb_speed else self.model

    @property
    def card(self) -> str:
        """The tester's own PCI card, without its errata."""
        return self.model.partition("+")[0]

    @property
    def is_own(self) -> bool:
        """Whether it is the tester's own, and not QEMU's."""
        return bool(self.usb_speed or self.pci_bus)

    @property
    def capabilities(self) -> set[str]:
        """What our driver for it can do (irqmod.h)."""
        if self.usb_speed:
            return {engine.TRANSFERS}
        return {engine.MASK, engine.MODERATION} if self.moderates else {engine.MASK}

    @property
    def combinations(self) -> tuple[Combination, ...]:
        """The combinations of schemes that our driver for it has."""
        if self.usb_speed:
            return USB_COMBINATIONS
        return MODERATED_COMBINATIONS if self.moderates else COMBINATIONS

    @property
    def timing(self) -> str:
        """What is known to be wrong with the timing of QEMU's model; empty for the tester's own."""
        return "" if self.is_own else f"{_AT_ONCE} {_TIMERS.get(self.model, '')}".rstrip()

    @property
    def modaliases(self) -> tuple[str, ...]:
        """The modaliases that the kernel reports for it."""
        if self.usb_speed:
            return (f"usb:v{self.vendor:04X}p{self.device:04X}d0300dcFFdsc00dpFFicFFisc00ipFFin00",)
        subvendor, subdevice = self.subsystem
        pci = f"pci:v{self.vendor:08X}d{self.device:08X}sv{subvendor:08X}sd{subdevice:08X}bc02sc00i00"
        return (pci, *self.also)

    def claimed_by(self, module: Module) -> bool:
        """Whether the module's aliases match this NIC."""
        return any(fnmatchcase(mine, alias) for alias in module.aliases for mine in self.modaliases)

    def on(self, qemu: Qemu) -> "Nic":
        """The NIC with only the properties that this QEMU supports."""
        if self.is_own:
            return self
        known = qemu.properties(self.model)
        return replace(self, properties=tuple(text for text in self.properties if text.partition("=")[0] in known))


def _i8255x(model: str, device: int, note: str = "", subsystem: tuple[int, int] = (0x1AF4, 0x1100)) -> Nic:
    return Nic(model, 0x8086, device, 100_000_000, "e100", subsystem, rewinds=True, note=note)


def _own(model: str, note: str) -> Nic:
    text = f"{note} The tester's own model, with time on bus and wire (docs/inside/i82559-model.md)."
    return Nic(
        model,
        0x8086,
        0x1229,
        100_000_000,
        "e100",
        (0x8086, 0x000C),
        pci_bus="33:32",
        possible_errata=("resume-hang", "lost-rnr", "slow-scb"),
        rewinds=True,
        note=text,
    )


def _own_rtl8139() -> Nic:
    text = "RTL8139C+. The tester's own model, with time on bus and wire (docs/inside/rtl8139-model.md)."
    return Nic(
        "irqlab-8139cp", 0x10EC, 0x8139, 100_000_000, "8139cp", (0x10EC, 0x8139),
        refuses={"8139too": "it leaves the RTL8139C+ (revision 0x20) to 8139cp"},
        pci_bus="33:32", possible_errata=("lost-poll", "phy-off"), rewinds=True, note=text,
    )  # fmt: skip


BUSES = ("33:32", "33:64", "66:32", "66:64")
"""Buses of the tester's own PCI cards: the clock in MHz and the width in bits."""
OWN_CARDS = ("irqlab-82559", "irqlab-8139cp", "irqlab-82574")
"""Those of the tester's own PCI cards on which drivers are checked and hunted if no NIC is asked for."""
XHCI = "qemu-xhci"
MEASURED_CLASS = "i82557b"
"""The device type of QEMU's that the tester takes the layout of PCI devices from."""
_AT_ONCE = (
    "QEMU's model transmits in no time: a frame has left, and its descriptor is free, before the write to the doorbell returns. "
    "Its bus takes no time, and it has no FIFO."
)
_TIMERS = {
    "e1000": "With mitigation, it never interrupts sooner than 128 us after the last interrupt.",
    "e1000-82545em": "With mitigation, it never interrupts sooner than 128 us after the last interrupt.",
    "e1000-82544gc": "With mitigation, it never interrupts sooner than 128 us after the last interrupt.",
    "e1000e": "Its moderation timers expire spuriously, and are not armed again where they should be.",
    "igb": "Its moderation intervals (EITR) are 4.1 times too long.",
}
"""What moderation timers do in QEMU 10.0, where they exist."""
_USB_NEEDS = ("xhci_pci", "microchip")
_E100 = "The in-tree e100 loses frames on it at any load: QEMU emulates only the 82557 well enough for it."
_GIGABIT = 1_000_000_000
_NO_FLOOR = ("mitigation=off",)
_FLOOR = "QEMU limits it to 7,813 interrupts a second; mitigation=off lifts that where QEMU has it (7.2, not 10.0)."

_E1000 = {"races-promisc": "the model receives nothing for a second after its receive mode is written"}
_TULIP = {"frames-filters": "groups beyond the fourteenth are filtered by a hash, which the model seems to lack"}
_SEGMENTS = "the model sends TCP segments with wrong checksums"
_VMXNET3 = {
    "frames-segments": _SEGMENTS,
    "frames-vlan-segments": _SEGMENTS,
    "frames-address": "the model has its first address again when it is activated",
    "frames-jumbo": "without LRO the model has one buffer for a frame (max_rx_frags), so that those above 3 KB are lost",
    "numbers-kept": "the model's counters are 0 again when it is activated",
    "ring-sockets": _SEGMENTS,
}

TABLE: tuple[Nic, ...] = (
    Nic(
        "rtl8139", 0x10EC, 0x8139, 100_000_000, "8139cp",
        refuses={"8139too": "QEMU's NIC is an RTL8139C+ (revision 0x20), which 8139too leaves to 8139cp"},
        rewinds=True, note="RTL8139C+; rings of 64. IntrMitigate and the check of received checksums are not emulated.",
    ),
    _i8255x("i82557b", 0x1229, "Interrupt causes masked one by one; no interrupt moderation."),
    _i8255x("i82559er", 0x1209, f"The embedded one. {_E100}"),
    _i8255x("i82551", 0x1209, "The in-tree e100 needs firmware for it, from Debian's non-free."),
    _i8255x("i82550", 0x1209, _E100),
    _i8255x("i82557a", 0x1229),
    _i8255x("i82557c", 0x1229),
    _i8255x("i82558a", 0x1229, _E100),
    _i8255x("i82558b", 0x1229, _E100),
    _i8255x("i82559a", 0x1229, _E100),
    _i8255x("i82559b", 0x1229, _E100),
    _i8255x("i82559c", 0x1229, _E100, subsystem=(0x8086, 0x0040)),
    _i8255x("i82562", 0x1209, _E100),
    _i8255x("i82801", 0x2449, _E100),
    _own("irqlab-82557", "82557: no masks of single causes, so irqmod_i8255x refuses it."),
    _own("irqlab-82558", "82558."),
    _own("irqlab-82559", "82559. The in-tree e100 wants to load firmware, from Debian's non-free; it works without."),
    _own("irqlab-82551", "82551 (E)."),
    _own_rtl8139(),
    Nic(
        "e1000", 0x8086, 0x100E, _GIGABIT, "e1000", properties=_NO_FLOOR,
        rewinds=True, keeps_frames=True, wrong=_E1000, note=f"82540EM. {_FLOOR}",
    ),
    Nic(
        "e1000-82545em", 0x8086, 0x100F, _GIGABIT, "e1000", properties=_NO_FLOOR,
        rewinds=True, keeps_frames=True, wrong=_E1000, note=_FLOOR,
    ),
    Nic(
        "e1000-82544gc", 0x8086, 0x100C, _GIGABIT, "e1000", properties=_NO_FLOOR,
        rewinds=True, keeps_frames=True, wrong=_E1000, note=_FLOOR,
    ),
    Nic(
        "e1000e", 0x8086, 0x10D3, _GIGABIT, "e1000e", (0x8086, 0x0000), moderates=True, note="82574L.",
        refuses={"irqmod_i82574": "QEMU masks a cause when it clears it (EIAC), also without CTRL_EXT.EIAME"},
    ),
    Nic(
        "irqlab-82574", 0x8086, 0x10D3, _GIGABIT, "e1000e", (0x8086, 0x0000), pci_bus="33:32", rewinds=True,
        moderates=True, note="82574L. The tester's own model, with time on PCI Express and wire (docs/inside/i82574-model.md).",
    ),
    Nic(
        "igb", 0x8086, 0x10C9, _GIGABIT, "igb",
        slots=(4, 6),  # its virtual functions lie 16 to 18 slots above it, and must not meet the other one's
        rewinds=True, qemu="10.0", note="82576; QEMU 8.0 and later.",
    ),
    Nic(
        "tulip", 0x1011, 0x0019, 100_000_000, "tulip", (0x103C, 0x104F),
        rewinds=True, keeps_frames=True, wrong=_TULIP, note="DEC 21143.",
    ),
    Nic("pcnet", 0x1022, 0x2000, 10_000_000, "pcnet32", (0, 0), rewinds=True, note="Am79C970A (PCnet-PCI II), a 10 Mbit/s card."),
    Nic("ne2k_pci", 0x10EC, 0x8029, 10_000_000, "ne2k_pci", rewinds=True, note="RTL8029, a 10 Mbit/s card without DMA."),
    Nic(
        "virtio-net-pci", 0x1AF4, 0x1000, 10 * _GIGABIT, "virtio_net", (0x1AF4, 0x0001),
        also=("virtio:d00000001v00001AF4",), needs=("virtio_pci",),
        refuses={"virtio_net": "QEMU completes virtio requests in host time, so results are not reproducible"},
        note="Has no hardware counterpart; the line rate is a convention.",
    ),
    Nic(
        "lan7800", 0x0424, 0x7800, _GIGABIT, "lan78xx", needs=_USB_NEEDS, usb_speed="high", rewinds=True,
        note="USB 2.0; the tester's own model (docs/inside/lan7800-model.md).",
    ),
    Nic(
        "lan7800-superspeed", 0x0424, 0x7800, _GIGABIT, "lan78xx", needs=_USB_NEEDS, usb_speed="super", rewinds=True,
        note="USB 3.0; the tester's own model (docs/inside/lan7800-model.md).",
    ),
    Nic(
        "vmxnet3", 0x15AD, 0x07B0, 10 * _GIGABIT, "vmxnet3", (0x15AD, 0x07B0), rewinds=True, wrong=_VMXNET3,
    ),
)  # fmt: skip


def supported(qemu: Qemu) -> list[Nic]:
    """The NIC models that this QEMU supports."""
    return [nic for nic in TABLE if nic.device_type in qemu.devices()]


_DRIVES = re.compile(r'^IRQMOD_DRIVES\("([^"]+)"\)', re.MULTILINE)


def our_driver(model: str) -> str | None:
    """Our driver for a NIC model; None: there is no such model, or no driver."""
    nic = next((nic for nic in TABLE if nic.model == model.partition("+")[0]), None)
    if nic is None:
        return None
    for source in drivers.sources():
        for file in (drivers.home() / source.directory).glob("*.c"):
            aliases = _DRIVES.findall(file.read_text())
            if any(fnmatchcase(mine, alias) for alias in aliases for mine in nic.modaliases):
                return source.module
    return None


def needed_qemu(module: Module, requested: str | None) -> str | None:
    """The release of QEMU that the NIC for a driver needs; None: any, or there is no such NIC."""
    fits = [nic for nic in TABLE if nic.model == requested or (requested is None and nic.claimed_by(module))]
    return fits[0].qemu if fits else None


def own_card(module: Module) -> Nic | None:
    """The tester's own PCI card for a driver; None: there is none. Its bus and its wire take time, so more can be tried on it."""
    return next(
        (nic for nic in TABLE if nic.model in OWN_CARDS and nic.claimed_by(module) and module.name not in nic.refuses), None
    )


def choose(module: Module, requested: str | None, qemu: Qemu, bus: str | None = None) -> Nic:
    """The NIC for a driver: the requested one, else the first in the table that the driver matches. `bus`: as `Nic.pci_bus`."""
    chosen = _requested(module, requested, qemu) if requested is not None else _first(module, qemu)
    if bus is None:
        return chosen
    if bus not in BUSES:
        raise SetupError(f"--bus {bus}: allowed are {', '.join(BUSES)} (clock in MHz, width in bits)")
    if not chosen.pci_bus:
        raise SetupError(f"--bus: the bus of {chosen.model} takes no time; --bus is for the tester's own PCI cards (irqlab-...)")
    return replace(chosen, pci_bus=bus)


def _first(module: Module, qemu: Qemu) -> Nic:
    claimed = [nic for nic in TABLE if nic.claimed_by(module)]
    if not claimed:
        raise SetupError(f"{module.name} supports none of QEMU's NIC models; allowed are:\n{_list(TABLE)}")
    taken = [nic for nic in claimed if module.name not in nic.refuses]
    if not taken:
        raise SetupError(
            f"{module.name} cannot be measured: {claimed[0].refuses[module.name]} (--nic {claimed[0].model} tries it anyway)"
        )
    for nic in taken:
        if nic.device_type in qemu.devices():
            return nic.on(qemu)
    raise SetupError(f"{module.name} supports {taken[0].model}, which {qemu.version_text} lacks: --qemu {taken[0].qemu}")


def _requested(module: Module, requested: str, qemu: Qemu) -> Nic:
    requested, plus, names = requested.partition("+")
    nic = next((nic for nic in TABLE if nic.model == requested), None)
    if nic is None or nic.device_type not in qemu.devices():
        why = "irqlab has no NIC model" if nic is None else f"{qemu.version_text} has no"
        raise SetupError(f"{why} {requested}; allowed are:\n{_list(supported(qemu))}")
    if any(alias.startswith(("pci:", "virtio:", "usb:")) for alias in module.aliases) and not nic.claimed_by(module):
        fits = ", ".join(other.model for other in TABLE if other.claimed_by(module)) or "none of QEMU's"
        raise SetupError(f"{module.name} does not support {requested} ({nic.modaliases[0][:22]}); it supports {fits}")
    return _with_errata(nic, names.split("+") if plus else [], qemu)


def _with_errata(nic: Nic, names: list[str], qemu: Qemu) -> Nic:
    for name in names:
        if name not in nic.possible_errata:
            raise SetupError(f"--nic {nic.model}+{name}: allowed errata are {', '.join(nic.possible_errata) or 'none'}")
    return replace(nic.on(qemu), model="+".join([nic.model, *names]), errata=tuple(names))


def _list(nics: list[Nic] | tuple[Nic, ...]) -> str:
    return "\n".join(f"  {nic.model:18} {nic.driver}" for nic in nics)
