# SPDX-License-Identifier: GPL-2.0-or-later
"""What GDB has to know of a DUT: names of functions, debugging information, and where modules were loaded."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.profile.kallsyms import symbols
from irqlab.profile.symbols import KERNEL_BASE, Symbols
from irqlab.setup import debug_symbols, drivers, paths
from irqlab.trials.testbed import Testbed

_SECTION = re.compile(r"^/sys/module/([^/]+)/sections/(\S+):(0x[0-9a-f]+)$", re.MULTILINE)
USED = (".text", ".data", ".bss", ".rodata", ".init.text", ".text.unlikely", ".data..read_mostly", ".rodata.str1.1")
"""Sections that GDB is told of; modules have others, for the kernel only."""


@dataclass(frozen=True)
class Files:
    """Files for GDB."""

    names: Path
    """An ELF file with the names of all functions."""
    kernel: Path | None
    """With debugging information."""
    modules: Mapping[str, tuple[Path, Mapping[str, int]]]
    """Files with debugging information, and where their sections are."""
    sources: tuple[Path, ...]
    """Directories that sources are looked for in."""

    @property
    def commands(self) -> list[str]:
        """GDB's commands that load them."""
        lines = [f"directory {path}" for path in reversed(self.sources)]
        lines.append(f"file {self.kernel or self.names}")
        for path, sections in self.modules.values():
            where = " ".join(f"-s {name} {address:#x}" for name, address in sections.items())
            lines.append(f"add-symbol-file {path} {where}")
        return lines


def files(testbed: Testbed, kernel_symbols: bool, sources: Sequence[Path] = ()) -> Files:
    """The files of a testbed. `kernel_symbols`: with the kernel's, which are downloaded if need be. Raises SetupError."""
    kernel = debug_symbols.of_kernel(testbed.machine.kernel, fetch=True) if kernel_symbols else None
    sections = sections_of(testbed)
    modules = {}
    for module in testbed.modules:
        path = debug_symbols.of_module(testbed.machine.kernel, module)
        if path is not None and (found := sections.get(module.name)):
            modules[module.name] = (path, {name: address for name, address in found.items() if name in USED})
    names = testbed.prepared.state.parent / "names.elf"
    with paths.locked(f"names-{names.parent.name}"):
        if not names.is_file():
            write_atomically(names, elf(symbols(testbed)))
    beside = tuple(dict.fromkeys(module.path.parent for module in testbed.modules))
    return Files(names, kernel, modules, (*(path.absolute() for path in sources), drivers.home(), *beside))


def sections_of(testbed: Testbed) -> dict[str, dict[str, int]]:
    """Where the DUT has loaded the sections of its modules. Read from a separate DUT, and stored beside the snapshot."""
    kept = testbed.prepared.state.parent / "sections.json"
    with paths.locked(f"sections-{kept.parent.name}"):
        try:
            found: dict[str, dict[str, int]] = json.loads(kept.read_text())
        except (OSError, json.JSONDecodeError):
            names = [module.name for module in testbed.modules]
            with testbed.open() as dut:
                text = dut.attempt("grep", "-r", "", *(f"/sys/module/{name}/sections" for name in names))["out"]
            found = {}
            for module, section, address in _SECTION.findall(text):
                found.setdefault(module, {})[section] = int(address, 16)
            write_atomically(kept, json.dumps(found).encode())
    return found


def elf(known: Symbols) -> bytes:
    """An ELF file with the functions' names alone. It has one section without content, which covers the upper half of memory."""
    names, table = b"\0", struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for begin, end in zip(known.addresses, [*known.addresses[1:], 1 << 64], strict=True):
        # STB_GLOBAL, STT_FUNC, section 1
        table += struct.pack("<IBBHQQ", len(names), 1 << 4 | 2, 0, 1, begin, min(end - begin, 1 << 20))
        names += known.at(begin).name.encode() + b"\0"
    sections = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    base = 64
    headers = (
        # name, type, flags, address, offset, size, link, info, alignment, size of an entry (elf(5))
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 8, 6, KERNEL_BASE, base, (1 << 64) - 1 - KERNEL_BASE, 0, 0, 1, 0),
        (7, 2, 0, 0, base, len(table), 3, 1, 8, 24),
        (15, 3, 0, 0, base + len(table), len(names), 0, 0, 1, 0),
        (23, 3, 0, 0, base + len(table) + len(names), len(sections), 0, 0, 1, 0),
    )
    content = table + names + sections
    content += b"\0" * (-len(content) % 8)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    # ET_EXEC, x86-64
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 0, base + len(content), 0, 64, 0, 0, 64, len(headers), 4)
    return head + content + b"".join(struct.pack("<IIQQQQIIQQ", *one) for one in headers)
