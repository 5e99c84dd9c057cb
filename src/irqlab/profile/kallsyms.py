# SPDX-License-Identifier: GPL-2.0-or-later
"""The symbols of a testbed's DUT."""

from __future__ import annotations

from irqlab.files import write_atomically
from irqlab.profile.symbols import Symbols
from irqlab.setup import paths
from irqlab.trials.testbed import Testbed

KALLSYMS = ("grep", "-E", "-i", " [tw] | init_net$", "/proc/kallsyms")
"""Functions, and where the list of interfaces begins."""


def symbols(testbed: Testbed) -> Symbols:
    """The symbols of the DUT, including the driver's."""
    return Symbols.parse(*_read(testbed))


def addresses(testbed: Testbed) -> dict[str, int]:
    """The addresses of the DUT's functions, and of init_net, by name; of names that several have, the first."""
    found: dict[str, int] = {}
    for line in _read(testbed)[0].splitlines():
        words = line.split()
        found.setdefault(words[2], int(words[0], 16))
    return found


def _read(testbed: Testbed) -> tuple[str, str]:
    """/proc/kallsyms and /proc/modules. Read from a separate DUT, which takes seconds, and stored beside the snapshot."""
    kept = testbed.prepared.state.parent / "symbols"
    with paths.locked(f"symbols-{kept.parent.name}"):
        try:
            text = kept.read_text()
        except OSError:
            with testbed.open() as dut:
                text = dut.run(*KALLSYMS) + "\0" + (dut.read("/proc/modules")["/proc/modules"] or "")
            write_atomically(kept, text.encode())
    kallsyms, _, modules = text.partition("\0")
    return kallsyms, modules
