# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's types and memory, made up: just enough for irqlab.profile.kernel_objects."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence

from irqlab.profile.btf import ARRAY, INT, MAGIC, POINTER, STRUCT, TYPEDEF, UNION, VARIABLE, Btf
from irqlab.profile.guest_memory import PAGE, GuestMemory
from irqlab.profile.kernel_layout import DIRECT_MAP, IMAGE, VMEMMAP

U64, U32 = 1, 2
"""Types that every kernel has."""
Member = tuple[str, int, int]
"""Name, type, offset in bytes."""


class Types:
    """Makes BTF; types are numbered from 1, those of `base` first."""

    def __init__(self, base: Btf | None = None) -> None:
        self._base, self._types, self._strings = base, [], b"\0"  # type: tuple[Btf | None, list[bytes], bytes]
        if base is None:
            self._add("long unsigned int", INT << 24, 8, struct.pack("<I", 64))
            self._add("unsigned int", INT << 24, 4, struct.pack("<I", 32))

    def _string(self, text: str) -> int:
        if not text:
            return 0
        at = (self._base.end_of_strings if self._base else 0) + len(self._strings)
        self._strings += text.encode() + b"\0"
        return at

    def _add(self, name: str, info: int, last: int, behind: bytes = b"") -> int:
        self._types.append(struct.pack("<III", self._string(name), info, last) + behind)
        return (self._base.count if self._base else 1) + len(self._types) - 1

    def pointer(self, to: int) -> int:
        return self._add("", POINTER << 24, to)

    def array(self, of: int, count: int) -> int:
        return self._add("", ARRAY << 24, 0, struct.pack("<III", of, U32, count))

    def typedef(self, name: str, of: int) -> int:
        return self._add(name, TYPEDEF << 24, of)

    def variable(self, name: str, of: int) -> int:
        return self._add(name, VARIABLE << 24, of, struct.pack("<I", 0))

    def struct(self, name: str, size: int, members: Sequence[Member], kind: int = STRUCT) -> int:
        packed = b"".join(struct.pack("<III", self._string(n), t, o * 8) for n, t, o in members)
        return self._add(name, kind << 24 | len(members), size, packed)

    def union(self, name: str, size: int, members: Sequence[Member]) -> int:
        return self.struct(name, size, members, UNION)

    def data(self) -> bytes:
        types = b"".join(self._types)
        head = struct.pack("<HBBIIIII", MAGIC, 1, 0, 24, 0, len(types), len(types), len(self._strings))
        return head + types + self._strings

    def btf(self) -> Btf:
        return Btf(self.data(), self._base)


class Ram:
    """Memory by virtual address; pages that nothing was written to are not mapped."""

    def __init__(self) -> None:
        self.pages: dict[int, bytearray] = {}
        self.commands = 0

    def write(self, address: int, data: bytes) -> None:
        for n, byte in enumerate(data):
            at = address + n
            self.pages.setdefault(at & -PAGE, bytearray(PAGE))[at % PAGE] = byte

    def words(self, address: int, values: Mapping[int, int]) -> None:
        """64-bit numbers by offset."""
        for offset, value in values.items():
            self.write(address + offset, struct.pack("<Q", value))

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[str | None]:
        """Pages, as the tester's `read_memory` answers."""
        self.commands += 1
        return [base64.b64encode(self.pages[at]).decode() if at in self.pages else None for at, _ in ranges]

    def memory(self) -> GuestMemory:
        return GuestMemory(self.read)


def page(number: int) -> int:
    """The address of a page in the direct map."""
    return DIRECT_MAP[0] + number * PAGE


def descriptor(number: int) -> int:
    """Its struct page."""
    return VMEMMAP[0] + number * 64


def static(offset: int) -> int:
    """An address in the kernel's image."""
    return IMAGE[0] + offset
