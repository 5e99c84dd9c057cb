# SPDX-License-Identifier: GPL-2.0-or-later
"""The instructions of a module: address in the DUT, text, function, and source line. From objdump and addr2line (binutils)."""

from __future__ import annotations

import re
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irqlab.errors import IrqlabError
from irqlab.setup import buildroot

BINUTILS = "bookworm"
"""The release whose binutils are used."""
MOST_BYTES = 15
"""Of an instruction (Intel SDM, volume 2, 2.3.11)."""

_FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.*)$")
_SECTION = re.compile(r"^Disassembly of section (\S+):$")
_TREE = re.compile(r"^(/usr/src/linux-headers-[^/]+/|/source/|/objects/|\./)|^.*/(?=drivers/(net|usb)/)")
_PADDING = re.compile(r"^(data16 |cs )*(nop[wl]?\b|xchg   %ax,%ax)|^int3")


@dataclass(frozen=True)
class Instruction:
    """An instruction of a module."""

    address: int
    """In the DUT."""
    text: str
    """In AT&T's syntax, before the module was relocated."""
    function: str
    line: str
    """file:line; empty: not known."""
    next: int
    """The address after it."""

    @property
    def pads(self) -> bool:
        """Whether it fills the space behind a function, or between loops, and does nothing."""
        return bool(_PADDING.match(self.text))


@dataclass(frozen=True)
class Listing:
    """The code of modules, in the order of addresses."""

    instructions: Sequence[Instruction]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", [one.address for one in self.instructions])

    def at(self, address: int) -> Instruction | None:
        """The instruction at an address; None: there is none.

        Within an instruction it is one without text: when the kernel loads a module, it replaces some by several shorter ones.
        """
        starts: list[int] = self._starts  # type: ignore[attr-defined]
        found = bisect_right(starts, address) - 1
        one = self.instructions[found] if found >= 0 else None
        if one is None or one.address == address:
            return one
        return replace(one, address=address, text="") if address < min(one.next, one.address + MOST_BYTES) else None

    def entries(self) -> dict[int, str]:
        """The functions by their first address."""
        found: dict[int, str] = {}
        last = ""
        for one in self.instructions:
            if one.function != last:
                found[one.address] = last = one.function
        return found


def of_module(code: bytes, sections: Mapping[str, int], debug: Path | None) -> list[Instruction]:
    """Disassembles a module's file; `sections`: where they are in the DUT; `debug`: its debugging information.

    Raises IrqlabError.
    """
    with tempfile.NamedTemporaryFile(suffix=".ko") as file:
        file.write(code)
        file.flush()
        text = _run("objdump", ["-d", "--no-show-raw-insn", "-w", file.name])
    found: list[tuple[str, int, str, str]] = []
    section = function = ""
    for line in text.splitlines():
        if match := _SECTION.match(line):
            section = match[1]
        elif match := _FUNCTION.match(line):
            function = match[2]
        elif (match := _INSTRUCTION.match(line)) and section in sections and section.startswith((".text", ".noinstr")):
            found.append((section, int(match[1], 16), match[2].split("#")[0].strip(), function))
    lines = _lines(debug, [(name, offset) for name, offset, *_ in found]) if debug is not None else [""] * len(found)
    placed = [
        (sections[name] + offset, text, function, line) for (name, offset, text, function), line in zip(found, lines, strict=True)
    ]
    placed.sort()
    after = [*(address for address, *_ in placed[1:]), 0]
    return [Instruction(*one, end) for one, end in zip(placed, after, strict=True)]


def _lines(debug: Path, places: Sequence[tuple[str, int]]) -> list[str]:
    """The source lines of offsets into sections."""
    found: dict[tuple[str, int], str] = {}
    for section in dict.fromkeys(name for name, _ in places):
        offsets = [offset for name, offset in places if name == section]
        said = _run("addr2line", ["-a", "-i", "-e", str(debug), "-j", section], "\n".join(map(hex, offsets)))
        for offset, places_ in zip(offsets, re.split(r"^0x[0-9a-f]+\n", said, flags=re.MULTILINE)[1:], strict=False):
            found[section, offset] = _source(places_.splitlines())
    return [found.get(place, "") for place in places]


def _source(inlined: Sequence[str]) -> str:
    """The driver's line, of those that an instruction belongs to: the innermost that is in no header of the kernel."""
    known = [line.partition(" ")[0] for line in inlined if "?" not in line]
    own = [line for line in known if "/include/" not in line]
    return _TREE.sub("", (own or known or [""])[0])


def _run(program: str, arguments: list[str], text: str | None = None) -> str:
    """The output of one of binutils."""
    words = buildroot.get(BINUTILS).outside(f"usr/bin/{program}")
    done = subprocess.run([*words, *arguments], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise IrqlabError(f"{program} fails: {done.stderr.strip()}")
    return done.stdout
