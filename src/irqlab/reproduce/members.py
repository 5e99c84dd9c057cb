# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of an ensemble's members: those of medians that stand for all of them, and findings that hold beyond their range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from irqlab.reproduce.claims import Finding
from irqlab.reproduce.table import Table
from irqlab.spread import median

T = TypeVar("T")


def medians(members: Sequence[T]) -> T:
    """A value with the median of every figure. What is no figure, or what members do not have in common, is the first's."""
    found: T = _median(list(members))
    return found


def _median(values: list[Any]) -> Any:
    first = values[0]
    if len(values) == 1 or isinstance(first, bool) or any(type(one) is bool for one in values):
        return first
    if isinstance(first, int | float):
        return median(values) if all(isinstance(one, int | float) for one in values) else first
    if isinstance(first, tuple | list):
        if any(type(one) is not type(first) or len(one) != len(first) for one in values):
            return first
        places = [list(place) for place in zip(*values, strict=True)]
        return type(first)(_median(place) if _alike(place) else place[0] for place in places)
    if is_dataclass(first) and not isinstance(first, type) and all(type(one) is type(first) for one in values):
        names = [field.name for field in fields(first) if field.init]
        return replace(first, **{name: _median([getattr(one, name) for one in values]) for name in names})
    return first


def _alike(values: Sequence[Any]) -> bool:
    """Whether values in the same place name the same things."""
    first = values[0]
    if isinstance(first, str):
        return all(one == first for one in values)
    if is_dataclass(first):
        return all(type(one) is type(first) for one in values) and all(
            getattr(one, field.name) == getattr(first, field.name)
            for one in values
            for field in fields(first)
            if isinstance(getattr(first, field.name), str)
        )
    return True


def ranges(table: Table[Any], members: Sequence[Table[Any]]) -> dict[str, list[list[float | None]]]:
    """For the columns of a table whose figures differ between the members, by name: lowest and highest value of each row."""
    found: dict[str, list[list[float | None]]] = {}
    told = [one.to_json() for one in members]
    if any(len(one["rows"]) != len(table.rows) for one in told):
        return found
    same = [_alike(list(rows)) for rows in zip(*(one.rows for one in members), strict=True)]
    for number, name in enumerate(told[0]["columns"]):
        rows = [_range([one["rows"][row][number] for one in told] if same[row] else []) for row in range(len(table.rows))]
        if any(low != high for low, high in rows):
            found[name] = rows
    return found


def _range(values: Sequence[Any]) -> list[float | None]:
    figures = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return [min(values), max(values)] if values and figures else [None, None]


def findings(of: Callable[[T], Sequence[Finding]], tables: T, members: Sequence[T]) -> list[Finding]:
    """The findings on the tables of medians, with how many members agree; one on which they differ is undecided.

    A member that has not measured what a finding is about has no vote.
    """
    lists = [list(of(member)) for member in members]
    found = []
    for number, finding in enumerate(of(tables)):
        # By its place: with the costs of hardware a claim is tested twice.
        same = [one[number] for one in lists if number < len(one)]
        alike = [one.agrees for one in same if (one.source, one.claim) == (finding.source, finding.claim)]
        votes = [agrees for agrees in alike if agrees is not None]
        several = len(lists) > 1 and finding.agrees is not None
        found.append(replace(finding, members=(sum(votes), len(votes))) if several else finding)
    return found
