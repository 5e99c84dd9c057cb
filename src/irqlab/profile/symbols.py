# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions of the DUT's kernel by address, from its /proc/kallsyms (the packaged System.map is a stub)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

KERNEL_BASE = 0xFFFF_8000_0000_0000
"""Kernel addresses begin here (Documentation/x86/x86_64/mm.rst)."""

USER = "(user space)"
NOWHERE = "(no symbol)"
MOST_PROCESSORS = 64

LINKER_MARK = re.compile(r"_(s|e)?text$|_text_(start|end)$|^_(s|e)inittext$|^__pfx_|^_?_?(start|end)_")
"""Symbols for positions in the image (include/asm-generic/vmlinux.lds.h) or padding, not functions."""


@dataclass(frozen=True)
class Symbol:
    """A function: start address, name, and module (None: the kernel image)."""

    address: int
    name: str
    module: str | None = None


class Symbols:
    """Functions sorted by address."""

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        best: dict[int, Symbol] = {}
        for symbol in symbols:
            known = best.get(symbol.address)
            if known is None or _rank(symbol) < _rank(known):
                best[symbol.address] = symbol
        self._sorted = [best[address] for address in sorted(best)]
        self._starts = [symbol.address for symbol in self._sorted]

    @classmethod
    def parse(cls, kallsyms: str, modules: str = "") -> Symbols:
        """Reads /proc/kallsyms (the functions of it: types t, T, w, W) and /proc/modules."""
        symbols = []
        for line in kallsyms.splitlines():
            fields = line.split()
            if len(fields) >= 3 and fields[1] in "tTwW" and int(fields[0], 16) >= KERNEL_BASE:
                module = fields[3].strip("[]") if len(fields) > 3 else None
                symbols.append(Symbol(int(fields[0], 16), fields[2], module))
        return cls([*symbols, *_ends(symbols, modules)])

    @property
    def addresses(self) -> list[int]:
        """Start addresses of functions, ascending."""
        return self._starts

    def at(self, address: int) -> Symbol:
        """The function that contains an address; 1 to MOST_PROCESSORS are the roots of processors' stacks."""
        if 0 < address <= MOST_PROCESSORS:
            return Symbol(address, f"processor {address - 1}")
        if address < KERNEL_BASE:
            return Symbol(0, USER)
        index = bisect_right(self._starts, address) - 1
        return self._sorted[index] if index >= 0 else Symbol(KERNEL_BASE, NOWHERE)

    def of_kernel(self, begin: int) -> list[Symbol]:
        """The kernel image's symbols from an address on."""
        return [s for s in self._sorted[bisect_left(self._starts, begin) :] if s.module is None]

    def named(self, pattern: re.Pattern[str]) -> list[int]:
        """The addresses of the kernel image's functions whose whole name matches."""
        return [s.address for s in self._sorted if s.module is None and pattern.fullmatch(s.name)]


def _rank(symbol: Symbol) -> tuple[bool, int, int, str]:
    """Sort key for aliases of an address: prefers functions, no underscores, short names."""
    name = symbol.name
    return bool(LINKER_MARK.search(name)), len(name) - len(name.lstrip("_")), len(name), name


def _ends(symbols: list[Symbol], modules: str) -> Iterable[Symbol]:
    """Markers for the end of each module (/proc/modules: name, bytes, ..., address)."""
    starts = sorted(s.address for s in symbols)
    for line in modules.splitlines():
        fields = line.split()
        if len(fields) < 6:
            continue
        own = [s.address for s in symbols if s.module == fields[0]]
        end = int(fields[5], 16) + int(fields[1])
        if own and bisect_right(starts, max(own)) == bisect_right(starts, end):
            yield Symbol(end, NOWHERE)
