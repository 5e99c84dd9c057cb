# SPDX-License-Identifier: GPL-2.0-or-later
"""What an interface, its driver and its NIC can do, as the DUT says: ethtool, ip and sysfs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from irqlab.dut.agent import Agent

NOT_SUPPORTED = re.compile(r"not supported|no such (file|device)", re.IGNORECASE)


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
    adaptive: Mapping[str, str] = field(default_factory=dict)
    """`ethtool -c`: adaptive-rx and adaptive-tx, on or off; those that it does not know are missing."""
    channels: Mapping[str, int] = field(default_factory=dict)
    """`ethtool -l`: the greatest numbers."""
    channels_now: Mapping[str, int] = field(default_factory=dict)
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
        coalescing=coalescing_of(texts["-c"]),
        adaptive=adaptive_of(texts["-c"]),
        channels=channels_of(texts["-l"].partition("Current")[0]),
        channels_now=channels_of(texts["-l"].partition("Current")[2]),
        pauses=dict(re.findall(r"^(Autonegotiate|RX|TX):\s+(\w+)", texts["-a"], re.MULTILINE)),
        info=dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", texts["-i"], re.MULTILINE)),
        statistics={name.strip(): int(n) for name, n in re.findall(r"^ +(\S[^\n]*?): (\d+)$", texts["-S"], re.MULTILINE)},
        private_flags=private_flags_of(texts["--show-priv-flags"]),
        link=dict(re.findall(r"^\t([\w -]+):[ \t]*(.*)$", texts[""], re.MULTILINE)),
        mtu=mtu_of(dut.attempt("ip", "-d", "link", "show", interface)["out"]),
        files=frozenset(found),
        refusals=refusals,
    )


def features_of(text: str) -> dict[str, Feature]:
    """The lines of `ethtool -k`."""
    lines = re.findall(r"^\s*([\w-]+): (on|off)( \[(?:fixed|requested on|requested off)\])?$", text, re.MULTILINE)
    return {name: Feature(state == "on", "fixed" in note) for name, state, note in lines}


def coalescing_of(text: str) -> dict[str, int]:
    """The parameters of `ethtool -c` that have a number."""
    return {name: int(value) for name, value in re.findall(r"^([\w-]+):\s+(\d+)\s*$", text, re.MULTILINE)}


def adaptive_of(text: str) -> dict[str, str]:
    """adaptive-rx and adaptive-tx of `ethtool -c`, if they are on or off."""
    found = re.search(r"^Adaptive RX: (\S+)\s+TX: (\S+)", text, re.MULTILINE)
    both = zip(("adaptive-rx", "adaptive-tx"), found.groups(), strict=True) if found else ()
    return {name: value for name, value in both if value in ("on", "off")}


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
    """The numbers of a part of `ethtool -l`."""
    return {name: int(n) for name, n in re.findall(r"^(\w+):\s+(\d+)", text, re.MULTILINE)}


def mtu_of(text: str) -> tuple[int, int]:
    """The least and the greatest MTU, from `ip -d link`."""
    found = re.search(r"minmtu (\d+) maxmtu (\d+)", text)
    return (int(found[1]), int(found[2]) or 65_535) if found else (1500, 1500)
