# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the endbr64 instructions per frame (docs/use/history.md): the entries of functions whose first instruction it is.

    python -m tools.count_endbr KERNEL DRIVER RATE_PPS profile.json

The file gets instructions, entries and endbr64 per frame by function, for comparisons.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.methods import profile
from irqlab.profile.owners import bare_name
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

ENDBR64 = b"\xf3\x0f\x1e\xfa"
Starts = dict[tuple[str | None, str], bytes]
"""(module, function) -> its first four bytes."""


def of_kernel(testbed: Testbed) -> Starts:
    """The kernel's functions: addresses from /proc/kallsyms, bytes from vmlinux."""
    kallsyms, _, _ = (testbed.prepared.state.parent / "kallsyms").read_text().partition("\0")
    data = testbed.machine.kernel.vmlinux.read_bytes()
    loads = [segment.header for segment in ELFFile(io.BytesIO(data)).iter_segments("PT_LOAD")]
    found: Starts = {}
    for line in kallsyms.splitlines():
        address, _, name, *module = line.split()
        for load in loads:
            begin = int(address, 16) - load.p_vaddr + load.p_offset
            if not module and load.p_offset <= begin < load.p_offset + load.p_filesz:
                found.setdefault((None, name), data[begin : begin + 4])
    return found


def of_modules(testbed: Testbed) -> Starts:
    """The functions of the driver and the modules it needs."""
    found: Starts = {}
    for module in testbed.modules:
        elf = ELFFile(io.BytesIO(module.data))
        table = elf.get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols():
            if symbol.entry.st_info.type == "STT_FUNC" and isinstance(symbol.entry.st_shndx, int):
                begin = elf.get_section(symbol.entry.st_shndx).header.sh_offset + symbol.entry.st_value
                found[module.name, symbol.name] = module.data[begin : begin + 4]
    return found


def main() -> None:
    """Profiles, counts, prints."""
    if len(sys.argv) != 5:
        sys.exit("usage: python -m tools.count_endbr KERNEL DRIVER RATE_PPS profile.json")
    kernel, driver, rate_pps, out = sys.argv[1:]
    testbed = Testbed.resolve(TestbedConfig(driver, kernel=kernel))
    row = profile.run(TrialRunner(testbed), Workload(), rate_pps=float(rate_pps))
    starts, frames = of_kernel(testbed) | of_modules(testbed), row.summary.frames
    functions: dict[str, dict[str, float]] = {}
    for sample in row.samples:
        sums = functions.setdefault(bare_name(sample.function), {"instructions": 0.0, "entries": 0.0, "endbr64": 0.0})
        sums["instructions"] += sample.instructions / frames
        sums["entries"] += sample.entries / frames
        if starts.get((sample.module, sample.function)) == ENDBR64:
            sums["endbr64"] += sample.entries / frames
    Path(out).write_text(json.dumps(functions, indent=1))
    total = {key: sum(sums[key] for sums in functions.values()) for key in ("instructions", "entries", "endbr64")}
    print(f"{kernel} {driver}: " + ", ".join(f"{value:.1f} {key}" for key, value in total.items()) + " per frame")


if __name__ == "__main__":
    main()
