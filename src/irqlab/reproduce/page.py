# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a reproduction, in the style of the others (irqlab.report), made from the JSON document alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from irqlab import units
from irqlab.present import plots
from irqlab.present import svg as svgs
from irqlab.present.parts import Legend, Page, Plot, Section
from irqlab.present.tables import Cell, Column, Table
from irqlab.report import render, view
from irqlab.reproduce.paper import Data, Paper, Tables

Json = dict[str, Any]


def plot(title: str, svg: str, note: str = "", wide: bool = False) -> Plot:
    """A plot of irqlab.report.plots for a section; the page numbers it."""
    return Plot(title, Markup(svg), note, wide)


def legend(names: Sequence[str], *marks: tuple[str, str]) -> list[Legend]:
    """A legend of the first series, by number, and of marks (grey, wire, ring, cross)."""
    return [Legend(str(n), name) for n, name in enumerate(names)] + [Legend(key, text) for key, text in marks]


def table(data: Data, headings: dict[str, str], folded: bool = False, digits: int = 3) -> Table:
    """Data as a table of the report: the columns of `headings`, a column's name to its heading."""
    numeric = {name: all(not isinstance(r[name], str) for r in data.records()) for name in headings}
    columns = [Column(text, numeric[name]) for name, text in headings.items()]
    rows = [[cell(record[name], digits) for name in headings] for record in data.records()]
    return Table(data.title, columns, rows, folded)


def grid(
    data: Data,
    rows: tuple[str, str],
    values: dict[str, str],
    columns: Iterable[str],
    by: str = "variant",
    folded: bool = False,
    caption: str = "",
) -> Table:
    """Data with a row per value of one column (its name, its heading) and for every value of another (`by`) the `values`.

    The first of a column's values is headed by the column, too.
    """
    columns = tuple(columns)
    headings = [Column(rows[1])]
    for column in columns:
        headings += [Column(f"{'' if n else column} {text}".strip()) for n, text in enumerate(values.values())]
    found = {(record[rows[0]], record[by]): record for record in data.records()}
    lines = []
    for key in dict.fromkeys(record[rows[0]] for record in data.records()):
        records = [found.get((key, column)) for column in columns]
        lines.append([cell(key), *(cell(record[name] if record else None) for record in records for name in values)])
    return Table(caption or data.title, headings, lines, folded)


def transposed(data: Data, by: str, rows: dict[str, str], caption: str) -> Table:
    """Data with a column per row, headed by its value of `by`, and a row for each of `rows`: a column's name to its heading."""
    records = list(data.records())
    headings = [Column("", number=False)] + [Column(str(record[by])) for record in records]
    return Table(caption, headings, [[Cell(text), *(cell(record[name], 4) for record in records)] for name, text in rows.items()])


def cell(value: object, digits: int = 3) -> Cell:
    """A figure as text: whole numbers whole, others to so many digits."""
    if value is None:
        return Cell(units.NONE)
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int):
        return Cell(units.grouped(value) if abs(value) >= 10_000 else str(value))
    return Cell(units.figures(value, digits) if isinstance(value, float) else str(value))


def html(paper: Paper, document: Json) -> str:
    """The page. The same for the same document."""
    tables: Tables = {name: Data.from_json(entry) for name, entry in document["measured"]["tables"].items()}
    keys = {str(n): plots.swatch(plots.style(n)) for n in range(len(paper.series))}
    keys |= {kind: plots.mark(kind) for kind in ("grey", "wire", "ring", "cross")}
    return render(
        Page(
            title=f"irqlab: {paper.name}",
            lead=f"{paper.lead} {paper.source}".strip(),
            symbols=Markup("\n".join(svgs.symbol(svg, f"key-{key}") for key, svg in keys.items())),
            verdicts=list(document["measured"]["findings"]),
            notices=[],
            summary=None,
            sections=_numbered(paper.sections(tables)),
            origins=[view.origin(document)],
            duts=view.duts([document]),
        )
    )


def _numbered(sections: Sequence[Section]) -> list[Section]:
    """Makes the plots' identifiers unique in the page."""
    number = 0
    for section in sections:
        for group in section.groups:
            for place, one in enumerate(group.plots):
                number += 1
                group.plots[place] = replace(one, svg=Markup(svgs.numbered(str(one.svg), number)))
    return list(sections)
