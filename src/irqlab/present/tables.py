# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as data, laid out by irqlab.present.terminal and by the report's template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from irqlab import units
from irqlab.present.columns import shown
from irqlab.present.variants import Row


@dataclass(frozen=True)
class Column:
    """A heading; `number` columns are aligned to the right."""

    text: str
    number: bool = True
    title: str = ""
    unit: str = ""
    prose: bool = False
    """Its cells are sentences, which a terminal wraps."""


@dataclass(frozen=True)
class Cell:
    """A cell; `title` is an optional explanation."""

    text: str
    title: str = ""
    mark: str = ""
    """good, warn, bad or strong."""
    swatch: int | None = None
    """The variant whose line style is shown before the text."""
    code: bool = False
    shade: float | None = None
    """Shade of the cell, from 0 to 1, for heat maps."""
    value: float | None = field(default=None, compare=False)
    """The number that `text` shows, if it is one."""
    low: str = ""
    high: str = ""
    """The range of an ensemble's members; empty: it has none, or they show the same."""

    @property
    def range(self) -> str:
        """The range as text; empty: none."""
        return f"{self.low}\u2013{self.high}" if self.low else ""


@dataclass(frozen=True)
class Table:
    """A table; `folded` ones are collapsed in the report."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False
    note: str = ""
    """An explanation of the table."""
    breaks: frozenset[int] = frozenset()
    """Rows followed by a gap."""


def of_lines(line_type: type, lines: Sequence[Any], caption: str, note: str = "", folded: bool = False) -> Table:
    """A table with a row for each of `lines`: instances of a dataclass that declares the columns (irqlab.present.columns)."""
    columns = shown(line_type, lines)
    headings = [Column(c.col.heading, c.number, c.col.title, c.col.unit) for c in columns]
    rows = [[Cell(c.text(line), mark=c.mark(line), value=_number(c.value(line))) for c in columns] for line in lines]
    return Table(caption, headings, rows, folded, note)


def _number(value: Any) -> float | None:
    """A value that is a number."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def by_row(
    line_type: type,
    lines: Sequence[tuple[Row, Sequence[Any]]],
    caption: str,
    note: str = "",
    folded: bool = False,
    sized: bool = True,
) -> Table:
    """As `of_lines`, with columns for the driver and, if `sized`, for frame size and direction.

    A frame size or direction that all rows share is in the caption instead. An interrupted row has a line that says so.
    """
    sizes = {units.bytes_of(row.frame_bytes) for row, _ in lines} if sized else set()
    directions = {units.direction(row.bidirectional) for row, _ in lines} if sized else set()
    if len(sizes) == 1:
        caption += f", {size} frames" if (size := next(iter(sizes))) == "IMIX" else f", {size}-byte frames"
    if len(directions) == 1:
        caption += f", {next(iter(directions))}"
    inner = of_lines(line_type, [line for _, many in lines for line in many], caption)
    cells = iter(inner.rows)
    rows: list[list[Cell]] = []
    breaks = set()
    for row, many in lines:
        who = [Cell(row.variant.label, swatch=row.variant.number)]
        if len(sizes) > 1:
            who.append(Cell(units.bytes_of(row.frame_bytes)))
        if len(directions) > 1:
            who.append(Cell(units.direction(row.bidirectional)))
        added = [[*who, *next(cells)] for _ in many]
        if not row.data["complete"]:
            blank = [Cell("")] * (len(inner.columns) - 1)
            added.append([*who, Cell("cut short", "the measurement was interrupted", "warn"), *blank])
        rows += added
        if len(added) > 1:
            breaks.add(len(rows) - 1)
    headings = [Column("Driver", number=False)]
    if len(sizes) > 1:
        headings.append(Column("Frame", title="including FCS", unit="bytes"))
    if len(directions) > 1:
        headings.append(Column("Direction", number=False))
    headings += inner.columns
    return Table(caption, headings, rows, folded, note, frozenset(breaks - {len(rows) - 1}))
