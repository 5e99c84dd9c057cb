# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows ensembles: whatever is made from rows is made once for each member, and the results are laid over each other.

Tables get medians with their ranges below, plots get bands and whiskers. A method says nothing about it. What the members'
tables or plots do not have in common, such as the trials of a search, is shown as for the row of medians.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from irqlab.present import tape
from irqlab.present.parts import Group, Section
from irqlab.present.tables import Cell, Table
from irqlab.present.variants import Row
from irqlab.spread import median

S = TypeVar("S")
T = TypeVar("T")

NOTE = "Medians; below them the range of the members of the ensemble, if it shows"


def size(rows: Sequence[Row]) -> int:
    """How many members the largest ensemble among rows has; 0: none."""
    return max((len(row.members) for row in rows), default=0)


def member(rows: Sequence[Row], number: int) -> list[Row]:
    """The rows of one member; of smaller ensembles, their last one."""
    return [row.members[min(number, len(row.members) - 1)] if row.members else row for row in rows]


def of_table(rows: Sequence[Row], make: Callable[[Sequence[Row]], Table]) -> Table:
    """A table of rows, with ranges if they are ensembles."""
    return merged(make(rows), [make(member(rows, number)) for number in range(size(rows))])


def of_tables(rows: Sequence[Row], make: Callable[[Sequence[Row]], Sequence[Table | str]]) -> list[Table | str]:
    """Tables and text made from rows."""
    others = [make(member(rows, number)) for number in range(size(rows))]
    return [_one(number, found, others) for number, found in enumerate(make(rows))]


def _one(number: int, found: Table | str, others: Sequence[Sequence[Table | str]]) -> Table | str:
    same = [of[number] for of in others if number < len(of)]
    if isinstance(found, str):
        return found
    tables = [one for one in same if isinstance(one, Table)]
    return merged(found, tables) if len(tables) == len(others) else found


def of_sections(rows: Sequence[Row], make: Callable[[Sequence[Row]], list[Section]]) -> list[Section]:
    """Sections of a report made from rows."""
    return laid_over(rows, [member(rows, number) for number in range(size(rows))], make)


def drawn(rows: Sequence[Row], make: Callable[[Sequence[Row]], T]) -> tuple[T, list[T]]:
    """What is made from the rows, with bands in its plots, and what is made from the rows of each member."""
    return _drawn(rows, [member(rows, number) for number in range(size(rows))], make)


def laid_over(whole: S, members: Sequence[S], make: Callable[[S], Sequence[Section]]) -> list[Section]:
    """Sections of a report made from the medians of some members, with ranges in tables and bands in plots."""
    found, others = _drawn(whole, members, make)
    return [_section(section, number, others) for number, section in enumerate(found)]


def group_over(whole: S, members: Sequence[S], make: Callable[[S], Group]) -> Group:
    """The same for a group of plots and tables."""
    found, others = _drawn(whole, members, make)
    return _group(found, others)


def _drawn(whole: S, members: Sequence[S], make: Callable[[S], T]) -> tuple[T, list[T]]:
    others, tapes = [], []
    for one in members:
        with tape.recording() as noted:
            others.append(make(one))
        tapes.append(noted)
    with tape.over(tapes):
        return make(whole), others


def _section(section: Section, number: int, others: Sequence[Sequence[Section]]) -> Section:
    same = [of[number] for of in others if number < len(of)]
    if not same or any(len(one.groups) != len(section.groups) for one in same):
        return section
    groups = [_group(group, [one.groups[n] for one in same]) for n, group in enumerate(section.groups)]
    return replace(section, groups=groups)


def _group(group: Group, same: Sequence[Group]) -> Group:
    if any(len(one.tables) != len(group.tables) for one in same):
        return group
    return replace(group, tables=[merged(table, [one.tables[n] for one in same]) for n, table in enumerate(group.tables)])


def merged(table: Table, members: Sequence[Table]) -> Table:
    """A table with the medians and ranges of the members' tables; as it is if they have other rows or columns."""
    shape = [column.text for column in table.columns], [len(row) for row in table.rows]
    if not members or any(([c.text for c in one.columns], [len(row) for row in one.rows]) != shape for one in members):
        return table
    rows = [
        [_cell(cell, [one.rows[y][x] for one in members], table.columns[x].number) for x, cell in enumerate(row)]
        for y, row in enumerate(table.rows)
    ]
    ranges = any(cell.low for row in rows for cell in row)
    note = "; ".join(text for text in (table.note, NOTE) if text) if ranges and NOTE not in table.note else table.note
    return replace(table, rows=rows, note=note)


def _cell(cell: Cell, members: Sequence[Cell], number: bool) -> Cell:
    """A cell with the median's text and, if they differ, those of the lowest and the highest value."""
    text_of = {one.value: one.text for one in members if one.value is not None}
    if len(text_of) == 0 or any(one.value is None for one in members):
        texts = list(dict.fromkeys(one.text for one in members))
        return cell if number or len(texts) == 1 or cell.value is not None else replace(cell, text=" / ".join(texts))
    middle = median([one.value for one in members if one.value is not None])
    low, high = text_of[min(text_of)], text_of[max(text_of)]
    found = replace(cell, text=text_of[middle], value=middle)
    return found if low == high else replace(found, low=low, high=high)
