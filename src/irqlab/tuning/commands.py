# SPDX-License-Identifier: GPL-2.0-or-later
"""What to type so that a DUT has settings, now and after a reboot: a script; .link, udev rule and sysctl.d where they exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irqlab.config.change import ETHTOOL, TOGETHER, Chosen, Kind
from irqlab.config.placement import mask, processors

LINK: dict[tuple[Kind, str], str] = {
    ("ring", "rx"): "RxBufferSize={}",
    ("ring", "tx"): "TxBufferSize={}",
    ("channels", "rx"): "RxChannels={}",
    ("channels", "tx"): "TxChannels={}",
    ("channels", "combined"): "CombinedChannels={}",
    ("coalesce", "adaptive-rx"): "UseAdaptiveRxCoalesce={}",
    ("coalesce", "adaptive-tx"): "UseAdaptiveTxCoalesce={}",
    ("coalesce", "rx-usecs"): "RxCoalesceSec={}us",
    ("coalesce", "tx-usecs"): "TxCoalesceSec={}us",
    ("coalesce", "rx-frames"): "RxMaxCoalescedFrames={}",
    ("coalesce", "tx-frames"): "TxMaxCoalescedFrames={}",
}
"""Words of systemd.link(5)."""
LINK_FILE, RULES_FILE, SYSCTL_FILE, SCRIPT_FILE = (
    "/etc/systemd/network/10-irqlab-{}.link",
    "/etc/udev/rules.d/90-irqlab.rules",
    "/etc/sysctl.d/90-irqlab.conf",
    "tune.sh",
)


def script(changes: Sequence[Chosen], interfaces: Sequence[str]) -> list[str]:
    """Shell commands, for now."""
    lines: list[str] = []
    for interface in interfaces:
        for kind in TOGETHER:
            words = [word for one in changes if one.kind == kind for word in (one.name, one.value)]
            if words:
                lines.append(f"ethtool {ETHTOOL[kind]} {interface} {' '.join(words)}")
        lines += [f"echo {one.value} > /sys/class/net/{interface}/{one.name}" for one in in_order(changes)]
        for one in changes:
            if one.kind == "rps":
                queues = f"/sys/class/net/{interface}/queues/rx-*/rps_cpus"
                lines.append(f"for queue in {queues}; do echo {_mask(one.value)} > $queue; done")
    for one in changes:
        if one.kind == "interrupts" and int(one.name) < len(interfaces):
            interface = interfaces[int(one.name)]
            lines.append(
                f"for irq in $(ls /sys/class/net/{interface}/device/msi_irqs 2>/dev/null || cat "
                f"/sys/class/net/{interface}/device/irq); do echo {one.value} > /proc/irq/$irq/smp_affinity_list; done"
            )
    return [*lines, *(f"sysctl -w {one.name}={one.value}" for one in changes if one.kind == "sysctl")]


def in_order(changes: Sequence[Chosen]) -> list[Chosen]:
    """The files, schemes last: they start with their settings."""
    return sorted((one for one in changes if one.kind == "file"), key=lambda one: one.name.endswith("_scheme"))


def files(changes: Sequence[Chosen], interfaces: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Files that make them after every boot: their paths and lines. Interrupts have none."""
    link = [LINK[one.kind, one.name].format(_yes(one.value)) for one in changes if (one.kind, one.name) in LINK]
    if link:
        for interface in interfaces:
            yield LINK_FILE.format(interface), ["[Match]", f"OriginalName={interface}", "", "[Link]", *link]
    rules = [line for interface in interfaces for line in _rules(changes, interface)]
    if rules:
        yield RULES_FILE, rules
    sysctls = [f"{one.name} = {one.value}" for one in changes if one.kind == "sysctl"]
    if sysctls:
        yield SYSCTL_FILE, sysctls


def _rules(changes: Sequence[Chosen], interface: str) -> Iterator[str]:
    begin = f'ACTION=="add|move", SUBSYSTEM=="net", NAME=="{interface}"'
    attributes = [f'ATTR{{{one.name}}}="{one.value}"' for one in in_order(changes)]
    attributes += [f'ATTR{{queues/rx-0/rps_cpus}}="{_mask(one.value)}"' for one in changes if one.kind == "rps"]
    if attributes:
        yield f"{begin}, {', '.join(attributes)}"
    for kind in TOGETHER:
        words = [f"{one.name} {one.value}" for one in changes if one.kind == kind and (kind, one.name) not in LINK]
        if words:
            yield f'{begin}, RUN+="/usr/sbin/ethtool {ETHTOOL[kind]} {interface} {" ".join(words)}"'


def _mask(value: str) -> str:
    return mask(processors("--rps", value)) if value else "0"


def _yes(value: str) -> str:
    return {"on": "yes", "off": "no"}.get(value, value)
