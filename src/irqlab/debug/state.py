# SPDX-License-Identifier: GPL-2.0-or-later
"""A driver's state in the DUT's memory, by the names of its fields, and the NIC's cause and mask registers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from irqlab.errors import IrqlabError
from irqlab.files import write_atomically
from irqlab.profile.btf import ARRAY, STRUCT, UNION, Btf
from irqlab.profile.devices import Devices
from irqlab.profile.guest_memory import GuestMemory
from irqlab.profile.kallsyms import symbols
from irqlab.profile.kernel_objects import Objects
from irqlab.profile.lines import known_of
from irqlab.setup import paths
from irqlab.trials.testbed import Testbed

Read = Callable[[int, int], bytes]
"""Address and bytes -> the content. Raises IrqlabError if it is not mapped."""

MOST_BYTES = 16 << 10
"""Of one object."""
SAFE: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "i825": (("cause", 0x01, 1), ("mask", 0x03, 1)),
    "rtl8139": (("cause", 0x3E, 2), ("enabled", 0x3C, 2)),
    "e1000": (("cause", 0xC8, 4), ("enabled", 0xD0, 4)),
    "tulip": (("cause", 0x28, 4), ("enabled", 0x38, 4)),
}
"""Beginning of a NIC model's name -> registers that can be read without effect: name, offset and bytes.

Sources: hw/net/eepro100.c, rtl8139.c, e1000.c (ICS reads as ICR, which clears itself), e1000e_core.c, tulip.c of QEMU 7.2 and 10.
`mask`: bits that are set disable interrupts; `enabled`: they enable them.
"""
_LOCK = re.compile(r"\braw_lock\b|\bwait_lock\b")
_TAIL = re.compile(r"(\.v)?(\.a)*\.counter$")
"""What u64_stats_t and atomic_t add to a field's name."""
_MAPPED = re.compile(r"^0x([0-9a-f]+)-0x([0-9a-f]+) .*phys=0x([0-9a-f]+) ioremap", re.MULTILINE)


@dataclass(frozen=True)
class Registers:
    """Registers of a NIC in the kernel's address space."""

    begin: int
    end: int
    interface: str
    offset: int
    """Of `begin` in the NIC's region."""


@dataclass(frozen=True)
class Area:
    """An object of the driver."""

    name: str
    address: int
    size: int
    types: Btf
    type: int


@dataclass
class State:
    """What is looked at, and how it was at the last look."""

    areas: list[Area]
    mappings: list[Registers]
    model: str
    _seen: dict[str, bytes] = field(default_factory=dict)

    def changes(self, read: Read) -> list[str]:
        """The fields that have changed since the last look; none at the first."""
        found: list[str] = []
        for area in self.areas:
            try:
                now = read(area.address, area.size)
            except IrqlabError:
                continue
            before = self._seen.get(area.name)
            self._seen[area.name] = now
            if before is not None and before != now:
                for name, old, new in _changed(area, before, now):
                    if not _LOCK.search(name):
                        found.append(f"{area.name}{_TAIL.sub('', name)} {old} → {new}")
        return found

    def registers(self, read: Read) -> str:
        """The cause and mask registers of each NIC, such as "eth0: cause 0x40, mask 0x00"; empty: they cannot be read."""
        known = next((registers for model, registers in SAFE.items() if self.model.startswith(model)), ())
        found = []
        for one in self.mappings:
            try:
                values = [
                    f"{name} {int.from_bytes(read(one.begin + at - one.offset, size), 'little'):#0{2 + 2 * size}x}"
                    for name, at, size in known
                    if one.begin <= one.begin + at - one.offset < one.end
                ]
            except IrqlabError:
                continue
            if values:
                found.append(f"{one.interface}: {', '.join(values)}")
        return "; ".join(found)

    def register(self, address: int) -> str | None:
        """The NIC's register at a virtual address, such as "eth0+0x3e"; None: it is none."""
        for one in self.mappings:
            if one.begin <= address < one.end:
                return f"{one.interface}+{address - one.begin + one.offset:#x}"
        return None


def state_of(testbed: Testbed) -> State:
    """Finds the driver's objects in a DUT of its own, in the initial state of trials. Raises IrqlabError."""
    known = known_of(testbed, symbols(testbed))
    kept = testbed.prepared.state.parent / "mappings.json"
    areas: list[Area] = []
    with testbed.open() as dut:
        memory = GuestMemory(lambda ranges: dut.rpc.call("read_memory", ranges=ranges)["memory"])
        for interface, address, size, types, number in Objects(known, memory, set()).private():
            areas.append(Area(f"{interface}.", address, min(size, MOST_BYTES), types, number))
        with paths.locked(f"mappings-{kept.parent.name}"):
            try:
                text = json.loads(kept.read_text())
            except (OSError, json.JSONDecodeError):
                dut.sysctl("kernel.kptr_restrict", "1")
                text = dut.read("/proc/vmallocinfo")["/proc/vmallocinfo"] or ""
                write_atomically(kept, json.dumps(text).encode())
    return State(areas, _mappings(text, Devices.of(testbed)), testbed.nic.model)


def _mappings(vmallocinfo: str, devices: Devices) -> list[Registers]:
    found = []
    for begin, end, physical in _MAPPED.findall(vmallocinfo):
        name, offset = devices.at(int(physical, 16))
        if name.startswith("eth"):
            found.append(Registers(int(begin, 16), int(end, 16) - 4096, name, offset))  # a guard page ends it
    return found


def _changed(area: Area, before: bytes, now: bytes) -> Iterator[tuple[str, str, str]]:
    """The fields that differ: name, old and new value."""
    at = 0
    while at < len(now):
        if now[at] == before[at]:
            at += 1
            continue
        name, begin, size = leaf(area.types, area.type, at)
        begin, size = (at & -8, 8) if not 0 < size <= 8 else (begin, size)
        old, new = (int.from_bytes(content[begin : begin + size], "little") for content in (before, now))
        yield name or f"+{begin:#x}", _number(old), _number(new)
        at = begin + size


def _number(value: int) -> str:
    return str(value) if value < 1 << 20 else f"{value:#x}"


def leaf(types: Btf, number: int, offset: int) -> tuple[str, int, int]:
    """The innermost field at an offset: name with indices, where it begins, and its bytes; 0 bytes: there is none."""
    number = types.plain(number)
    kind = types.kind(number)
    if kind == ARRAY:
        element, _ = types.element(number)
        if not (size := types.size(element)):
            return "", 0, 0
        name, begin, inner = leaf(types, element, offset % size)
        index = offset // size
        return f"[{index}]{'.' if name and name[0] != '[' else ''}{name}", index * size + begin, inner
    if kind not in (STRUCT, UNION):
        return "", 0, types.size(number)
    for member in types.members(number):
        if member.offset <= offset < member.offset + types.size(member.type):
            name, begin, size = leaf(types, member.type, offset - member.offset)
            dot = "." if member.name and name and name[0] != "[" else ""
            return f"{member.name}{dot}{name}", member.offset + begin, size
    return "", 0, 0
