# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the driver's code is in the DUT."""

from __future__ import annotations

import io

from elftools.elf.elffile import ELFFile

from irqlab.debug.symbols import sections_of
from irqlab.debug.trace import driver_modules
from irqlab.errors import IrqlabError
from irqlab.trials.testbed import Testbed

SHF_EXECINSTR = 4


def code_of(testbed: Testbed) -> tuple[tuple[int, int], ...]:
    """Where the driver's code is in the DUT: begin, end. Raises IrqlabError."""
    placed = sections_of(testbed)
    found = []
    for module in driver_modules(testbed):
        known = placed.get(module.name, {})
        for section in ELFFile(io.BytesIO(module.data)).iter_sections():
            if section["sh_flags"] & SHF_EXECINSTR and section["sh_size"] and section.name in known:
                found.append((known[section.name], known[section.name] + section["sh_size"]))
    if not found:
        raise IrqlabError(f"the DUT does not say where the code of {testbed.driver} is")
    return tuple(sorted(found))
