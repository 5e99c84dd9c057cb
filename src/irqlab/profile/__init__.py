# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact profiles: instructions per frame by function, context and owner (docs/use/measuring.md, "A profile")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from irqlab.profile.tree import Row, Stack, stacks, totals
from irqlab.results.document import MethodResult


@dataclass(frozen=True)
class Function:
    """Cost of one function in one context, per frame forwarded."""

    name: str
    module: str | None
    """None: the kernel image."""
    owner: str
    context: str
    instructions_per_frame: float
    entries_per_frame: float
    """Number of entries."""


@dataclass(frozen=True)
class Profile:
    """A profile, per frame forwarded in the measured window."""

    result: MethodResult
    """The row of `measured.results` (docs/use/results.md)."""

    @cached_property
    def _row(self) -> Row:
        return self.result.to_json()

    @property
    def frames(self) -> int:
        """Frames forwarded in the window, all directions together; frames offered if none was forwarded."""
        return int(self._row["summary"]["frames"])

    @property
    def instructions_per_frame(self) -> float:
        """The sum over all functions."""
        return float(self._row["summary"]["instructions"] / self.frames)

    @property
    def residual(self) -> int:
        """Instructions of QEMU's counter that are missing from the profile, in the whole window."""
        return int(self._row["summary"]["residual"])

    def by_function(self) -> list[Function]:
        """Functions per context, most expensive first."""
        return [
            Function(
                p["function"], p["module"], p["owner"], p["context"], p["instructions"] / self.frames, p["entries"] / self.frames
            )
            for p in self._row["samples"]
        ]

    def by_owner(self) -> dict[str, float]:
        """Instructions per frame by owner (irqlab.profile.owners), the largest first."""
        return {name: count / self.frames for name, count in totals(self._row["samples"], "owner").items()}

    def by_context(self) -> dict[str, float]:
        """Instructions per frame by context: hardirq, softirq, process, idle; the largest first."""
        return {name: count / self.frames for name, count in totals(self._row["samples"], "context").items()}

    @property
    def stacks(self) -> list[Stack]:
        """Every stack of functions, with the instructions executed in the innermost one in the whole window."""
        return list(stacks(self._row))
