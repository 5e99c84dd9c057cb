# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of a reproduction: rows of one dataclass, whose annotations declare the columns (irqlab.present.columns).

A paper's tables are the fields of a frozen dataclass. A field's name is the name of the CSV file. A field that is itself a set of
tables adds its own name behind theirs: table `a` in field `b` is `a_b`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

from irqlab.present import columns

R = TypeVar("R")
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Table(Generic[R]):
    """Rows under a title. Units are in the names of the columns."""

    title: str
    row: type[R]
    rows: tuple[R, ...]

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def where(self, wanted: Callable[[R], bool]) -> tuple[R, ...]:
        """The rows that are wanted, in their order."""
        return tuple(row for row in self.rows if wanted(row))

    def only(self, wanted: Callable[[R], bool]) -> Table[R]:
        """The table with nothing but the rows that are wanted."""
        return Table(self.title, self.row, self.where(wanted))

    def one(self, wanted: Callable[[R], bool]) -> R:
        """The first row that is wanted. Raises LookupError if there is none."""
        for row in self.rows:
            if wanted(row):
                return row
        raise LookupError(f"{self.title}: no such row")

    def by(self, key: Callable[[R], K]) -> dict[K, tuple[R, ...]]:
        """The rows by a key, in the order in which keys come first."""
        found: dict[K, list[R]] = {}
        for row in self.rows:
            found.setdefault(key(row), []).append(row)
        return {one: tuple(rows) for one, rows in found.items()}

    def parts(self, key: Callable[[R], K]) -> dict[K, Table[R]]:
        """Tables of the rows by a key, in the order in which keys come first."""
        return {one: Table(self.title, self.row, rows) for one, rows in self.by(key).items()}

    def keyed(self, key: Callable[[R], K], *needed: K) -> dict[K, R]:
        """The rows by a key, of equal ones the last; empty if one that is needed is missing."""
        found = {key(row): row for row in self.rows}
        return found if set(needed) <= set(found) else {}

    def to_json(self) -> dict[str, Any]:
        """As it stands in `measured.tables` (docs/use/results.md)."""
        return {"title": self.title, **columns.to_json(self.row, self.rows)}

    def to_csv(self, ranges: Mapping[str, Sequence[Sequence[float | None]]] | None = None) -> str:
        """One line of headings, then the rows; an empty cell is a None (RFC 4180, line feeds).

        `ranges`: for some columns, by name, the lowest and the highest value of an ensemble's members in each row. They are
        further columns, NAME_min and NAME_max, behind the others.
        """
        return columns.to_csv(self.row, self.rows, ranges or {})


def row_of(row: type[R], *sources: object, **given: Any) -> R:
    """A row. What is not given is what the first of the sources says under the column's name: its entry, or its attribute.

    Raises TypeError if a column without a default has no value.
    """
    for field in fields(row):  # type: ignore[arg-type]
        for source in () if field.name in given else sources:
            if field.name in source if isinstance(source, Mapping) else hasattr(source, field.name):
                given[field.name] = source[field.name] if isinstance(source, Mapping) else getattr(source, field.name)
                break
    return row(**given)


def sources_of(found: object) -> tuple[object, ...]:
    """Of a row: several, in a tuple, or one."""
    return found if isinstance(found, tuple) else (found,)


def table_of(title: str, row: type[R], rows: Iterable[object]) -> Table[R]:
    """A table of rows, each from its source or, in a tuple, its sources (see row_of)."""
    return Table(title, row, tuple(row_of(row, *sources_of(one)) for one in rows))


def rounded(value: float | None, digits: int) -> float | None:
    """For a column; None stays."""
    return None if value is None else round(value, digits)


def tables_of(found: object) -> dict[str, Table[Any]]:
    """Every table of a set, by the name of its CSV file. Fields that are None are left out."""
    named: dict[str, Table[Any]] = {}
    if not is_dataclass(found):
        raise TypeError(f"not a set of tables: {type(found).__name__}")
    for field in fields(found):
        value = getattr(found, field.name)
        if isinstance(value, Table):
            named[field.name] = value
        elif value is not None:
            named |= {f"{inner}_{field.name}": table for inner, table in tables_of(value).items()}
    return named


def tables_from(kind: type[T], files: Mapping[str, str], tail: str = "") -> T | None:
    """A set of tables from CSV, by the name of the file; the tables have no titles. None if a file is missing.

    `tail`: behind the names of its files, for a set in another. Raises ValueError for a cell that cannot be read.
    """
    hints = typing.get_type_hints(kind)
    found: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        hint = hints[field.name]
        optional = typing.get_origin(hint) in (types.UnionType, typing.Union)
        if optional:
            (hint,) = (t for t in typing.get_args(hint) if t is not types.NoneType)
        if typing.get_origin(hint) is Table:
            (row,) = typing.get_args(hint)
            text = files.get(f"{field.name}{tail}")
            value = None if text is None else Table("", row, columns.from_csv(row, text))
        else:
            value = tables_from(hint, files, f"_{field.name}{tail}")
        if value is None and not optional:
            return None
        found[field.name] = value
    return kind(**found)
