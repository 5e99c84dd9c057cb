# SPDX-License-Identifier: GPL-2.0-or-later
"""Which instructions of a driver were the next ones when something was made to happen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated

from irqlab import units
from irqlab.config.values import Count
from irqlab.present.columns import Col
from irqlab.profile.listing import Instruction, Listing


@dataclass(frozen=True)
class Line:
    """An instruction, for the report's listing."""

    offset: Annotated[Count, Col("Offset", format=lambda n: f"{n:#x}", title="into the function")]
    tried: Annotated[bool, Col("Tried", format=lambda tried: "●" if tried else "", mark=lambda tried: "good" if tried else "")]
    text: Annotated[str, Col("Instruction")]
    source: Annotated[str, Col("Source")]
    """file:line; empty: not known."""


@dataclass(frozen=True)
class Function:
    """A function of the driver."""

    function: Annotated[str, Col("Function")]
    instructions: Annotated[Count, Col("Instructions", format=units.whole)]
    """Without those that only fill space."""
    tried: Annotated[Count, Col("Tried", format=units.whole, title="instructions at which an arrival was tried")]
    listing: tuple[Line, ...] = ()
    """Of functions with an instruction that was tried."""

    @property
    def share(self) -> float:
        """Of its instructions, those that were tried."""
        return self.tried / self.instructions if self.instructions else 0.0


def coverage(code: Listing, tried: Collection[int]) -> list[Function]:
    """The functions of a driver, those with most instructions tried first; `tried`: addresses."""
    found = [_function(name, list(body), tried) for name, body in groupby(code.instructions, lambda one: one.function)]
    return sorted((one for one in found if one.instructions), key=lambda one: (-one.tried, one.function))


def _function(name: str, body: list[Instruction], tried: Collection[int]) -> Function:
    real = [one for one in body if not one.pads]
    hit = sum(one.address in tried for one in real)
    lines = tuple(Line(one.address - body[0].address, one.address in tried, one.text, one.line) for one in real) if hit else ()
    return Function(name, len(real), hit, lines)


def totals(functions: Iterable[Function]) -> tuple[int, int]:
    """Instructions, and those that were tried."""
    known = list(functions)
    return sum(one.instructions for one in known), sum(one.tried for one in known)


def lines(functions: Iterable[Function]) -> Iterator[tuple[Function, Line]]:
    """All lines of the listings."""
    for function in functions:
        for line in function.listing:
            yield function, line
