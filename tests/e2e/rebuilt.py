# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of the kernel's 8139cp as a user has them: unchanged, with functions in another order, moved, with a planted cost."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from irqlab.perturb import align
from irqlab.setup import drivers, kernel, kernel_sources

NAME = "my8139"
PLACES = {
    "receive": "\t\tlen = (status & 0x1fff) - 4;\n\t\tmapping = le64_to_cpu(desc->addr);\n",
    "transmit": "\tunsigned long intr_flags;\n\t__le32 opts2;\n\tint mss = 0;\n",
}
"""Lines after which a cost is planted: in cp_rx_poll and in cp_start_xmit, once per frame."""
POLL = "\tcpw16(IntrStatus, cp_rx_intr_mask);\n\n\twhile (rx < budget) {\n"
XMIT = PLACES["transmit"]


def source() -> str:
    """Debian's driver."""
    return (kernel_sources.debian("6.1").path / "drivers/net/ethernet/realtek/8139cp.c").read_text()


def loop(rounds: int) -> str:
    """C code that executes 2 * `rounds` + 1 instructions."""
    return f'\t{{ unsigned int cp_n = {rounds}; asm volatile("1: dec %0; jnz 1b" : "+r" (cp_n)); }}\n'


def after(text: str, place: str, code: str) -> str:
    """The source with code after some lines of it."""
    assert text.count(place) == 1, place
    return text.replace(place, place + code)


def module(text: str, to: Path) -> Path:
    """Builds the driver; writes it to a directory."""
    return _written(_built({"Kbuild": _kbuild(), f"{NAME}.c": text}) / f"{NAME}.ko", to)


def shuffled(text: str, seed: int, to: Path) -> Path:
    """Builds the driver with its functions in another order: the compiler's assembly is put together anew."""
    assembly = (_built({"Kbuild": f"{_kbuild()}always-y := {NAME}.s\n", f"{NAME}.c": text}) / f"{NAME}.s").read_text()
    return _written(_built({"Kbuild": _kbuild(), f"{NAME}.S": reordered(assembly, seed)}) / f"{NAME}.ko", to)


def moved(built: Path, by: int, to: Path) -> Path:
    """A module whose functions are at other addresses, `by` bytes higher."""
    to.mkdir(parents=True)
    (to / built.name).write_bytes(align.shifted(built.read_bytes(), by))
    return to / built.name


def reordered(assembly: str, seed: int) -> str:
    """GCC's output with the functions of .text in a random order."""
    lines, section = assembly.splitlines(keepends=True), ""
    found: list[str] = []
    functions: dict[int, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        if re.match(r"\t\.(text|section|data|bss)\b", line):
            section = line
        begin = re.match(r"\t\.type\t([^,]+), @function", line)
        if begin is None or section != "\t.text\n":
            found.append(line)
            at += 1
            continue
        before = []
        while found and re.match(r"\t\.(p2align|globl|local|weak)\b", found[-1]):
            before.insert(0, found.pop())
        end = lines.index(f"\t.size\t{begin[1]}, .-{begin[1]}\n", at)
        if f"\t.size\t{begin[1]}.cold, .-{begin[1]}.cold\n" in lines[end + 1 : end + 4]:  # its cold part ends in another section
            end = next(n for n in range(end, len(lines)) if lines[n].startswith(".LHOTE"))
        functions[len(found)] = "\t.text\n" + "".join([*before, *lines[at : end + 1]])
        found += ["", "\t.text\n"]
        at = end + 1
    order = list(functions.values())
    Random(seed).shuffle(order)
    for place, function in zip(functions, order, strict=True):
        found[place] = function
    return "".join(found)


def _kbuild() -> str:
    return f"obj-m := {NAME}.o\n"


def _built(files: dict[str, str]) -> Path:
    return drivers.build_files(kernel.resolve(), {name: content.encode() for name, content in files.items()})


def _written(built: Path, to: Path) -> Path:
    to.mkdir(parents=True)
    (to / built.name).write_bytes(built.read_bytes())
    return to / built.name
