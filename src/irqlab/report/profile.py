# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's part on profiles: the flame graph, and who executed how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irqlab import units
from irqlab.present.tables import Cell, Column, Table
from irqlab.present.variants import Row
from irqlab.profile import flamegraph
from irqlab.profile.tables import figure, summary, title
from irqlab.profile.tree import CONTEXT_NAMES

TOP = 60
INTRO = (
    "Every instruction that the CPU executed in the measured window, counted in the function and context it was executed in, per "
    "frame forwarded. In the graph a box is a function, as wide as what it and the functions above it executed; below it is its "
    "caller. Hard IRQ: from the processor's entry to its return, less softirqs run on the way out."
)


def describe(row: Row) -> str:
    """What a profile is of, and whether it adds up."""
    return f"{title(row.data)}. {summary(row.data)}"


def graph(row: Row) -> str:
    """The flame graph."""
    return flamegraph.svg(row.data, f"Flame graph, {row.variant.label}")


def tables(row: Row) -> list[Table]:
    """Owners, contexts, and the functions that cost most."""
    found, points = row.data["summary"], row.data["samples"]
    frames, all_instructions = found["frames"], found["instructions"]

    def cost(instructions: int) -> list[Cell]:
        return [Cell(figure(instructions / frames)), Cell(units.percent(instructions / all_instructions))]

    numbers = (Column("Instructions per frame"), Column("Share"))
    result = [
        _totals("Owner", found["by_owner"], numbers, cost),
        _totals("Context", {CONTEXT_NAMES[name]: count for name, count in found["by_context"].items()}, numbers, cost),
    ]
    columns = (
        *(Column("Function", number=False), *numbers, Column("Entered per frame")),
        *(Column("Context", number=False), Column("Owner", number=False)),
    )
    lines = [
        [
            Cell(p["function"] + (f" [{p['module']}]" if p["module"] else ""), code=True),
            *cost(p["instructions"]),
            Cell(f"{p['entries'] / frames:.2f}"),
            Cell(CONTEXT_NAMES[p["context"]]),
            Cell(p["owner"]),
        ]
        for p in points[:TOP]
    ]
    caption = f"The {TOP} most expensive of {len(points)} functions" if len(points) > TOP else "Functions"
    return [*result, Table(caption, columns, lines, folded=True)]


def _totals(name: str, sums: dict[str, int], numbers: Sequence[Column], cost: Callable[[int], list[Cell]]) -> Table:
    lines = [[Cell(key), *cost(count)] for key, count in sums.items()]
    return Table(f"By {name.lower()}", (Column(name, number=False), *numbers), lines)
