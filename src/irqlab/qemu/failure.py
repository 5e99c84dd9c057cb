# SPDX-License-Identifier: GPL-2.0-or-later
"""How a machine failed: what QEMU and the DUT's console last said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from irqlab.errors import IrqlabError

CONSOLE_LINES, QEMU_LINES = 40, 10
"""How many lines of the DUT's console and of QEMU's log an error shows."""
REPORT = re.compile(r"\bOops\b|\bBUG: |general protection fault|\[ cut here \]|: 0000 \[#1\]")
"""Lines with which the kernel's reports begin."""
SAME_REPORT = 5
"""Lines that are nearer belong to one report."""
BREAKPOINT = re.compile(r"\bint3: 0000 \[#1\]")
"""How it begins if a processor ran a breakpoint that is nobody's."""


class MachineError(IrqlabError):
    """QEMU or the DUT's kernel died, or did not start; the message includes their last output."""


class PanicError(MachineError):
    """The DUT's kernel panicked."""


class BreakpointError(PanicError):
    """The same by QEMU's fault: a processor runs a breakpoint that the kernel has already removed (docs/use/findings.md)."""


def failed(what: str, console_log: Path, qemu_log: Path, code: int | None) -> MachineError:
    """The error: what happened, how QEMU ended (its exit code; None: it does not answer), the last output of both."""
    console, log = _lines_of(console_log), _lines_of(qemu_log)[-QEMU_LINES:]
    kind = MachineError
    # The call trace, and what comes after the panic, can be longer than what is shown.
    panic = next((number for number, line in enumerate(console) if "Kernel panic" in line), None)
    if panic is not None:
        said = "the DUT's kernel panicked"
        report = _report(console[:panic])
        kind = BreakpointError if any(BREAKPOINT.search(line) for line in console[report:panic]) else PanicError
        shown = console[report : report + CONSOLE_LINES]
        console = shown if panic < report + CONSOLE_LINES else [*shown[:-1], console[panic]]
    elif code is not None and code < 0:
        said = f"QEMU was killed by signal {-code}"
    elif code is None:
        said = "QEMU does not answer"
    else:
        said = f"QEMU ended with exit code {code}"
    if console:
        said += "\n".join(["; the DUT's console:", *(f"  {line}" for line in console[-CONSOLE_LINES:])])
    if log:
        said += "\n".join(["\nQEMU's log:", *(f"  {line}" for line in log)])
    return kind(f"{what}: {said}")


def _report(console: Sequence[str]) -> int:
    """The line with which the last report begins; some lines before the end, if there is none."""
    found = [number for number, line in enumerate(console) if REPORT.search(line)]
    if not found:
        return max(len(console) - CONSOLE_LINES // 2, 0)
    first = found.pop()
    while found and first - found[-1] <= SAME_REPORT:
        first = found.pop()
    return first


def _lines_of(path: Path) -> list[str]:
    """The lines of a log that are not empty; none if it cannot be read."""
    try:
        # After the file was truncated, QEMU continues at its old offset, so the file starts with zeros.
        text = path.read_text(errors="replace").replace("\0", "")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()]
