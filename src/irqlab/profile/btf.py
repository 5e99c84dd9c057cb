# SPDX-License-Identifier: GPL-2.0-or-later
"""The types of a kernel and its modules, from BTF (Documentation/bpf/btf.rst), which is a section of their ELF files."""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

MAGIC = 0xEB9F
INT, POINTER, ARRAY, STRUCT, UNION, ENUM, FORWARD, TYPEDEF, VOLATILE, CONST, RESTRICT = range(1, 12)
FUNCTION, PROTOTYPE, VARIABLE, SECTION, FLOAT, DECLARATION_TAG, TYPE_TAG, ENUM64 = range(12, 20)
_SKIPPED = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)
_ITEMS = {STRUCT: 12, UNION: 12, ENUM: 8, PROTOTYPE: 8, SECTION: 12, ENUM64: 12}
"""Bytes that each item of a type takes behind it."""
_EXTRA = {INT: 4, ARRAY: 12, VARIABLE: 4, DECLARATION_TAG: 4}
"""Bytes behind a type without items."""
POINTER_BYTES = 8


@dataclass(frozen=True)
class Member:
    """A member of a struct or union; an anonymous one has no name."""

    name: str
    type: int
    offset: int
    """In bytes; of a bit field, that of its first bit."""


class Btf:
    """Types by number. A module's numbers follow those of the kernel, its base."""

    def __init__(self, data: bytes, base: Btf | None = None) -> None:
        magic, _, _, header, types, types_bytes, strings, strings_bytes = struct.unpack_from("<HBBIIIII", data)
        if magic != MAGIC:
            raise ValueError("not BTF")
        self._base = base
        self._first = base.count if base else 1
        self._first_string = base.end_of_strings if base else 0
        self._strings = data[header + strings : header + strings + strings_bytes]
        self.end_of_strings: int = self._first_string + strings_bytes
        self._data = data[header + types : header + types + types_bytes]
        self._places: list[int] = []
        at = 0
        while at < types_bytes:
            self._places.append(at)
            info = struct.unpack_from("<I", self._data, at + 4)[0]
            kind, items = info >> 24 & 0x1F, info & 0xFFFF
            at += 12 + (_ITEMS[kind] * items if kind in _ITEMS else _EXTRA.get(kind, 0))
        self.count: int = self._first + len(self._places)
        self._members: dict[int, list[Member]] = {}

    @cached_property
    def digest(self) -> bytes:
        """A hash of the types, without the base's."""
        return hashlib.sha256(self._data + self._strings).digest()

    @cached_property
    def _structs(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for number, place in enumerate(self._places, self._first):
            name, info = struct.unpack_from("<II", self._data, place)
            if info >> 24 & 0x1F in (STRUCT, UNION) and name:
                found.setdefault(self._string(name), number)
        return found

    def struct(self, name: str) -> int | None:
        """A struct or union by name."""
        own = self._structs.get(name)
        return own if own is not None or self._base is None else self._base.struct(name)

    def own_structs(self) -> dict[str, int]:
        """The structs and unions that are not the base's."""
        return dict(self._structs)

    @cached_property
    def variables(self) -> dict[str, int]:
        """The type of each variable that is known by name: those per processor."""
        found = {}
        for place in self._places:
            name, info, target = struct.unpack_from("<III", self._data, place)
            if info >> 24 & 0x1F == VARIABLE:
                found[self._string(name)] = target
        return found

    def name(self, number: int) -> str:
        """A type's name; of a pointer, typedef, etc.: of what it refers to."""
        number = self.plain(number)
        kind, name, target = self._raw(number)
        if kind in (POINTER, ARRAY):
            return self.name(target if kind == POINTER else self._array(number)[0])
        return name

    def kind(self, number: int) -> int:
        """A type's kind; 0: void."""
        return self._raw(number)[0]

    def plain(self, number: int) -> int:
        """The type behind typedefs and qualifiers."""
        kind, _, target = self._raw(number)
        while kind in _SKIPPED:
            number = target
            kind, _, target = self._raw(number)
        return number

    def target(self, number: int) -> int:
        """What a pointer points to, behind typedefs and qualifiers."""
        return self.plain(self._raw(number)[2])

    def size(self, number: int) -> int:
        """Bytes; 0 if that is not known."""
        number = self.plain(number)
        kind, _, size = self._raw(number)
        if kind == POINTER:
            return POINTER_BYTES
        if kind == ARRAY:
            element, count = self._array(number)
            return self.size(element) * count
        return size if kind in (INT, STRUCT, UNION, ENUM, ENUM64, FLOAT) else 0

    def element(self, number: int) -> tuple[int, int]:
        """An array's element type, and how many there are."""
        return self._array(self.plain(number))

    def members(self, number: int) -> list[Member]:
        """The members of a struct or union."""
        if number < self._first and self._base:
            return self._base.members(number)
        if number not in self._members:
            place = self._places[number - self._first]
            info = struct.unpack_from("<I", self._data, place + 4)[0]
            bit_fields = info >> 31
            found = []
            for n in range(info & 0xFFFF if info >> 24 & 0x1F in (STRUCT, UNION) else 0):
                name, kind, bits = struct.unpack_from("<III", self._data, place + 12 + 12 * n)
                found.append(Member(self._string(name), kind, (bits & 0xFFFFFF if bit_fields else bits) // 8))
            self._members[number] = found
        return self._members[number]

    def offset(self, struct_name: str, *names: str) -> int | None:
        """The offset of a member, also in an anonymous struct: the first of these names that there is."""
        number = self.struct(struct_name)
        if number is None:
            return None
        return next((found[0] for name in names if (found := self._find(number, name)) is not None), None)

    def member(self, number: int, name: str) -> tuple[int, int] | None:
        """The offset and type of a member, also in an anonymous struct."""
        return self._find(self.plain(number), name)

    def _find(self, number: int, name: str) -> tuple[int, int] | None:
        for member in self.members(number):
            if member.name == name:
                return member.offset, member.type
            inner = self.plain(member.type)
            if not member.name and self.kind(inner) in (STRUCT, UNION) and (found := self._find(inner, name)) is not None:
                return member.offset + found[0], found[1]
        return None

    def path(self, number: int, offset: int, deep: bool = True) -> str:
        """What is at an offset: members' names, `.` between them, `[]` for an array's element. Not `deep`: the first only."""
        number = self.plain(number)
        kind = self.kind(number)
        if kind == ARRAY:
            element, _ = self._array(number)
            size = self.size(element)
            inner = self.path(element, offset % size, deep) if size else ""
            return f"[]{'.' if inner and not inner.startswith('[') else ''}{inner}" if deep else "[]"
        if kind not in (STRUCT, UNION):
            return ""
        around = [m for m in self.members(number) if m.offset <= offset < m.offset + self.size(m.type)]
        open_ended = [m for m in self.members(number)[-1:] if m.offset <= offset and not self.size(m.type)]
        found = next(iter(around or open_ended), None)
        if found is None:
            return ""
        inner = self.path(found.type, offset - found.offset, deep) if deep or not found.name else ""
        if not found.name or not inner:
            return found.name or inner
        return f"{found.name}{'' if inner.startswith('[') else '.'}{inner}"

    def pointers(self, number: int, before: str = "", base: int = 0, limit: int = 64) -> Iterator[tuple[int, str, int]]:
        """The pointers in a type: offset, path, and what they point to. Of long arrays only the first `limit` elements."""
        number = self.plain(number)
        kind = self.kind(number)
        if kind == POINTER:
            yield base, before, self.target(number)
        elif kind == ARRAY:
            element, count = self._array(number)
            size = self.size(element)
            for n in range(min(count, limit) if size else 0):
                yield from self.pointers(element, f"{before}[]", base + n * size, limit)
        elif kind in (STRUCT, UNION):
            for member in self.members(number):
                name = f"{before}.{member.name}" if before and member.name else before or member.name
                yield from self.pointers(member.type, name, base + member.offset, limit)

    def _array(self, number: int) -> tuple[int, int]:
        if number < self._first and self._base:
            return self._base._array(number)
        element, _, count = struct.unpack_from("<III", self._data, self._places[number - self._first] + 12)
        return element, count

    def _raw(self, number: int) -> tuple[int, str, int]:
        if number == 0:
            return 0, "void", 0
        if number < self._first and self._base:
            return self._base._raw(number)
        name, info, last = struct.unpack_from("<III", self._data, self._places[number - self._first])
        return info >> 24 & 0x1F, self._string(name), last

    def _string(self, offset: int) -> str:
        if offset < self._first_string and self._base:
            return self._base._string(offset)
        offset -= self._first_string
        return self._strings[offset : self._strings.index(b"\0", offset)].decode(errors="replace")


def section(elf: bytes, base: Btf | None = None) -> Btf | None:
    """The types in an ELF file; None if it has none."""
    try:
        found = ELFFile(io.BytesIO(elf)).get_section_by_name(".BTF")
        return Btf(found.data(), base) if found is not None else None
    except (ELFError, ValueError, struct.error, IndexError):
        return None


def end_of_text(elf: bytes) -> int:
    """Where a kernel's code ends; the highest address if that is not known."""
    try:
        text = ELFFile(io.BytesIO(elf)).get_section_by_name(".text")
    except ELFError:
        text = None
    return int(text["sh_addr"] + text["sh_size"]) if text is not None else 1 << 64
