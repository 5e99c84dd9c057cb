# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of memory that bounce between processors: who misses what, because another processor had written to the line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irqlab.present.tables import Cell, Column, Table
from irqlab.profile.kernel_objects import Objects
from irqlab.profile.line_tables import figure

Row = Mapping[str, Any]
MOST = 3
"""Fields and functions named for a line."""


def examine(
    bounced: Sequence[Sequence[int]], functions: Sequence[str], objects: Objects, line_bytes: int
) -> list[dict[str, Any]]:
    """The tester's `bounced` (docs/inside/protocol.md, LINES) by object, line, fields and functions; the most frequent first.

    `functions`: the name of each user. A writer's is empty if it wrote before the window.
    """
    sums: Counter[tuple[str, str, int, str, str, str, str]] = Counter()
    for user, address, writer, written, count in bounced:
        place, other = objects.at(address), objects.at(written)
        line = place.offset // line_bytes if place.offset >= 0 else -1
        by = functions[writer] if writer >= 0 else ""
        sums[place.kind, place.object, line, place.field, functions[user], other.field, by] += count
    order = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    names = ("kind", "object", "line", "field", "function", "written", "writer")
    return [dict(zip(names, key, strict=True)) | {"count": count} for key, count in order]


@dataclass
class Line:
    """A line of an object, or a variable: how often it was missed because another processor had written to it, and by whom."""

    object: str
    name: str
    count: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    writers: Counter[str] = field(default_factory=Counter)


def lines(row: Row) -> list[Line]:
    """The lines that bounce, the most frequent first."""
    made: dict[tuple[str, str], Line] = {}
    for one in row["summary"]["memory"].get("bounced", ()):
        name = str(one["line"]) if one["line"] >= 0 else ""
        found = made.setdefault((one["object"], name), Line(one["object"], name))
        found.count += one["count"]
        for counter, what in (
            (found.fields, one["field"]),
            (found.functions, one["function"]),
            (found.written, one["written"]),
            (found.writers, one["writer"]),
        ):
            counter[what] += one["count"]
    return sorted(made.values(), key=lambda line: (-line.count, line.object, line.name))


def table(row: Row, top: int) -> Table | None:
    """The lines that bounce most, per frame; None if there is one processor, or no such line."""
    found, frames = lines(row), row["summary"]["frames"]
    if not found:
        return None
    columns = (
        Column("Object", number=False),
        Column("Line", number=False),
        Column("Bounces", unit="/frame", title="accesses to a line that another processor had written"),
        Column("Used", number=False, title="the fields that were read or written then, the most frequent first"),
        Column("By", number=False),
        Column("Had written", number=False, title="the fields of the last write before that"),
        Column("By", number=False),
    )
    rows = [
        [
            Cell(line.object),
            Cell(line.name),
            Cell(figure(line.count / frames)),
            *(Cell(_most(counter)) for counter in (line.fields, line.functions, line.written, line.writers)),
        ]
        for line in found[:top]
    ]
    note = f"{len(found) - top} more lines are not shown." if len(found) > top else ""
    return Table("Lines that bounce between processors", columns, rows, note=note)


def verdict(row: Row) -> str | None:
    """In a sentence; None if nothing bounces."""
    found, frames = lines(row), row["summary"]["frames"]
    if not found:
        return None
    first = found[0]
    where = f"{first.object}, {_most(first.fields, 1)}" if any(first.fields) else first.object
    total = sum(line.count for line in found) / frames
    return (
        f"{figure(total)} lines per frame bounce between processors; most: {where}, {figure(first.count / frames)} "
        f"(used by {_most(first.functions, 1)}, written by {_most(first.writers, 1)})"
    )


def _most(counter: Counter[str], most: int = MOST) -> str:
    named = [what for what, _ in sorted(counter.items(), key=lambda item: (-item[1], item[0])) if what]
    return ", ".join(named[:most]) + (f", {len(named) - most} more" if len(named) > most > 1 else "")
