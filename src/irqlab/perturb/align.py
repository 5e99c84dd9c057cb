# SPDX-License-Identifier: GPL-2.0-or-later
"""The code of all loaded modules begins some bytes later in its section, so that functions have another alignment.

The module file is changed: any driver can be shifted, ours or the kernel's. A signature is lost, as if it had been built here.
"""

from __future__ import annotations

import hashlib
import io
import struct
from dataclasses import replace
from random import Random

from elftools.elf.elffile import ELFFile

from irqlab.errors import IrqlabError
from irqlab.perturb.perturbation import Perturbation
from irqlab.setup.bootable import Kernel
from irqlab.setup.modules import Module

STEP, LONGEST = 16, 4096
"""Functions are aligned to 16 bytes by the compiler; beyond a page nothing new comes."""
NOP = b"\x90"
_SYMBOL, _VALUE_AT, _SECTION_AT = 24, 8, 6
_RELOCATION = 24
_OFFSET_AT, _SIZE_AT = 24, 32
"""Of Elf64_Sym, Elf64_Rela and Elf64_Shdr (elf(5))."""


def shifted(data: bytes, by: int) -> bytes:
    """A module whose section .text has `by` bytes of padding before it. Raises IrqlabError if it has no such section."""
    elf = ELFFile(io.BytesIO(data))
    number = elf.get_section_index(".text")
    if number is None or not elf.get_section(number)["sh_size"]:
        raise IrqlabError("--perturb align: a module has no code in .text")
    text, table, made = elf.get_section(number), elf.get_section_by_name(".symtab"), bytearray(data)
    assert table is not None
    for at in range(table["sh_offset"], table["sh_offset"] + table["sh_size"], _SYMBOL):
        # Symbols of sections too: relocations relative to .text then need no change.
        if struct.unpack_from("<H", made, at + _SECTION_AT)[0] == number:
            _add(made, at + _VALUE_AT, by)
    for section in elf.iter_sections("SHT_RELA"):
        if section["sh_info"] == number:
            for at in range(section["sh_offset"], section["sh_offset"] + section["sh_size"], _RELOCATION):
                _add(made, at, by)
    made += bytes(-len(made) % STEP)
    header = elf["e_shoff"] + number * elf["e_shentsize"]
    struct.pack_into("<Q", made, header + _OFFSET_AT, len(made))
    struct.pack_into("<Q", made, header + _SIZE_AT, by + text["sh_size"])
    return bytes(made) + NOP * by + bytes(text.data())


def _add(data: bytearray, at: int, by: int) -> None:
    struct.pack_into("<Q", data, at, struct.unpack_from("<Q", data, at)[0] + by)


def _modules(_: Kernel, loaded: list[Module], random: Random) -> list[Module]:
    return [_shifted(module, STEP * (1 + int(random.random() * (LONGEST / STEP - 1)))) for module in loaded]


def _shifted(module: Module, by: int) -> Module:
    data = shifted(module.data, by)
    return replace(module, data=data, sha256=hashlib.sha256(data).hexdigest())


PERTURBATION = Perturbation(
    name="align",
    help="the alignment of the functions of all loaded modules",
    modules=_modules,
)
