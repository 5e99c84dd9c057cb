# SPDX-License-Identifier: GPL-2.0-or-later
"""Columns of tables, declared once: in the annotations of a dataclass whose instances are the rows.

    @dataclass(frozen=True)
    class Sample:
        offered_pps: Annotated[float, Col("Offered", "kpps", units.kpps)]
        note: str

Fields without a `Col` are data only. A terminal's table, a page's table, CSV and JSON all follow from it. The terminal and the
page show formatted values under `heading` and `unit`; CSV holds the values as they are, under the field's name, which states its
unit.
A field annotated with `Nested()` is a dataclass whose own columns stand in its place.
"""

from __future__ import annotations

import csv
import inspect
import io
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any

from irqlab import units


def _text(value: Any, digits: int = 3) -> str:
    """How a value looks for which nothing else is said."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.grouped(value) if abs(value) >= 10_000 else str(value)
    return units.figures(value, digits) if isinstance(value, float) else str(value)


def figures(digits: int) -> Callable[[Any], str]:
    """A format: numbers that are not whole to so many significant figures."""
    return partial(_text, digits=digits)


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
    behind: bool = False
    """In CSV the field's name follows those of its columns: `rx` in `us` is `rx_us`, not `us_rx`."""
    unit: str = ""
    """Of all its columns, in place of their own."""


@dataclass(frozen=True)
class Column:
    """A column of a row type: where its value lies, and how it is shown."""

    path: tuple[str, ...]
    """Names of fields, from the row inwards."""
    name: str
    """In CSV and JSON."""
    col: Col
    types: tuple[type, ...]
    """What its values may be."""

    @property
    def number(self) -> bool:
        """Right-aligned."""
        return str not in self.types

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
        types_ = _types(typing.get_args(hint)[0] if marks else hint)
        for mark in marks:
            if isinstance(mark, Col):
                found.append(Column((field.name,), field.name, mark, types_))
            elif isinstance(mark, Nested):
                found += _inner(field.name, mark, types_)
    return tuple(found)


def _inner(name: str, nested: Nested, types_: tuple[type, ...]) -> Iterator[Column]:
    (inner,) = (t for t in types_ if t is not types.NoneType)
    for column in columns_of(inner):
        col = replace(
            column.col,
            heading=f"{nested.prefix}{column.col.heading}",
            unit=nested.unit or column.col.unit,
            optional=column.col.optional or nested.optional,
        )
        full = f"{column.name}_{name}" if nested.behind else f"{name}_{column.name}"
        allowed = tuple(dict.fromkeys((*column.types, *(t for t in types_ if t is types.NoneType))))
        yield Column((name, *column.path), full, col, allowed)


def _types(hint: Any) -> tuple[type, ...]:
    """The types that a hint allows."""
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


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


def to_json(row_type: type, rows: Iterable[Any]) -> dict[str, Any]:
    """The same as JSON data: names of the columns, and a list of values for each row."""
    columns = columns_of(row_type)
    return {"columns": [column.name for column in columns], "rows": [[column.value(row) for column in columns] for row in rows]}


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}


def schema(row_type: type) -> dict[str, Any]:
    """JSON Schema of what `to_json` makes of rows of this type."""
    columns = columns_of(row_type)
    values = [{"type": [_JSON_TYPES[t] for t in column.types]} for column in columns]
    return {
        "type": "object",
        "required": ["columns", "rows"],
        "properties": {
            "columns": {"const": [column.name for column in columns]},
            "rows": {
                "type": "array",
                "items": {"type": "array", "prefixItems": values, "items": False, "minItems": len(columns)},
            },
        },
    }
