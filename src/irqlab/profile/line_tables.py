# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of memory per frame as tables: by cache, by function, by object, and by the lines of an object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from irqlab import units
from irqlab.present import tables
from irqlab.present.columns import Col
from irqlab.present.tables import Cell, Column, Table
from irqlab.profile.tree import CONTEXT_NAMES

Row = Mapping[str, Any]

TOP = 40
FIELDS = 4
"""Fields named for a line."""
NOTABLE = 0.01
"""Objects that are used less often per frame are put together."""
NAMED = ("static data", "per-CPU data")
"""Kinds whose lines are told apart by variable."""


def figure(value: float) -> str:
    """Lines or misses per frame."""
    return f"{value:,.2f}".replace(",", units.NARROW)


@dataclass(frozen=True)
class FunctionLine:
    """A function in a context."""

    function: Annotated[str, Col("Function")]
    code_lines_per_frame: Annotated[float, Col("Code", "lines", figure)]
    data_lines_per_frame: Annotated[float, Col("Data", "lines", figure)]
    new_lines_per_frame: Annotated[float, Col("New", "lines", figure, title="used by no function before it since the last frame")]
    l1i_misses_per_frame: Annotated[float, Col("L1I", "misses", figure)]
    l1d_misses_per_frame: Annotated[float, Col("L1D", "misses", figure)]
    l2_misses_per_frame: Annotated[float | None, Col("L2", "misses", figure, optional=True)]
    l3_misses_per_frame: Annotated[float | None, Col("L3", "misses", figure, optional=True)]
    context: Annotated[str, Col("Context")]


@dataclass(frozen=True)
class ObjectLine:
    """An object, or all of a kind."""

    object: Annotated[str, Col("Object")]
    lines_per_frame: Annotated[float, Col("Lines", "/frame", figure)]
    loads_per_frame: Annotated[float, Col("Loads", "/frame", figure)]
    stores_per_frame: Annotated[float, Col("Stores", "/frame", figure)]
    l1d_misses_per_frame: Annotated[float, Col("L1D", "misses", figure)]
    l2_misses_per_frame: Annotated[float | None, Col("L2", "misses", figure, optional=True)]
    l3_misses_per_frame: Annotated[float | None, Col("L3", "misses", figure, optional=True)]
    window_lines: Annotated[int | None, Col("Lines", "in the window")]


@dataclass(frozen=True)
class FieldLine:
    """A field of an object."""

    object: Annotated[str, Col("Object")]
    line: Annotated[int | None, Col("Line")]
    field: Annotated[str, Col("Field")]
    lines_per_frame: Annotated[float, Col("Lines", "/frame", figure)]
    loads_per_frame: Annotated[float, Col("Loads", "/frame", figure)]
    stores_per_frame: Annotated[float, Col("Stores", "/frame", figure)]
    l1d_misses_per_frame: Annotated[float, Col("L1D", "misses", figure)]
    l2_misses_per_frame: Annotated[float | None, Col("L2", "misses", figure, optional=True)]
    l3_misses_per_frame: Annotated[float | None, Col("L3", "misses", figure, optional=True)]
    functions: Annotated[str, Col("Functions")]


@dataclass
class Part:
    """A line of an object, or a variable: counts per frame."""

    object: str
    kind: str
    name: str
    """Which line, or which variable."""
    line: int
    lines: float = 0.0
    accesses: float = 0.0
    misses: float = 0.0
    """Of L1D."""
    fields: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Field -> accesses."""
    users: dict[str, None] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The fields that are used most."""
        most = sorted((f for f in self.fields if f), key=lambda f: -self.fields[f])
        more = f", {len(most) - FIELDS} more" if len(most) > FIELDS else ""
        return ", ".join(most[:FIELDS]) + more


def parts(row: Row) -> list[Part]:
    """The lines of all objects, those that are used most often first."""
    found, frames = row["summary"]["memory"], row["summary"]["frames"]
    made: dict[tuple[str, str], Part] = {}
    for one in found["fields"]:
        variable = one["field"].partition(".")[0].partition("[")[0]
        inner = one["field"].removeprefix(variable).lstrip(".")
        if one["kind"] in NAMED:
            name = variable if one["line"] < 1 else f"{variable}, line {one['line']}"
        else:
            name, inner = (str(one["line"]) if one["line"] >= 0 else ""), one["field"]
        part = made.setdefault((one["object"], name), Part(one["object"], one["kind"], name, one["line"]))
        accesses = (one["loads"] + one["stores"]) / frames
        part.lines += one["lines"] / frames
        part.accesses += accesses
        part.misses += one["misses"][0] / frames
        part.fields[inner] += accesses
        part.users.update(dict.fromkeys(one["users"]))
    return sorted(made.values(), key=lambda part: (-part.lines, -part.accesses, part.object, part.name))


def caches_table(row: Row) -> Table:
    """Lines and misses of instructions and data, by cache."""
    found, frames = row["summary"]["memory"], row["summary"]["frames"]
    behind = found["levels"][2:]
    columns = [
        Column("", number=False),
        Column("Lines", unit="/frame"),
        Column("Lines", unit="in the window"),
        Column("L1 misses", unit="/frame"),
        *(Column(f"{name} misses", unit="/frame") for name in behind),
    ]
    lines = []
    for name, new, missed, window in (
        ("Instructions", "new_code_lines", "code_misses", sum(found["window_code_lines"].values())),
        ("Data", "new_data_lines", "data_misses", sum(found["objects"].values())),
    ):
        misses = [sum(f[missed][n] for f in found["functions"]) for n in range(1 + len(behind))]
        lines.append(
            [
                Cell(name),
                Cell(figure(sum(f[new] for f in found["functions"]) / frames)),
                Cell(units.whole(window)),
                *(Cell(figure(count / frames)) for count in misses),
            ]
        )
    return Table("Lines of memory", columns, lines)


def _behind(misses: Iterable[int], frames: int) -> tuple[float | None, float | None]:
    """Misses of L2 and L3 per frame; None if there is no such cache."""
    values = [count / frames for count in misses]
    return (values[1] if len(values) > 1 else None, values[2] if len(values) > 2 else None)


def function_lines(row: Row) -> list[FunctionLine]:
    """Every function, those that use most lines first."""
    found, frames = row["summary"]["memory"], row["summary"]["frames"]
    made = []
    for f in found["functions"]:
        both = [a + b for a, b in zip(f["code_misses"], f["data_misses"], strict=True)]
        made.append(
            FunctionLine(
                f["function"] + (f" [{f['module']}]" if f["module"] else ""),
                f["code_lines"] / frames,
                f["data_lines"] / frames,
                (f["new_code_lines"] + f["new_data_lines"]) / frames,
                f["code_misses"][0] / frames,
                f["data_misses"][0] / frames,
                *_behind(both, frames),
                CONTEXT_NAMES.get(f["context"], f["context"]),
            )
        )
    return made


def functions_table(row: Row, top: int = TOP, folded: bool = False) -> Table:
    """The functions that use most lines."""
    lines = function_lines(row)
    note = f"{len(lines) - top} more functions are not shown." if len(lines) > top else ""
    return tables.of_lines(FunctionLine, lines[:top], "Lines by function", note, folded)


def object_lines(row: Row) -> list[ObjectLine]:
    """Every object, those that use most lines first; small ones together."""
    found, frames = row["summary"]["memory"], row["summary"]["frames"]
    sums: dict[str, list[float]] = {}
    for one in found["fields"]:
        figures = [one["lines"], one["loads"], one["stores"], *one["misses"]]
        before = sums.setdefault(one["object"], [0.0] * len(figures))
        sums[one["object"]] = [a + b for a, b in zip(before, figures, strict=True)]
    made, rest = [], [0.0] * (2 + len(found["levels"]))
    few = 0
    for name, figures in sorted(sums.items(), key=lambda item: (-item[1][0], -item[1][3], item[0])):
        if figures[0] / frames < NOTABLE:
            rest, few = [a + b for a, b in zip(rest, figures, strict=True)], few + 1
            continue
        made.append(_object(name, figures, frames, found["objects"][name]))
    if few:
        made.append(_object(f"{few} more", rest, frames, None))
    return made


def _object(name: str, figures: list[float], frames: int, window: int | None) -> ObjectLine:
    lines, loads, stores, *misses = (value / frames for value in figures)
    behind = [misses[n] if len(misses) > n else None for n in (1, 2)]
    return ObjectLine(name, lines, loads, stores, misses[0], behind[0], behind[1], window)


def objects_table(row: Row, folded: bool = False) -> Table:
    """Lines of data by object."""
    return tables.of_lines(ObjectLine, object_lines(row), "Lines of data by object", folded=folded)


def parts_table(row: Row, top: int = TOP, folded: bool = False) -> Table:
    """The lines of objects that are used most, and which fields are in them."""
    columns = (
        Column("Object", number=False),
        Column("Line", number=False),
        Column("Lines", unit="/frame"),
        Column("Accesses", unit="/frame"),
        Column("L1D misses", unit="/frame"),
        Column("Fields", number=False, title="those that are used, the most used ones first"),
    )
    found = parts(row)
    rows = [
        [Cell(p.object), Cell(p.name), Cell(figure(p.lines)), Cell(figure(p.accesses)), Cell(figure(p.misses)), Cell(p.text)]
        for p in found[:top]
    ]
    note = f"{len(found) - top} more lines and variables are not shown." if len(found) > top else ""
    return Table("Lines of data by object and line", columns, rows, folded, note)


def field_lines(row: Row) -> list[FieldLine]:
    """Every field that was used."""
    found, frames = row["summary"]["memory"], row["summary"]["frames"]
    return [
        FieldLine(
            one["object"],
            one["line"] if one["line"] >= 0 else None,
            one["field"],
            one["lines"] / frames,
            one["loads"] / frames,
            one["stores"] / frames,
            one["misses"][0] / frames,
            *_behind(one["misses"], frames),
            " ".join(one["users"]),
        )
        for one in found["fields"]
    ]


def summary(row: Row) -> str:
    """What was counted, with which caches, and what could not be found out."""
    found = row["summary"]["memory"]
    code, data = found["line_bytes"]
    size = f"{code} bytes" if code == data else f"{code} bytes (instructions) and {data} bytes (data)"
    text = (
        f"Lines of {size}, caches of {found['hardware']}. A line counts once between a frame that the DUT has sent and the next, "
        "for the function and field that used it first."
    )
    return " ".join([text, *found["lacking"]])
