# SPDX-License-Identifier: GPL-2.0-or-later
"""Columns of tables, declared once: in the annotations of a dataclass whose instances are the rows.

    @dataclass(frozen=True)
    class Sample:
        offered_pps: Annotated[float, Col("Offered", "kpps", units.kpps)]
        note: str

Fields without a `Col` are data only. The tables of the terminal, the page and CSV all follow from it. The terminal and the page
show formatted values under `heading` and `unit`; CSV holds the values as they are, under the field's name, which states its unit.
A field annotated with `Nested()` is a dataclass whose own columns stand in its place.
"""

from __future__ import annotations

import csv
import inspect
import io
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from irqlab import units


def _text(value: Any) -> str:
    """How a value looks for which nothing else is said."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.grouped(value) if abs(value) >= 10_000 else str(value)
    return units.figures(value) if isinstance(value, float) else str(value)


def _unmarked(_: Any) -> str:
    """Nothing special."""
    return ""


@dataclass(frozen=True)
class Col:
    """A column: its heading, the unit below it, and how a value becomes text."""

    heading: str
    unit: str = ""
    format: Callable[[Any], str] = _text
    """Of a value that is not None, which is a dash."""
    optional: bool = False
    """The column is left out of a table where no row has a value."""
    title: str = ""
    """Says more about the column where there is room: a page's tooltip."""
    mark: Callable[[Any], str] = _unmarked
    """How a value is to be seen: good, warn, bad, strong; or nothing."""


@dataclass(frozen=True)
class Nested:
    """The field's own columns stand in its place, their headings behind `prefix`."""

    prefix: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a row type: where its value lies, and how it is shown."""

    path: tuple[str, ...]
    """Names of fields, from the row inwards."""
    col: Col
    number: bool
    """Right-aligned."""

    @property
    def name(self) -> str:
        """In CSV."""
        return "_".join(self.path)

    def value(self, row: Any) -> Any:
        """The value in a row: a dataclass, or the same as JSON data. None where a part of the path is None."""
        for name in self.path:
            if row is None:
                return None
            row = row.get(name) if isinstance(row, dict) else getattr(row, name)
        return row

    def text(self, row: Any) -> str:
        """The value as it is shown."""
        value = self.value(row)
        return units.NONE if value is None else self.col.format(value)

    def mark(self, row: Any) -> str:
        """How the value is to be seen (`Col.mark`)."""
        value = self.value(row)
        return "" if value is None else self.col.mark(value)


@cache
def columns_of(row_type: type) -> tuple[Column, ...]:
    """The columns of a row type, in the order of its fields."""
    hints: dict[str, Any] = {}
    for base in reversed(row_type.__mro__):  # not get_type_hints(), in whose lambdas the module's names would be missing
        hints |= inspect.get_annotations(base, eval_str=True)
    found: list[Column] = []
    for field in fields(row_type):
        hint = hints[field.name]
        marks = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
        bare = typing.get_args(hint)[0] if marks else hint
        for mark in marks:
            if isinstance(mark, Col):
                found.append(Column((field.name,), mark, not str <= _types(bare)))
            elif isinstance(mark, Nested):
                (inner,) = [t for t in _types(bare).found if t is not type(None)]
                for column in columns_of(inner):
                    heading = f"{mark.prefix}{column.col.heading}"
                    col = replace(column.col, heading=heading, optional=column.col.optional or mark.optional)
                    found.append(Column((field.name, *column.path), col, column.number))
    return tuple(found)


@dataclass(frozen=True)
class _types:  # noqa: N801
    """The types that a hint allows."""

    hint: Any

    @property
    def found(self) -> tuple[Any, ...]:
        return typing.get_args(self.hint) if isinstance(self.hint, types.UnionType) else (self.hint,)

    def __ge__(self, other: type) -> bool:
        return other in self.found


def shown(row_type: type, rows: Sequence[Any]) -> tuple[Column, ...]:
    """The columns of a table of these rows: optional ones only where a row has a value."""
    return tuple(c for c in columns_of(row_type) if not c.col.optional or any(c.value(row) is not None for row in rows))


def to_csv(row_type: type, rows: Iterable[Any]) -> str:
    """One line of headings, then the rows; an empty cell is a None (RFC 4180, line feeds)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = columns_of(row_type)
    writer.writerow(column.name for column in columns)
    writer.writerows([column.value(row) for column in columns] for row in rows)
    return text.getvalue()
