# SPDX-License-Identifier: GPL-2.0-or-later
"""Which settings of a DUT can be changed, and to which values: what it shows is set to other values, and read back.

Every value is put back. Ranges that neither driver nor kernel tell are tried: of a number its multiples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from irqlab.config.change import Chosen, Kind
from irqlab.dut import changes, facts
from irqlab.dut.agent import Agent, DutError

USECS = (0, 1, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000)
PERCENT = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100)
PPS = (5000, 7000, 10_000, 15_000, 20_000, 30_000, 40_000, 50_000, 60_000, 80_000, 100_000, 150_000)
COUNTS = (0, 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
LADDERS = (("usecs", USECS), ("percent", PERCENT), ("pps", PPS))
"""Values that are tried, by the end of the setting's name; else COUNTS."""
FILES: dict[str, tuple[str, ...]] = {
    "threaded": ("0", "1"),
    "napi_defer_hard_irqs": ("0", "1", "2", "5", "10", "20", "50", "100"),
    "gro_flush_timeout": ("0", "5000", "10000", "15000", "20000", "30000", "50000", "70000", "100000", "200000", "500000"),
}
"""The kernel's own files of every interface that matter to how frames are received."""
SYSCTLS: dict[str, tuple[str, ...]] = {
    "net.core.netdev_budget": ("2", "4", "8", "16", "32", "64", "100", "150", "200", "300", "450", "600", "1000"),
    "net.core.netdev_budget_usecs": ("500", "1000", "2000", "3000", "4000", "6000", "8000", "12000", "16000"),
    "net.core.dev_weight": ("4", "8", "16", "32", "64", "128"),
}
KERNELS_FOLDERS = frozenset({"power", "queues", "statistics", "device", "subsystem", "phydev", "brport", "master", "bonding"})
"""Folders of an interface that are not its driver's."""
LEAST_RING = 16


@dataclass(frozen=True)
class Settable:
    """A setting that can be changed."""

    kind: Kind
    name: str
    now: str
    values: tuple[str, ...]
    """Those that it takes, with the present one; at least two; numbers in order."""
    ordered: bool
    """They are numbers, so that what is near to a good one is probably good."""


Note = Callable[[Chosen], None]
"""Called with a setting and its own value before it is changed first."""


def find(dut: Agent, interfaces: Sequence[str], cpus: int, note: Note = lambda _: None) -> tuple[Settable, ...]:
    """What can be changed of a DUT whose interfaces are alike: the first one is tried."""
    first = interfaces[0]
    said = facts.ask(dut, first)
    found = (
        *_coalescing(dut, first, said, note),
        *_rings(dut, first, said, note),
        *_channels(said),
        *_drivers_files(dut, first, note),
        *_files(dut, first, note),
        *_sysctls(dut, note),
        *_host(dut, interfaces, cpus),
    )
    for one in found:
        note(Chosen(one.kind, one.name, one.now))
    return found


def _tried(
    note: Note,
    kind: Kind,
    name: str,
    now: str,
    values: Sequence[str],
    put: Callable[[str], None],
    get: Callable[[], str | None],
) -> Iterator[Settable]:
    """The setting with those values that it shows after they were set; nothing if it takes no other one."""
    try:
        put(now)
    except DutError:  # it is to be read only
        return
    note(Chosen(kind, name, now))
    kept = []
    for value in values:
        try:
            put(value)
        except DutError:
            continue
        if get() == value:
            kept.append(value)
    if not set(kept) - {now}:
        return
    try:
        put(now)
    except DutError as error:
        raise DutError(f"{name}: its own value, {now}, is refused: {error}") from error
    numbers = now.isdigit()
    # What a list offers may go with another scheme only.
    whole = list(dict.fromkeys([*(kept if numbers else values), now]))
    if len(whole) > 1:
        yield Settable(kind, name, now, tuple(sorted(whole, key=int) if numbers else whole), numbers and len(whole) > 2)


def _ladder(name: str, now: int) -> list[str]:
    """Numbers to try, with the present one."""
    found: tuple[int, ...] = next((ladder for end, ladder in LADDERS if name.endswith(end)), COUNTS)
    return [str(one) for one in sorted({*found, now})]


def _coalescing(dut: Agent, interface: str, said: facts.Facts, note: Note) -> Iterator[Settable]:
    def put(name: str) -> Callable[[str], None]:
        return lambda value: changes.ethtool(dut, "-C", interface, (name, value))

    def shown() -> dict[str, str]:
        text = str(dut.attempt("ethtool", "-c", interface)["out"])
        return {**facts.adaptive_of(text), **{name: str(value) for name, value in facts.coalescing_of(text).items()}}

    def get(name: str) -> Callable[[], str | None]:
        return lambda: shown().get(name)

    for name, on in said.adaptive.items():
        yield from _tried(note, "coalesce", name, on, ("off", "on"), put(name), get(name))
    for name, now in said.coalescing.items():
        yield from _tried(note, "coalesce", name, str(now), _ladder(name, now), put(name), get(name))


def _rings(dut: Agent, interface: str, said: facts.Facts, note: Note) -> Iterator[Settable]:
    """Changing them resets the NIC, so only one other size is tried."""
    if said.rings is None:
        return
    for name, now, most in (("rx", said.rings.rx, said.rings.rx_max), ("tx", said.rings.tx, said.rings.tx_max)):
        sizes = sorted({now, most, *(1 << n for n in range(4, 17) if LEAST_RING <= 1 << n <= most)})
        other = next((size for size in (now // 2, now * 2) if size in sizes), None)
        if other is None:
            continue
        tried = list(
            _tried(note, "ring", name, str(now), [str(other)], _put_ring(dut, interface, name), _get_ring(dut, interface, name))
        )
        if tried:
            yield Settable("ring", name, str(now), tuple(map(str, sizes)), True)


def _put_ring(dut: Agent, interface: str, name: str) -> Callable[[str], None]:
    return lambda value: changes.ethtool(dut, "-G", interface, (name, value))


def _get_ring(dut: Agent, interface: str, name: str) -> Callable[[], str | None]:
    def get() -> str | None:
        found = facts.rings_of(dut.attempt("ethtool", "-g", interface)["out"])
        return None if found is None else str(getattr(found, name))

    return get


def _channels(said: facts.Facts) -> Iterator[Settable]:
    for name, most in said.channels.items():
        now = said.channels_now.get(name, most)
        if most > 1 and now:
            sizes = sorted({1, now, most, *(1 << n for n in range(1, 7) if 1 << n <= most)})
            yield Settable("channels", name.lower(), str(now), tuple(map(str, sizes)), len(sizes) > 2)


def _drivers_files(dut: Agent, interface: str, note: Note) -> Iterator[Settable]:
    """Files in the folders that the driver has added to its interface: numbers, and lists with the choice in brackets."""
    home = f"/sys/class/net/{interface}"
    listed = dut.attempt("sh", "-c", f"cd {home} && ls -d */* 2>/dev/null")["out"].split()
    names = [
        name for name in listed if name.partition("/")[0] not in KERNELS_FOLDERS and not name.startswith(("upper_", "lower_"))
    ]
    found = dut.read(*(f"{home}/{name}" for name in names)) if names else {}
    for name in sorted(names):
        path = f"{home}/{name}"
        now, values = choices(found.get(path) or "", name)
        if now is not None:
            yield from _tried(note, "file", name, now, values, partial(changes.write, dut, path), _get_file(dut, path, name))


def _get_file(dut: Agent, path: str, name: str) -> Callable[[], str | None]:
    return lambda: choices(dut.read(path)[path] or "", name)[0]


def choices(text: str, name: str) -> tuple[str | None, list[str]]:
    """What a file has now, and what to try: of a list the other words, of a number a ladder. (None, []): it is neither."""
    words = text.split()
    chosen = re.search(r"\[([\w-]+)\]", text)
    if chosen:
        return chosen[1], [word.strip("[]") for word in words]
    if len(words) == 1 and words[0].isdigit():
        return words[0], _ladder(name, int(words[0]))
    return None, []


def _files(dut: Agent, interface: str, note: Note) -> Iterator[Settable]:
    for name, values in FILES.items():
        path = f"/sys/class/net/{interface}/{name}"
        now = (dut.read(path)[path] or "").strip()
        if now.isdigit():
            yield from _tried(note, "file", name, now, values, partial(changes.write, dut, path), _get_file(dut, path, name))


def _sysctls(dut: Agent, note: Note) -> Iterator[Settable]:
    for name, values in SYSCTLS.items():
        path = "/proc/sys/" + name.replace(".", "/")
        now = (dut.read(path)[path] or "").strip()
        if now.isdigit():
            yield from _tried(note, "sysctl", name, now, values, partial(dut.sysctl, name), _get_file(dut, path, name))


def _host(dut: Agent, interfaces: Sequence[str], cpus: int) -> Iterator[Settable]:
    """Where interrupts come, and which processors take frames from the queues; of one processor nothing."""
    if cpus < 2:
        return
    every = tuple(map(str, range(cpus)))
    for place, interface in enumerate(interfaces):
        device = f"/sys/class/net/{interface}/device"
        numbers = [path.rpartition("/")[2] for path, text in dut.read(f"{device}/msi_irqs/*").items() if text is not None]
        line = (dut.read(f"{device}/irq")[f"{device}/irq"] or "").strip()
        if number := next(iter([*(one for one in numbers if one.isdigit()), *([line] if line else [])]), None):
            path = f"/proc/irq/{number}/smp_affinity_list"
            where = (dut.read(path)[path] or "").strip()
            yield Settable("interrupts", str(place), where if where in every else str(place % cpus), every, False)
    path = f"/sys/class/net/{interfaces[0]}/queues/rx-0/rps_cpus"
    if (now := dut.read(path)[path]) is not None and not now.strip("0,\n"):
        groups = [",".join(every), *every] if cpus < 4 else [",".join(every), ",".join(every[cpus // 2 :]), *every]
        yield Settable("rps", "", "", ("", *groups), False)
