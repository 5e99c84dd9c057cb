# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters of the DUT's kernel, read before and after a trial (Documentation/filesystems/proc.rst)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from irqlab.config.addresses import INTERFACES

USB_CONTROLLER = "xhci_hcd"
"""As the kernel names its MSI; with INTx it is "xhci-hcd:usb1"."""
STATISTICS = (
    "rx_packets",
    "tx_packets",
    "rx_dropped",
    "tx_dropped",
    "rx_errors",
    "tx_errors",
    "rx_missed_errors",
    "rx_fifo_errors",
    "rx_over_errors",
    "tx_fifo_errors",
)


def paths(interfaces: Sequence[str] = INTERFACES) -> tuple[str, ...]:
    """The files to read for `parse`."""
    return (
        "/proc/interrupts",
        "/proc/softirqs",
        "/proc/stat",
        "/proc/net/softnet_stat",
        *(f"/sys/class/net/{interface}/statistics/{name}" for interface in interfaces for name in STATISTICS),
    )


PATHS = paths()
CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq")


@dataclass(frozen=True)
class Counters:
    """The DUT's counters over the whole trial: warm-up, window and drain."""

    interrupts: dict[str, int] = field(default_factory=dict)
    """Device interrupts by interface (/proc/interrupts)."""
    softirqs: dict[str, int] = field(default_factory=dict)
    cpu_ticks: dict[str, int] = field(default_factory=dict)
    """Timer-tick samples by state (/proc/stat, 10 ms units)."""
    interfaces: dict[str, dict[str, int]] = field(default_factory=dict)
    backlog_drops: int = 0
    time_squeezes: int = 0
    qdisc_drops: int = 0
    driver: dict[str, dict[str, int]] = field(default_factory=dict)
    """The driver's own counters, by interface (ethtool -S)."""


def parse(
    files: dict[str, str | None], qdisc: str, of_driver: dict[str, str] | None = None, interfaces: Sequence[str] = INTERFACES
) -> Counters:
    """Counters from the files of `paths` and the output of `tc -s qdisc` and `ethtool -S`. Missing counters are 0."""
    return Counters(
        interrupts=parse_interrupts(files.get("/proc/interrupts") or "", interfaces),
        softirqs=parse_softirqs(files.get("/proc/softirqs") or ""),
        cpu_ticks=parse_stat(files.get("/proc/stat") or ""),
        interfaces={
            interface: {name: int(files.get(f"/sys/class/net/{interface}/statistics/{name}") or 0) for name in STATISTICS}
            for interface in interfaces
        },
        backlog_drops=_softnet(files.get("/proc/net/softnet_stat") or "", 1),
        time_squeezes=_softnet(files.get("/proc/net/softnet_stat") or "", 2),
        qdisc_drops=sum(int(n) for n in re.findall(r"dropped (\d+)", qdisc)),
        driver={interface: parse_driver(text) for interface, text in (of_driver or {}).items()},
    )


def parse_interrupts(text: str, interfaces: Sequence[str] = INTERFACES) -> dict[str, int]:
    """Interrupts by interface, from /proc/interrupts; a shared interrupt is "eth0+eth1". For USB NICs: the controller's."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        label, _, rest = line.partition(":")
        if not label.strip().isdigit():
            continue
        named = rest.replace("xhci-hcd:", f"{USB_CONTROLLER} ")
        owners = [i for i in (*interfaces, USB_CONTROLLER) if re.search(rf"\b{re.escape(i)}\b", named)]
        if owners:
            columns = rest.split()
            count = 0
            for column in columns:
                if not column.isdigit():
                    break
                count += int(column)
            name = "+".join(owners)
            found[name] = found.get(name, 0) + count
    return found


def parse_softirqs(text: str) -> dict[str, int]:
    """Softirqs raised by name, from /proc/softirqs; only those relevant to a network driver."""
    wanted = ("HI", "TIMER", "NET_TX", "NET_RX", "TASKLET", "HRTIMER")
    found = {}
    for line in text.splitlines()[1:]:
        name, _, rest = line.partition(":")
        if name.strip() in wanted:
            found[name.strip()] = sum(int(n) for n in rest.split())
    return found


def parse_stat(text: str) -> dict[str, int]:
    """Ticks by CPU state, from the first line of /proc/stat."""
    for line in text.splitlines():
        fields = line.split()
        if fields and fields[0] == "cpu":
            return dict(zip(CPU_STATES, (int(n) for n in fields[1:]), strict=False))
    return {}


def parse_driver(text: str) -> dict[str, int]:
    """A driver's own counters, from `ethtool -S`; empty if it has none."""
    return {name.strip(): int(value) for name, value in re.findall(r"^ +(\S[^\n]*?): (\d+)$", text, re.MULTILINE)}


def _softnet(text: str, column: int) -> int:
    return sum(int(line.split()[column], 16) for line in text.splitlines() if line.strip())


def difference(before: Counters, after: Counters) -> Counters:
    """The increase of counters between two readings."""

    def less(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        return {name: value - b.get(name, 0) for name, value in a.items()}

    return Counters(
        interrupts=less(after.interrupts, before.interrupts),
        softirqs=less(after.softirqs, before.softirqs),
        cpu_ticks=less(after.cpu_ticks, before.cpu_ticks),
        interfaces={name: less(values, before.interfaces.get(name, {})) for name, values in after.interfaces.items()},
        backlog_drops=after.backlog_drops - before.backlog_drops,
        time_squeezes=after.time_squeezes - before.time_squeezes,
        qdisc_drops=after.qdisc_drops - before.qdisc_drops,
        driver={name: less(values, before.driver.get(name, {})) for name, values in after.driver.items()},
    )
