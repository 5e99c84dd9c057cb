# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles and their differences as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from irqlab import units
from irqlab.present import tables
from irqlab.present.columns import Col
from irqlab.present.tables import Cell, Column, Table
from irqlab.profile import diff
from irqlab.profile.tree import CONTEXT_NAMES, Row

TOP = 40
NOTABLE = 0.05
"""Smaller changes, in instructions per frame, are combined in one line."""


def figure(value: float) -> str:
    """Instructions per frame, to one decimal."""
    return f"{value:,.1f}".replace(",", units.NARROW)


@dataclass(frozen=True)
class FunctionLine:
    """A function in a context."""

    function: Annotated[str, Col("Function")]
    instructions_per_frame: Annotated[float, Col("Instructions", "/frame", figure)]
    share: Annotated[float, Col("Share", format=units.percent)]
    entries_per_frame: Annotated[float | None, Col("Entered", "/frame", lambda value: f"{value:.2f}")]
    context: Annotated[str, Col("Context")]
    owner: Annotated[str, Col("Owner")]


def title(row: Row) -> str:
    """Heading of a profile."""
    found = row["summary"]
    if test := found.get("iperf"):
        return (
            f"Profile of {units.driver_of(row)} on {row['nic']}, iperf3 {test['name']}, {test['bps'] / 1e6:.1f} Mbit/s received"
        )
    size = units.bytes_of(row["frame_bytes"])
    load = f"{found['load']:g}x the throughput, " if found["load"] is not None else ""
    return (
        f"Profile of {units.driver_of(row)} on {row['nic']}, {size}{'' if size == 'IMIX' else '-byte'} frames, "
        f"{units.direction(row['bidirectional'])}, {load}{units.kpps(found['rate_pps'])} kpps offered"
        f"{' each' if row['bidirectional'] else ''}, {units.kpps(row['trials'][0]['forwarded_pps'])} forwarded"
    )


def function_lines(row: Row) -> list[FunctionLine]:
    """Every function of a profile, most expensive first."""
    found = row["summary"]
    return [
        FunctionLine(
            function=sample["function"] + (f" [{sample['module']}]" if sample["module"] else ""),
            instructions_per_frame=sample["instructions"] / found["frames"],
            share=sample["instructions"] / found["instructions"],
            entries_per_frame=sample["entries"] / found["frames"],
            context=CONTEXT_NAMES.get(sample["context"], sample["context"]),
            owner=sample["owner"],
        )
        for sample in row["samples"]
    ]


def functions_table(row: Row, top: int = TOP, caption: str | None = None, folded: bool = False) -> Table:
    """A table of the functions with the most instructions; the rest in one line."""
    found, lines = row["summary"], function_lines(row)
    shown, hidden = lines[:top], row["samples"][top:]
    rest = sum(sample["instructions"] for sample in hidden)
    if rest:
        shown.append(FunctionLine(f"{len(hidden)} more", rest / found["frames"], rest / found["instructions"], None, "", ""))
    return tables.of_lines(FunctionLine, shown, title(row) if caption is None else caption, folded=folded)


def totals_tables(row: Row) -> list[Table]:
    """Tables by owner and by context."""
    found = row["summary"]
    return [_totals("Owner", found["by_owner"], found), _totals("Context", found["by_context"], found)]


def _totals(name: str, sums: Mapping[str, int], found: Row) -> Table:
    columns = (Column(name, number=False), Column("Instructions", unit="/frame"), Column("Share"))
    rows = [
        [
            Cell(CONTEXT_NAMES.get(key, key)),
            Cell(figure(count / found["frames"])),
            Cell(units.percent(count / found["instructions"])),
        ]
        for key, count in sums.items()
    ]
    return Table(f"By {name.lower()}", columns, rows)


def summary(row: Row) -> str:
    """The total, and its check against the instruction counter."""
    found = row["summary"]
    frames, counted = found["frames"], found["instructions"]
    which = {"forwarded": "", "offered": " offered (none was forwarded)", "received": " (full-size, received)"}[found["per"]]
    text = (
        f"{figure(counted / frames)} instructions per frame{which}, {units.whole(counted)} in all, {units.whole(frames)} frames; "
        f"the instruction counter says {units.whole(counted + found['residual'])} (residual {found['residual']}).\n"
        f"{found['interrupts'] / frames:.3f} interrupts and {found['softirqs'] / frames:.3f} softirq runs per frame."
    )
    if found["stacks_lost"]:
        text += f" The stack was lost {found['stacks_lost']} times: some functions may be attributed to a wrong caller."
    return text


def diff_tables(before: Row, after: Row, top: int = TOP) -> list[Table]:
    """Tables of changes per frame, by function, owner and context, largest first."""
    made = []
    for by in ("function", "owner", "context"):
        columns = (Column(by.capitalize(), number=False), Column("Before"), Column("After"), Column("Change"))
        changes = diff.changes(before, after, by)
        shown = [c for c in changes if abs(c.change) >= NOTABLE][:top] if by == "function" else changes
        rows = [_change(CONTEXT_NAMES.get(change.name, change.name), change) for change in shown]
        if len(shown) < len(changes):
            rows.append(_change(f"{len(changes) - len(shown)} more", _sum([c for c in changes if c not in shown])))
        last = len(rows) - 1
        rows.append(_change("all", _sum(changes)))
        made.append(Table(f"Change by {by}, instructions per frame", columns, rows, breaks=frozenset({last})))
    return made


def _sum(changes: list[diff.Change]) -> diff.Change:
    return diff.Change("", sum(c.before for c in changes), sum(c.after for c in changes))


def _change(name: str, change: diff.Change) -> list[Cell]:
    text = f"{change.change:+.1f}"
    same = text in ("+0.0", "-0.0")
    changed = Cell("0") if same else Cell(text, mark="good" if change.change < 0 else "bad")
    return [Cell(name), Cell(figure(change.before)), Cell(figure(change.after)), changed]
