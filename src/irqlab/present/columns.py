# SPDX-License-Identifier: GPL-2.0-or-later
"""Columns of tables, declared once: in the annotations of a dataclass whose instances are the rows.

    @dataclass(frozen=True)
    class Sample:
        offered_pps: Annotated[float, Col("Offered", "kpps", units.kpps)]
        note: str

Tables on the terminal and in reports, CSV and JSON are all derived from it. Fields without a `Col` are data only. Terminal and
report show formatted values under `heading` and `unit`; CSV has raw values under the field's name, which includes its unit.
A field annotated with `Nested()` is a dataclass; its columns are inserted.
"""

from __future__ import annotations

import csv
import inspect
import io
import itertools
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any, TypeVar

from irqlab import units

R = TypeVar("R")


def _text(value: Any, digits: int = 3) -> str:
    """The default format of a value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.grouped(value) if abs(value) >= 10_000 else str(value)
    return units.figures(value, digits) if isinstance(value, float) else str(value)


def figures(digits: int) -> Callable[[Any], str]:
    """A format: rounds numbers that are not whole to `digits` significant figures."""
    return partial(_text, digits=digits)


def _unmarked(_: Any) -> str:
    """The default mark: none."""
    return ""


@dataclass(frozen=True)
class Col:
    """A column: heading, unit, and format."""

    heading: str
    unit: str = ""
    format: Callable[[Any], str] = _text
    """Format of a value; None is shown as a dash."""
    optional: bool = False
    """Omit the column from tables in which no row has a value."""
    title: str = ""
    """An explanation, shown as a tooltip in the report."""
    mark: Callable[[Any], str] = _unmarked
    """Highlights a value: good, warn, bad, strong, or nothing."""


@dataclass(frozen=True)
class Nested:
    """Inserts the columns of a dataclass, with `prefix` before their headings."""

    prefix: str = ""
    optional: bool = False
    behind: bool = False
    """In CSV, append the field's name to those of its columns: `rx` in `us` is `rx_us`, not `us_rx`."""
    unit: str = ""
    """Overrides the unit of all its columns."""


@dataclass(frozen=True)
class Column:
    """A column of a row type: the path of its value, and how it is shown."""

    path: tuple[str, ...]
    """Field names, outermost first."""
    name: str
    """Its name in CSV and JSON."""
    col: Col
    types: tuple[type, ...]
    """Allowed types of its values."""

    @property
    def number(self) -> bool:
        """Right-aligned."""
        return str not in self.types

    def value(self, row: Any) -> Any:
        """The value in a row: a dataclass, or the same as JSON data. None if a part of the path is None."""
        for name in self.path:
            if row is None:
                return None
            row = row.get(name) if isinstance(row, dict) else getattr(row, name)
        return row

    def text(self, row: Any) -> str:
        """The formatted value."""
        value = self.value(row)
        return units.NONE if value is None else self.col.format(value)

    def mark(self, row: Any) -> str:
        """The value's highlighting (`Col.mark`)."""
        value = self.value(row)
        return "" if value is None else self.col.mark(value)


@cache
def columns_of(row_type: type) -> tuple[Column, ...]:
    """The columns of a row type, in the order of its fields."""
    hints: dict[str, Any] = {}
    for base in reversed(row_type.__mro__):  # get_type_hints() would break lambdas that use the module's names
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
    """The types allowed by a type hint."""
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


def shown(row_type: type, rows: Sequence[Any]) -> tuple[Column, ...]:
    """The columns for a table of these rows; optional ones only if a row has a value."""
    return tuple(c for c in columns_of(row_type) if not c.col.optional or any(c.value(row) is not None for row in rows))


def to_csv(row_type: type, rows: Iterable[Any], ranges: Mapping[str, Sequence[Sequence[Any]]] | None = None) -> str:
    """CSV: a header line, then the rows; None is an empty cell (RFC 4180, but line feeds).

    `ranges`: for some columns the lowest and the highest value of an ensemble's members in each row, which are columns behind
    the others.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = columns_of(row_type)
    ranges = ranges or {}
    ends = [f"{name}_{end}" for name in ranges for end in ("min", "max")]
    writer.writerow([*(column.name for column in columns), *ends])
    for number, row in enumerate(rows):
        writer.writerow([*(column.value(row) for column in columns), *(v for found in ranges.values() for v in found[number])])
    return text.getvalue()


def from_csv(row_type: type[R], text: str) -> tuple[R, ...]:
    """The rows that `to_csv` wrote; fields that are no columns must have defaults. Columns that the type has not are left out.

    Raises ValueError if a cell cannot be read.
    """
    kind: type = row_type
    return tuple(_built(row_type, columns_of(kind), record) for record in csv.DictReader(io.StringIO(text)))


def _built(row_type: type[R], columns: Iterable[Column], record: Mapping[str, str], depth: int = 0) -> R:
    """A row. `columns`: those of this row; `depth`: how many names of their paths lie behind."""
    parts: dict[str, Any] = {}
    for name, found in itertools.groupby(columns, lambda column: column.path[depth]):
        inner = list(found)
        if len(inner[0].path) == depth + 1:
            parts[name] = _read(inner[0], record.get(inner[0].name, ""))
        else:
            hint = _hint(row_type, name)
            (kind,) = (t for t in hint if t is not types.NoneType)
            none = types.NoneType in hint and not any(record.get(column.name) for column in inner)
            parts[name] = None if none else _built(kind, inner, record, depth + 1)
    return row_type(**parts)


def _hint(row_type: type, name: str) -> tuple[type, ...]:
    """The types that a nested field may have."""
    hint = inspect.get_annotations(row_type, eval_str=True)[name]
    return _types(typing.get_args(hint)[0])


def _read(column: Column, cell: str) -> Any:
    """A cell as a value."""
    if not cell and types.NoneType in column.types:
        return None
    (kind,) = (t for t in column.types if t is not types.NoneType)
    return cell == "True" if kind is bool else kind(cell)


def to_json(row_type: type, rows: Iterable[Any]) -> dict[str, Any]:
    """JSON data: the column names, and a list of values per row."""
    columns = columns_of(row_type)
    return {"columns": [column.name for column in columns], "rows": [[column.value(row) for column in columns] for row in rows]}
