# SPDX-License-Identifier: GPL-2.0-or-later
"""What a paper is to irqlab, and the tables it yields."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irqlab.present.parts import Section
    from irqlab.reproduce.session import Session

Value = str | int | float | bool | None


@dataclass
class Data:
    """A table of figures: `measured.tables` of the JSON document, and a CSV file. Units are in the columns' names."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[Value]] = field(default_factory=list)

    def add(self, **values: Value) -> None:
        """One row, by column; what is not given is None. Raises KeyError for a column that is not there."""
        for name in values:
            if name not in self.columns:
                raise KeyError(name)
        self.rows.append([values.get(name) for name in self.columns])

    def records(self, **where: Value) -> Iterator[dict[str, Any]]:
        """The rows by column; those that have these values."""
        for row in self.rows:
            record = dict(zip(self.columns, row, strict=True))
            if all(record[name] == value for name, value in where.items()):
                yield record

    def one(self, **where: Value) -> dict[str, Any]:
        """The first row that has these values. Raises StopIteration if there is none."""
        return next(self.records(**where))

    def to_json(self) -> dict[str, Any]:
        """As it stands in `measured.tables`."""
        return {"title": self.title, "columns": list(self.columns), "rows": self.rows}

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Data:
        """Reads it back."""
        return cls(entry["title"], tuple(entry["columns"]), [list(row) for row in entry["rows"]])

    def to_csv(self) -> str:
        """One line of headings, then the rows; an empty cell is a None (RFC 4180, line feeds)."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


Tables = dict[str, Data]


@dataclass(frozen=True)
class Paper:
    """A paper that can be measured again."""

    name: str
    source: str
    """Authors, title, where it was published."""
    driver: str
    """What is measured unless --driver says otherwise."""
    measure: Callable[[Session], Tables]
    """Measures; the tables by the name of their CSV file. Deterministic."""
    findings: Callable[[Tables], Sequence[str]]
    """What the tables say, in plain words."""
    sections: Callable[[Tables], Sequence[Section]]
    """The report's sections; plots may use `irqlab.reproduce.page.plot`."""
    lead: str = ""
    """The report's first sentence."""
    with_hardware: bool = False
    """Whether it is measured with the costs of hardware, too, if asked (--hardware)."""
    series: Sequence[str] = ()
    """Names of the plots' lines, in the order of their styles: the report's legend."""
