# SPDX-License-Identifier: GPL-2.0-or-later
"""The symbols of a testbed's DUT."""

from __future__ import annotations

from irqlab.files import write_atomically
from irqlab.profile.symbols import Symbols
from irqlab.setup import paths
from irqlab.trials.testbed import Testbed

KALLSYMS = ("grep", "-i", " [tw] ", "/proc/kallsyms")


def symbols(testbed: Testbed) -> Symbols:
    """The symbols of the DUT, including the driver's. Read from a separate DUT, and stored beside the snapshot."""
    kept = testbed.prepared.state.parent / "kallsyms"
    with paths.locked(f"symbols-{kept.parent.name}"):
        try:
            text = kept.read_text()
        except OSError:
            with testbed.open() as dut:
                text = dut.run(*KALLSYMS) + "\0" + (dut.read("/proc/modules")["/proc/modules"] or "")
            write_atomically(kept, text.encode())
    kallsyms, _, modules = text.partition("\0")
    return Symbols.parse(kallsyms, modules)
