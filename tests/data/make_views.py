# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes views/METHOD.txt: what reports, tables and CSV show of the sample documents, as text; plots as the data they draw.

`.venv/bin/python -m tests.data.make_views` writes the files anew; read the difference before you commit it.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from irqlab.methods import catalogue
from irqlab.methods.method import Method
from irqlab.present import plots
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.series import Line, Style
from irqlab.present.tables import Table
from irqlab.present.variants import Row
from irqlab.profile import flamegraph
from tests.data.samples import sample

HERE = Path(__file__).parent
VIEWS = HERE / "views"
DRAWINGS = (
    "bars", "by_size", "forwarding", "grouped_bars", "hdr_percentiles", "latency_by_load", "latency_over_load",
    "latency_over_time", "latency_percentiles", "over_load", "over_time", "throughput_by_size",
)  # fmt: skip


def text_of(value: Any) -> str:
    """A value in one line: figures in six digits, dataclasses with the fields that differ from their defaults."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Style):
        return f"{value.colour} {value.marker} {value.dash}{'' if value.filled else ' hollow'}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        said = [
            f"{field.name}={text_of(found)}"
            for field in dataclasses.fields(value)
            if field.compare and (found := getattr(value, field.name)) != field.default
        ]
        return f"{type(value).__name__}({', '.join(said)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {text_of(found)}" for key, found in value.items()) + "}"
    if isinstance(value, (list, tuple, frozenset)):
        return f"[{', '.join(map(text_of, sorted(value) if isinstance(value, frozenset) else value))}]"
    return repr(value)


def drawing_of(name: str) -> Callable[..., str]:
    """In place of a function that draws: what it was asked to draw."""

    def drawn(*args: Any, **kwargs: Any) -> str:
        told = [f"  {name}"]
        for what in [*args, *kwargs.items()]:
            many = isinstance(what, list) and what and isinstance(what[0], Line)
            told += [f"    {text_of(one)}" for one in (what if many else [what])]
        return "\n".join(told)

    return drawn


@contextmanager
def drawn_as_text() -> Iterator[None]:
    """Within it, a plot's SVG is the text of its data."""
    names = {name: drawing_of(name) for name in DRAWINGS}
    with patch.multiple(plots, **names), patch.object(flamegraph, "svg", lambda _, what: f"  flame graph {what}"):
        yield


def table_lines(table: Table) -> Iterator[str]:
    """A table: caption, headings and rows."""
    yield f"table {text_of(dataclasses.replace(table, columns=(), rows=()))}"
    yield from (f"  {text_of(column)}" for column in table.columns)
    for row in table.rows:
        yield "  | " + " | ".join(cell.text if cell.text and cell == type(cell)(cell.text) else text_of(cell) for cell in row)


def group_lines(group: Group) -> Iterator[str]:
    """A group: heading, notices, legend, plots, tables."""
    yield f"group {group.heading!r} {group.note!r}"
    yield from (text_of(one) for one in [*group.notices, *group.legend])
    for plot in group.plots:
        yield f"plot {plot.title!r} {plot.note!r}{' wide' if plot.wide else ''}"
        yield plot.svg
    for table in group.tables:
        yield from table_lines(table)


def section_lines(section: Section) -> Iterator[str]:
    """A section and its groups."""
    yield f"section {section.id} {section.title!r} {section.short!r}"
    for group in section.groups:
        yield from group_lines(group)


def view_lines(method: Method, rows: list[Row]) -> Iterator[str]:
    """All that is shown of a method's rows: in reports, on the terminal, as CSV."""
    yield from report_lines(method, rows)
    mine = [row for row in method.chosen(rows) if row.data["method"] == method.name]
    for shown in method.printed(mine, method.options()):
        yield from table_lines(shown) if isinstance(shown, Table) else [f"printed {shown!r}"]
    yield "csv"
    yield method.lines.csv(mine)


def report_lines(method: Method, rows: list[Row]) -> Iterator[str]:
    """All that reports show of a method's rows."""
    mine = method.chosen(rows)
    with drawn_as_text():
        yield from (f"answer {text!r}" for text in catalogue.answers([row for row in mine if row.data["method"] == method.name]))
        if (first := method.first_table(mine)) is not None:
            yield from table_lines(first)
        if (picture := method.pictured(mine, Numbers())) is not None:
            yield f"picture {picture.plot.title!r}"
            yield picture.plot.svg
            yield from (text_of(one) for one in picture.legend)
        for section in method.sections(mine, Numbers()):
            yield from section_lines(section)


def sample_rows() -> list[Row]:
    """Rows of three drivers with fewer frame sizes, which is enough to tell what is shown."""
    kept = [row for row in catalogue.rows([sample()]) if row.frame_bytes in (64, 512, 1518, "imix")]
    return [row for row in kept if row.variant.number in (0, 1, 4)]


def views() -> dict[str, str]:
    """The text by method."""
    rows = sample_rows()
    found = [method for method in catalogue.methods().values() if any(row.data["method"] == method.name for row in rows)]
    return {method.name: "\n".join(view_lines(method, rows)) for method in found}


def main() -> int:
    """Writes the files."""
    VIEWS.mkdir(exist_ok=True)
    for name, text in views().items():
        (VIEWS / f"{name}.txt").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
