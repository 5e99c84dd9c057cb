# SPDX-License-Identifier: GPL-2.0-or-later
"""The symbols of a testbed's DUT."""

from __future__ import annotations

from irqlab.dut.agent import Agent
from irqlab.files import write_atomically
from irqlab.profile.symbols import Symbols
from irqlab.setup import paths
from irqlab.trials.testbed import Testbed

FUNCTIONS = "tw"
INTERFACES = "init_net"
"""The variable in which the list of interfaces begins."""


def of_types(dut: Agent, types: str, also: str = "") -> str:
    """The lines of the DUT's /proc/kallsyms with symbols of these types, local and global, and of the symbol `also`."""
    wanted = [f" {one} " for letter in types for one in (letter, letter.upper())] + ([f" {also}"] if also else [])
    # Fixed strings: busybox takes three times as long for regular expressions.
    text = dut.run("grep", "-F", *(word for one in wanted for word in ("-e", one)), "/proc/kallsyms")
    lines = (line.split(" ", 2) for line in text.splitlines(keepends=True))
    return "".join(" ".join(line) for line in lines if line[1].lower() in types or line[2].rstrip("\n") == also)


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
            with testbed.open(pooled=True) as dut:
                text = of_types(dut, FUNCTIONS, INTERFACES) + "\0" + (dut.read("/proc/modules")["/proc/modules"] or "")
            write_atomically(kept, text.encode())
    kallsyms, _, modules = text.partition("\0")
    return kallsyms, modules
