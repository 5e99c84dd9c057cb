# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known about a kernel before a trial: areas of addresses, variables, types.

Source: Documentation/arch/x86/x86_64/mm.rst, of Linux 6.1 to 7.3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from irqlab.profile.btf import Btf

DIRECT_MAP = (0xFFFF_8880_0000_0000, 0xFFFF_C880_0000_0000)
VMALLOC = (0xFFFF_C900_0000_0000, 0xFFFF_E900_0000_0000)
VMEMMAP = (0xFFFF_EA00_0000_0000, 0xFFFF_EB00_0000_0000)
CPU_ENTRY = (0xFFFF_FE00_0000_0000, 0xFFFF_FE80_0000_0000)
"""The processor's own tables (cpu_entry_area): IDT, GDT, TSS."""
IMAGE = (0xFFFF_FFFF_8000_0000, 0xFFFF_FFFF_FF00_0000)
"""The kernel's image and its modules."""
KERNEL = 0xFFFF_8000_0000_0000
"""Where user space ends."""


def within(address: int, area: tuple[int, int]) -> bool:
    """Whether an address is in an area."""
    return area[0] <= address < area[1]


@dataclass(frozen=True)
class Variable:
    """A symbol for data."""

    address: int
    name: str
    module: str | None


@dataclass(frozen=True)
class Area:
    """A range of addresses that was allocated at once."""

    begin: int
    end: int
    name: str


@dataclass
class Known:
    """What is known about a kernel before a trial."""

    variables: Sequence[Variable]
    areas: Sequence[Area] = ()
    """/proc/vmallocinfo."""
    types: Btf | None = None
    module_types: Mapping[str, Btf] = field(default_factory=dict)
    driver: str = ""
    """The module under test."""

    def __post_init__(self) -> None:
        best: dict[int, Variable] = {}
        for one in self.variables:
            known = best.get(one.address)
            if known is None or _rank(one) < _rank(known):
                best[one.address] = one
        self._starts = sorted(best)
        self._sorted = [best[address] for address in self._starts]
        self._by_name = {v.name: v.address for v in reversed(self.variables)}

    def address(self, *names: str) -> int | None:
        """The address of the first of these variables that there is."""
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    def variable(self, address: int) -> Variable | None:
        """The variable that begins last at or before an address."""
        at = bisect_right(self._starts, address) - 1
        return self._sorted[at] if at >= 0 else None


def _rank(variable: Variable) -> tuple[bool, int, str]:
    """Sort key for the names of an address: no marks of the linker's, no underscores."""
    name = variable.name
    return name.startswith("__") or "start" in name or "end" in name, len(name) - len(name.lstrip("_")), name
