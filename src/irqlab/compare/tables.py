# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from irqlab import units
from irqlab.compare.verdict import RELATIVE, SEARCH_NOTE, Line, Range, Row, functions
from irqlab.methods.metrics import OVERLOAD, SHARE, Metric
from irqlab.profile.diff import Change
from irqlab.profile.line_tables import NOTABLE, object_lines
from irqlab.profile.tables import figure

TOP = 20
EXACT = f"Exact: the same inputs give the same figures, so no statistics are needed. But {SEARCH_NOTE}."
STYLES = {"FAILED": "bold red", "worse": "red", "better": "green", "same": "dim", "no difference": "dim"}


def value(metric: Metric, number: float | None) -> str:
    """A value formatted in the metric's unit, without the unit."""
    if number is None:
        return units.NONE
    if metric.unit == "kpps":
        return f"{number / 1e3:,.2f}".replace(",", units.NARROW)
    if metric.unit == "µs":
        return f"{number / 1e3:,.2f}".replace(",", units.NARROW)
    if "instructions" in metric.name:
        return figure(number)
    return f"{number:.4f}"


def change(line: Line) -> str:
    """The difference in per cent; only an exact zero is shown as 0."""
    share = line.change
    if share is None:
        return units.NONE
    if share == 0:
        return "0"
    if share == float("inf"):
        return "from 0"
    text = f"{share * 100:+.2f}"
    return f"{text if float(text) else ('+' if share > 0 else '-') + '<0.01'}{units.NARROW}%"


def heading(row: Row) -> str:
    """Heading: the test, and its loads."""
    size = units.bytes_of(row["frame_bytes"])
    base_pps = row["summary"]["base_pps"]
    each = " each" if row["bidirectional"] else ""
    return (
        f"{size}{'' if size == 'IMIX' else '-byte'} frames, {units.direction(row['bidirectional'])}; "
        f"below: {units.kpps(base_pps * SHARE)} kpps{each}, overload: {units.kpps(base_pps * OVERLOAD)} kpps{each}, to both"
    )


def verdicts(after: Row, rows: Sequence[Line], names: tuple[str, str]) -> Table:
    """A table of every metric of both sides."""
    ensembles = any(row.spread for row in rows)
    table = Table(
        title=Text(heading(after)), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", caption_justify="left",
        caption=Text(_ensemble_note(after) if ensembles else EXACT),
    )  # fmt: skip
    table.add_column("Figure", no_wrap=True)
    for name in names:
        table.add_column(Text(name), justify="right", overflow="fold")
    table.add_column("Change", justify="right", no_wrap=True)
    if ensembles:
        table.add_column("Noise", justify="right", no_wrap=True)
    table.add_column("Verdict", no_wrap=True)
    last = rows[0].metric.where if rows else ""
    for row in rows:
        if row.metric.where != last:
            table.add_section()
            last = row.metric.where
        text = row.metric.text + (f" ({row.metric.unit})" if row.metric.unit else "")
        verdict = Text(row.verdict, style=STYLES.get(row.verdict, ""))
        spans = (row.spread.before, row.spread.after) if row.spread else (None, None)
        sides = [_with_range(row.metric, *side) for side in zip((row.before, row.after), spans, strict=True)]
        table.add_row(text, *sides, change(row), *([noise(row)] if ensembles else []), verdict)
    return table


def noise(line: Line) -> str:
    """The most by which two members of the first side differ, in per cent of the first side's median."""
    if line.spread is None or not line.before:
        return units.NONE
    return f"{line.spread.noise / abs(line.before) * 100:.2f}{units.NARROW}%"


def _with_range(metric: Metric, middle: float | None, span: Range | None) -> Text:
    """A value, and below it the range of an ensemble."""
    made = Text(value(metric, middle))
    low, high = (value(metric, end) for end in span) if span else ("", "")
    return made.append(f"\n{low}\u2013{high}", style="dim") if low != high else made


def _ensemble_note(after: Row) -> str:
    """How to read a table of ensembles."""
    return (
        f"Medians and ranges of {after['ensemble']['members']} members. Noise: the most by which two members of the first side "
        "differ, its null ensemble included. The sides count as different if no member of one is within the range of the "
        f"other, and the medians differ by {RELATIVE:.1%} or more, and by the metric's floor or more.".replace("%", " %")
    )


def _of_changes(title: str, what: str, names: tuple[str, str]) -> Table:
    """An empty table of what has a figure on each side."""
    table = Table(
        title=Text(title), title_justify="left", title_style="bold",
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold",
    )  # fmt: skip
    for name, justify in ((what, "left"), (names[0], "right"), (names[1], "right"), ("Change", "right")):
        table.add_column(Text(name), justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table


def gained(before: Row, after: Row, names: tuple[str, str], top: int = TOP) -> Table | None:
    """The functions that gained or lost instructions; None without profiles of both sides."""
    if not before["summary"]["profile"] or not after["summary"]["profile"]:
        return None
    changed = functions(before, after)
    table = _of_changes("Functions that gained or lost instructions, per frame", "Function", names)
    for one in changed[:top]:
        style = "green" if one.change < 0 else "red"
        table.add_row(Text(one.name), figure(one.before), figure(one.after), Text(f"{one.change:+.2f}", style=style))
    rest = changed[top:]
    if rest:
        sums = sum(c.before for c in rest), sum(c.after for c in rest)
        table.add_row(Text(f"{len(rest)} more", style="dim"), figure(sums[0]), figure(sums[1]), f"{sums[1] - sums[0]:+.2f}")
    if not changed:
        table.add_row(Text("none", style="dim"), "", "", "0")
    return table


def lines_gained(before: Row, after: Row, names: tuple[str, str], top: int = TOP) -> Table | None:
    """The objects of which a frame uses more or fewer lines; None unless lines of both sides were counted."""
    sides = [row["summary"]["profile"] for row in (before, after)]
    if not all(side and "memory" in side for side in sides):
        return None
    old, new = ({line.object: line.lines_per_frame for line in object_lines({"summary": side})} for side in sides)
    changes = [Change(name, old.get(name, 0.0), new.get(name, 0.0)) for name in {**old, **new}]
    changes = sorted((c for c in changes if abs(c.change) >= NOTABLE), key=lambda c: (-abs(c.change), c.name))
    table = _of_changes("Objects of which more or fewer lines are used, lines per frame", "Object", names)
    for one in changes[:top]:
        style = "green" if one.change < 0 else "red"
        table.add_row(Text(one.name), f"{one.before:.2f}", f"{one.after:.2f}", Text(f"{one.change:+.2f}", style=style))
    if len(changes) > top:
        table.add_row(Text(f"{len(changes) - top} more", style="dim"), "", "", "")
    if not changes:
        table.add_row(Text("none", style="dim"), "", "", "0")
    return table
