# SPDX-License-Identifier: GPL-2.0-or-later
"""What the driver and the NIC can do, as the DUT says: ethtool, ip and sysfs, asked once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from irqlab.config.addresses import INTERFACES
from irqlab.dut.agent import Agent
from irqlab.trials.testbed import Testbed

NOT_SUPPORTED = re.compile(r"not supported|no such (file|device)", re.IGNORECASE)


INTERRUPTS = "/proc/interrupts"


@dataclass(frozen=True)
class Feature:
    """A line of `ethtool -k`."""

    on: bool
    fixed: bool


@dataclass(frozen=True)
class Rings:
    """`ethtool -g`: the sizes now, and the greatest."""

    rx: int
    tx: int
    rx_max: int
    tx_max: int


@dataclass(frozen=True)
class Facts:
    """What an interface says of itself."""

    features: Mapping[str, Feature] = field(default_factory=dict)
    rings: Rings | None = None
    """None: the driver does not say."""
    coalescing: Mapping[str, int] = field(default_factory=dict)
    """`ethtool -c`: parameters that have a value."""
    channels: Mapping[str, int] = field(default_factory=dict)
    """`ethtool -l`: the greatest numbers."""
    pauses: Mapping[str, str] = field(default_factory=dict)
    """`ethtool -a`: Autonegotiate, RX, TX."""
    info: Mapping[str, str] = field(default_factory=dict)
    """`ethtool -i`."""
    statistics: Mapping[str, int] = field(default_factory=dict)
    """`ethtool -S`."""
    private_flags: Mapping[str, bool] = field(default_factory=dict)
    link: Mapping[str, str] = field(default_factory=dict)
    """`ethtool` without an option: Speed, Duplex, Auto-negotiation, Supports Wake-on, ..."""
    mtu: tuple[int, int] = (1500, 1500)
    """The least and the greatest."""
    files: frozenset[str] = frozenset()
    """Files of the interface and of its device that exist: reset, threaded, ..."""
    messages: bool = False
    """Its interrupts are messages (MSI), which no other device raises."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """What ethtool said where it failed, by its option."""

    def can_change(self, feature: str) -> bool:
        """Whether a feature of `ethtool -k` can be switched."""
        known = self.features.get(feature)
        return known is not None and not known.fixed

    def refusal(self, option: str) -> str:
        """How it was found out that the driver does not know an option of ethtool."""
        return f"ethtool {option}: {self.refusals.get(option, 'says nothing')}"


FILES = (
    "device/reset",
    "device/driver/unbind",
    "device/power/control",
    "device/power/wakeup",
    "threaded",
    "napi_defer_hard_irqs",
    "gro_flush_timeout",
    "queues/tx-0/byte_queue_limits/limit",
    "queues/tx-0/tx_timeout",
)


@dataclass
class Subject:
    """The driver under test with what it can do."""

    testbed: Testbed

    @cached_property
    def facts(self) -> Facts:
        """Of the first interface. Raises IrqlabError if the DUT cannot be prepared."""
        with self.testbed.open() as dut:
            return ask(dut, INTERFACES[0])

    @property
    def has_time(self) -> bool:
        """Whether the NIC takes time to transmit, so that its ring can be full: the tester's own PCI cards and USB NICs."""
        return self.testbed.nic.is_own

    @property
    def is_pci_card(self) -> bool:
        """One of the tester's own PCI cards, whose interrupts and register writes can be delayed."""
        return bool(self.testbed.nic.pci_bus)

    @property
    def is_usb(self) -> bool:
        """Whether the NIC is on USB."""
        return bool(self.testbed.nic.usb_speed)


def ask(dut: Agent, interface: str) -> Facts:
    """Asks a DUT."""
    texts: dict[str, str] = {}
    refusals: dict[str, str] = {}
    for option in ("-k", "-g", "-c", "-l", "-a", "-i", "-S", "--show-priv-flags", ""):
        done = dut.attempt("ethtool", *([option] if option else []), interface)
        texts[option] = done["out"]
        if done["code"] or NOT_SUPPORTED.search(done["err"]):
            refusals[option] = (done["err"] or done["out"]).strip().splitlines()[-1] if (done["err"] or done["out"]) else "failed"
    home = f"/sys/class/net/{interface}"
    found = dut.attempt("sh", "-c", f"cd {home} && ls -d {' '.join(FILES)} 2>/dev/null")["out"].split()
    return Facts(
        features=features_of(texts["-k"]),
        rings=rings_of(texts["-g"]),
        coalescing={name: int(value) for name, value in re.findall(r"^([\w-]+):\s+(\d+)\s*$", texts["-c"], re.MULTILINE)},
        channels=channels_of(texts["-l"]),
        pauses=dict(re.findall(r"^(Autonegotiate|RX|TX):\s+(\w+)", texts["-a"], re.MULTILINE)),
        info=dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", texts["-i"], re.MULTILINE)),
        statistics={name.strip(): int(n) for name, n in re.findall(r"^ +(\S[^\n]*?): (\d+)$", texts["-S"], re.MULTILINE)},
        private_flags=private_flags_of(texts["--show-priv-flags"]),
        link=dict(re.findall(r"^\t([\w -]+):[ \t]*(.*)$", texts[""], re.MULTILINE)),
        mtu=mtu_of(dut.attempt("ip", "-d", "link", "show", interface)["out"]),
        files=frozenset(found),
        messages=re.search(rf"MSI.*\b{interface}\b", dut.read(INTERRUPTS)[INTERRUPTS] or "") is not None,
        refusals=refusals,
    )


def features_of(text: str) -> dict[str, Feature]:
    """The lines of `ethtool -k`."""
    lines = re.findall(r"^\s*([\w-]+): (on|off)( \[(?:fixed|requested on|requested off)\])?$", text, re.MULTILINE)
    return {name: Feature(state == "on", "fixed" in note) for name, state, note in lines}


def rings_of(text: str) -> Rings | None:
    """The sizes of `ethtool -g`; None if it does not say them."""
    sizes = {name: [int(n) for n in re.findall(rf"^{name}:\s+(\d+)", text, re.MULTILINE)] for name in ("RX", "TX")}
    if any(len(found) != 2 for found in sizes.values()):
        return None
    return Rings(sizes["RX"][1], sizes["TX"][1], sizes["RX"][0], sizes["TX"][0])


def private_flags_of(text: str) -> dict[str, bool]:
    """The lines of `ethtool --show-priv-flags`: whether each is on."""
    return {name: value == "on" for name, value in re.findall(r"^(\S+)\s*:\s+(on|off)$", text, re.MULTILINE)}


def channels_of(text: str) -> dict[str, int]:
    """The greatest numbers of `ethtool -l`."""
    before = text.partition("Current")[0]
    return {name: int(n) for name, n in re.findall(r"^(\w+):\s+(\d+)", before, re.MULTILINE)}


def mtu_of(text: str) -> tuple[int, int]:
    """The least and the greatest MTU, from `ip -d link`."""
    found = re.search(r"minmtu (\d+) maxmtu (\d+)", text)
    return (int(found[1]), int(found[2]) or 65_535) if found else (1500, 1500)
