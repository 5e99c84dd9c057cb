# SPDX-License-Identifier: GPL-2.0-or-later
"""The types of a module from DWARF, where it has no BTF: a driver built out of tree, without pahole.

Only the module's own types are taken; those that the kernel's BTF has are the kernel's.
"""

from __future__ import annotations

import io
import struct

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from irqlab.profile.btf import ARRAY, INT, MAGIC, POINTER, STRUCT, UNION, Btf

_KINDS = {"DW_TAG_structure_type": STRUCT, "DW_TAG_union_type": UNION, "DW_TAG_pointer_type": POINTER, "DW_TAG_array_type": ARRAY}
_THROUGH = {"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type"}
_VERSION, _HEADER_BYTES = 1, 24


class _Writer:
    """Makes BTF whose base is the kernel's (Documentation/bpf/btf.rst)."""

    def __init__(self, base: Btf) -> None:
        self._base = base
        self._types: list[bytes] = []
        self._strings = b"\0"
        self._numbers: dict[int, int] = {}

    def number(self, die: DIE | None) -> int:
        """The type of a DIE; 0 (void) if there is none, or if it is of a kind that has no fields."""
        while die is not None and die.tag in _THROUGH:
            die = _type(die)
        if die is None or (die.tag not in _KINDS and die.tag not in ("DW_TAG_base_type", "DW_TAG_enumeration_type")):
            return 0
        if die.offset in self._numbers:
            return self._numbers[die.offset]
        name, size = _name(die), _value(die, "DW_AT_byte_size")
        kind = _KINDS.get(die.tag, INT)
        if kind in (STRUCT, UNION) and name and (known := self._base.struct(name)) is not None:
            self._numbers[die.offset] = known
            return known
        if kind in (STRUCT, UNION) and "DW_AT_declaration" in die.attributes:
            return 0
        number = self._base.count + len(self._types)
        self._numbers[die.offset] = number
        self._types.append(b"")
        place = len(self._types) - 1
        if kind == POINTER:
            content = struct.pack("<III", 0, POINTER << 24, self.number(_type(die)))
        elif kind == ARRAY:
            count = 1
            for child in die.iter_children():
                count *= _value(child, "DW_AT_count") or _value(child, "DW_AT_upper_bound", -1) + 1
            content = struct.pack("<IIIIII", 0, ARRAY << 24, 0, self.number(_type(die)), 0, count)
        elif kind == INT:
            content = struct.pack("<IIII", self._string(name), INT << 24, size, size * 8)
        else:
            members = [child for child in die.iter_children() if child.tag == "DW_TAG_member"]
            content = b"".join(struct.pack("<III", self._string(_name(m)), self.number(_type(m)), _bits(m)) for m in members)
            content = struct.pack("<III", self._string(name), kind << 24 | len(members), size) + content
        self._types[place] = content
        return number

    def done(self) -> bytes:
        """The types so far, as BTF."""
        types = b"".join(self._types)
        head = struct.pack("<HBBIIIII", MAGIC, _VERSION, 0, _HEADER_BYTES, 0, len(types), len(types), len(self._strings))
        return head + types + self._strings

    def _string(self, text: str) -> int:
        if not text:
            return 0
        at = self._base.end_of_strings + len(self._strings)
        self._strings += text.encode() + b"\0"
        return at


def _type(die: DIE) -> DIE | None:
    return die.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in die.attributes else None


def _name(die: DIE) -> str:
    found = die.attributes.get("DW_AT_name")
    return found.value.decode(errors="replace") if found else ""


def _value(die: DIE, name: str, default: int = 0) -> int:
    found = die.attributes.get(name)
    return found.value if found and isinstance(found.value, int) else default


def _bits(member: DIE) -> int:
    if "DW_AT_data_bit_offset" in member.attributes:
        return _value(member, "DW_AT_data_bit_offset")
    return _value(member, "DW_AT_data_member_location") * 8


def types(elf: bytes, base: Btf) -> bytes | None:
    """BTF of the structs of a module's file with debugging information that the kernel does not have; None: there is no DWARF."""
    try:
        file = ELFFile(io.BytesIO(elf))
        if not file.has_dwarf_info():
            return None
        writer = _Writer(base)
        for unit in file.get_dwarf_info().iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                if die.tag == "DW_TAG_structure_type" and _name(die) and base.struct(_name(die)) is None:
                    writer.number(die)
    except (ELFError, DWARFError, KeyError, struct.error):
        return None
    return writer.done()
