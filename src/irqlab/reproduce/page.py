# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a reproduction, in the style of the others (irqlab.report), and views on tables for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from markupsafe import Markup

from irqlab.present import columns, ensemble, plots, series, swatches, tables
from irqlab.present import svg as svgs
from irqlab.present.parts import Group, Legend, Numbers, Page, Plot, Section
from irqlab.present.series import Line, Point
from irqlab.present.tables import Cell
from irqlab.report import view
from irqlab.reproduce.claims import COUNTED, Finding
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.table import Table

R = TypeVar("R")
T = TypeVar("T")
Json = dict[str, Any]

_MARKS = ("grey", "wire", "ring", "cross", "published", "hollow")


def plot(title: str, svg: str, note: str = "", wide: bool = False) -> Plot:
    """A plot of irqlab.present.plots for a section; the page numbers it."""
    return Plot(title, Markup(svg), note, wide)


def over(title: str, lines: Sequence[Line], y_label: str, x_label: str = "Offered load, kpps", top: float | None = None) -> Plot:
    """A plot of lines over a load. `top`: of the scale; None: as high as the lines."""
    return plot(title, plots.over_load(lines, y_label, title, None, top, x_label))


def line(number: int, name: str, points: Sequence[Point], cross: tuple[float, float] | None = None) -> Line:
    """What was measured, in the style of a series. `cross`: what the paper says."""
    return Line(f"series-{number}", name, series.measured_style(number), points, cross=cross)


def published(number: int, name: str, points: Sequence[Point], who: str = "the paper") -> Line:
    """What a paper has of a series."""
    return Line(f"series-{number}-paper", f"{name}, {who}", series.published_style(number), points)


def lines(
    data: Iterable[R],
    names: Sequence[str],
    name_of: Callable[[R], str],
    x: Callable[[R], float | None],
    y: Callable[[R], float | None],
    shown: Iterable[str] | None = None,
    crosses: Mapping[str, tuple[float, float]] | None = None,
) -> list[Line]:
    """A line for each name that is shown, if it has rows; its style is that of its place among the names.

    Rows without an x are left out. `shown`: None: all names; `crosses`: what the paper says, by name.
    """
    points: dict[str, list[Point]] = {}
    for row in data:
        place = x(row)
        if place is not None:
            points.setdefault(name_of(row), []).append((place, y(row)))
    return [
        line(names.index(name), name, sorted(points[name], key=lambda point: point[0]), (crosses or {}).get(name))
        for name in (names if shown is None else shown)
        if name in points
    ]


def listing(key: str, title: str, short: str, intro: str, *data: Table[Any] | None, note: str = "") -> list[Section]:
    """A section of nothing but tables; none if there are none."""
    found = [table(one) for one in data if one is not None]
    return [Section(key, title, short, intro, [Group(tables=found, note=note)])] if found else []


def legend(names: Sequence[str], *marks: tuple[str, str]) -> list[Legend]:
    """A legend of the first series, by number, and of marks (see swatches.mark)."""
    return [Legend(str(n), name) for n, name in enumerate(names)] + [Legend(key, text) for key, text in marks]


def table(data: Table[R], *names: str, folded: bool = False, caption: str = "") -> tables.Table:
    """Rows as a table of the report. `names`: of the columns, in their order; all if none is given."""
    chosen = _columns(data, names)
    rows = [[_cell(column, row) for column in chosen] for row in data]
    return tables.Table(caption or data.title, [_heading(column) for column in chosen], rows, folded)


def grid(
    data: Table[R], down: str, across: str, values: Sequence[str], order: Iterable[str], folded: bool = False, caption: str = ""
) -> tables.Table:
    """A row for each value of one column (`down`), and for each value of another (`across`, in `order`) the columns `values`."""
    row_of, column_of, *shown = _columns(data, (down, across, *values))
    names = tuple(order)
    headings = [_heading(row_of)]
    for value in names:
        name = column_of.col.format(value)
        first, *others = (_heading(column).text for column in shown)
        headings += [tables.Column(f"{name}, {first}" if others else name), *(tables.Column(text) for text in others)]
    found = {(row_of.value(row), column_of.value(row)): row for row in data}
    rows = []
    for key in dict.fromkeys(key for key, _ in found):
        cells = [_cell(column, found.get((key, name))) for name in names for column in shown]
        first_row = next(row for (one, _), row in found.items() if one == key)
        rows.append([_cell(row_of, first_row), *cells])
    return tables.Table(caption or data.title, headings, rows, folded)


def transposed(data: Table[R], by: str, names: Sequence[str], caption: str) -> tables.Table:
    """A column for each row, headed by its value of `by`, and a row for each of the columns `names`."""
    head, *shown = _columns(data, (by, *names))
    headings = [tables.Column("", number=False), *(tables.Column(head.text(row)) for row in data)]
    rows = [[Cell(_heading(column).text), *(_cell(column, row) for row in data)] for column in shown]
    return tables.Table(caption, headings, rows)


def _cell(column: columns.Column, row: Any) -> Cell:
    value = column.value(row)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(column.text(row), value=value if number else None)


def _columns(data: Table[R], names: Sequence[str]) -> list[columns.Column]:
    row: type = data.row
    every = {column.name: column for column in columns.columns_of(row)}
    return [every[name] for name in names] if names else list(columns.shown(data.row, data.rows))


def _heading(column: columns.Column) -> tables.Column:
    text = ", ".join(part for part in (column.col.heading, column.col.unit) if part)
    return tables.Column(text, column.number, column.col.title)


def made(paper: Paper[T], measured: T, findings: Sequence[Finding], document: Json, members: Sequence[T] = ()) -> Page:
    """The page. The same for the same tables. `document`: the JSON document, which says what it was measured on.

    `members`: the tables of an ensemble's members, if `measured` has their medians: tables then have ranges, plots bands.
    """
    keys = {str(n): swatches.swatch(series.measured_style(n)) for n in range(len(paper.series))}
    keys |= {kind: swatches.mark(kind) for kind in _MARKS}
    numbers = Numbers()
    return Page(
        title=f"irqlab: {paper.name}",
        lead=" ".join(filter(None, (paper.lead, paper.source, _score(findings), _cast(members) if members else ""))),
        symbols=Markup("\n".join(svgs.symbol(svg, f"key-{key}") for key, svg in keys.items())),
        verdicts=[verdict(finding) for finding in findings],
        notices=[],
        summary=None,
        sections=[_numbered(section, numbers) for section in ensemble.laid_over(measured, members, paper.sections)],
        origins=[view.origin(document)],
        duts=view.duts([document]),
        picture=_numbered_group(ensemble.group_over(measured, members, paper.picture), numbers),
    )


def _score(findings: Sequence[Finding]) -> str:
    """How many claims hold, and of those tested once more, with costs, by themselves; empty: none is the paper's."""
    every = [finding for finding in findings if finding.of_paper and finding.verdict in COUNTED]
    claims, again = ([finding for finding in every if finding.again == wanted] for wanted in (False, True))
    if not claims:
        return ""
    text = f"What was measured agrees with {sum(finding.holds for finding in claims)} of its {len(claims)} claims tested."
    if again:
        text += f" With the costs of hardware it agrees with {sum(finding.holds for finding in again)} of {len(again)}."
    undecided = sum(finding.undecided for finding in claims)
    return f"{text} Undecided, since members of the ensemble differ on it: {undecided}." if undecided else text


def _cast(members: Sequence[Any]) -> str:
    return f"Figures are medians of {len(members)} members of an ensemble, which differ only in what should not matter."


def verdict(finding: Finding) -> Markup:
    """A finding as it stands in the list."""
    kind = "good" if finding.holds else "none" if finding.agrees is None or finding.instead else "warn"
    line = '<strong class="{}">{}</strong> {}: {}<br>{}'
    return Markup(line).format(kind, finding.verdict, finding.source, finding.claim, finding.told + finding.votes)


def _numbered(section: Section, numbers: Numbers) -> Section:
    return replace(section, groups=[_numbered_group(group, numbers) for group in section.groups])


def _numbered_group(group: Group, numbers: Numbers) -> Group:
    """Makes the identifiers of the plots unique in the page."""
    return replace(group, plots=[numbers.plot(one.title, str(one.svg), one.note, one.wide) for one in group.plots])
