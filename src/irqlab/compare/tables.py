# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison as tables, for a terminal and for the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from irqlab import units
from irqlab.compare.verdict import Line, Row, change_text, functions, noise, value
from irqlab.methods.metrics import IDLES, Metric
from irqlab.present.tables import Cell, Column, Table
from irqlab.profile.diff import Change
from irqlab.profile.line_tables import NOTABLE, object_lines
from irqlab.profile.tables import figure

TOP = 20
MARKS = {"FAILED": "bad", "worse": "warn", "better": "good"}
NOTE = (
    "Of {members} members of each side, which differ only in what should not matter: medians and ranges. Noise: the most by "
    "which two members of a side differ. It is a difference if all members of one side are beyond all of the other. Instructions "
    "per frame are compared function by function, so that the idle loop and the timer tick do not count."
)


def heading(before: Row, after: Row) -> str:
    """Heading: the test, and its loads."""
    size = units.bytes_of(after["frame_bytes"])
    given = after["summary"]
    loads = [f"costs at {units.kpps(given['cost_pps'])}{units.NARROW}kpps ({_idle(before, after)})"]
    loads.append(f"latency at {units.kpps(given['below_pps'])}")
    if given["overload_pps"] is not None:
        loads.append(f"overload {units.kpps(given['overload_pps'])}")
    each = ", each way" if after["bidirectional"] else ""
    frames = f"{size}{'' if size == 'IMIX' else '-byte'} frames, {units.direction(after['bidirectional'])}"
    return f"{frames}; {', '.join(loads)}; the same for both sides{each}"


def _idle(before: Row, after: Row) -> str:
    """How much the processors of both sides idle at the low load."""
    shares = [row["summary"]["idle_ratio"] for row in (before, after)]
    if None in shares:
        return "idle time not known"
    texts = list(dict.fromkeys(f"{share * 100:.0f}" for share in shares))
    text = f"CPU idle for {' and '.join(texts)}{units.NARROW}%"
    return text if min(shares) >= IDLES else f"{text}: busy, so instructions per frame do not show what a frame costs"


def of_pair(before: Row, after: Row, lines: Sequence[Line], names: tuple[str, str], top: int = TOP) -> Iterable[Table]:
    """The figures of both sides, the functions that gained or lost, and the objects."""
    yield verdicts(before, after, lines, names)
    if before["summary"]["profile"] and after["summary"]["profile"]:
        changed = functions(before, after)
        yield _changes("Functions that gained or lost instructions, per frame", "Function", names, changed, top, figure)
    sides = [row["summary"]["profile"] for row in (before, after)]
    if all(side and "memory" in side for side in sides):
        old, new = ({line.object: line.lines_per_frame for line in object_lines({"summary": side})} for side in sides)
        changes = [Change(name, old.get(name, 0.0), new.get(name, 0.0)) for name in {**old, **new}]
        changes = sorted((c for c in changes if abs(c.change) >= NOTABLE), key=lambda c: (-abs(c.change), c.name))
        title = "Objects of which more or fewer lines are used, lines per frame"
        yield _changes(title, "Object", names, changes, top, lambda lines: f"{lines:.2f}")


def verdicts(before: Row, after: Row, lines: Sequence[Line], names: tuple[str, str]) -> Table:
    """A table of every metric of both sides."""
    members = max((len(line.spread.before) for line in lines if line.spread), default=0)
    columns = [Column("Figure", number=False), Column(names[0]), Column(names[1]), Column("Change")]
    columns += [Column("Noise")] if members else []
    columns.append(Column("Verdict", number=False))
    rows = []
    for line in lines:
        spans = (line.spread.before, line.spread.after) if line.spread else ((), ())
        sides = [_with_range(line.metric, *side) for side in zip((line.before, line.after), spans, strict=True)]
        verdict = Cell(line.verdict, mark=MARKS.get(line.verdict, ""))
        name = line.metric.text + (f" ({line.metric.unit})" if line.metric.unit else "")
        rows.append([Cell(name), *sides, Cell(change_text(line)), *([Cell(noise(line))] if members else []), verdict])
    places = [line.metric.where for line in lines]
    breaks = frozenset(n for n in range(len(places) - 1) if places[n] != places[n + 1])
    note = NOTE.format(members=members) if members else ""
    return Table(heading(before, after), columns, rows, note=note, breaks=breaks)


def _with_range(metric: Metric, shown: float | None, members: Sequence[float]) -> Cell:
    """A value, and the range of an ensemble."""
    low, high = (value(metric, end(members)) for end in (min, max)) if members else ("", "")
    return Cell(value(metric, shown), low=low if low != high else "", high=high)


def _changes(
    title: str, what: str, names: tuple[str, str], changes: Sequence[Change], top: int, shown: Callable[[float], str]
) -> Table:
    """What has a figure on each side, largest change first, the rest in one line."""
    columns = [Column(what, number=False), Column(names[0]), Column(names[1]), Column("Change")]

    def line(name: str, before: float, after: float) -> list[Cell]:
        return [Cell(name), Cell(shown(before)), Cell(shown(after)), Cell(f"{after - before:+.2f}")]

    rows = [line(one.name, one.before, one.after) for one in changes[:top]]
    if rest := changes[top:]:
        rows.append(line(f"{len(rest)} more", sum(c.before for c in rest), sum(c.after for c in rest)))
    rows.append(
        line("all", sum(c.before for c in changes), sum(c.after for c in changes))
        if rows
        else [Cell("none"), Cell(""), Cell(""), Cell("0")]
    )
    return Table(title, columns, rows, breaks=frozenset({len(rows) - 2}))
