# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts and instructions per frame at the throughput."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab import units
from irqlab.present import plots, tables
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.rows import bar_of, by_test
from irqlab.present.variants import Row


def section(best: Sequence[Row], number: Numbers) -> Section | None:
    """Of the smallest frames a bar per variant; the others in a table."""
    rows = [row for row in best if row.data["interrupts_per_frame"] is not None or row.data["instructions_per_frame"] is not None]
    if not rows:
        return None
    groups = []
    for bidirectional in (False, True):
        mine = [row for row in rows if row.bidirectional == bidirectional]
        if not mine:
            continue
        heading, smallest = next(by_test(mine))
        group = Group(heading)
        for key, title, write in (
            ("interrupts_per_frame", "Interrupts per frame", units.per_frame),
            ("instructions_per_frame", "Instructions per frame", units.whole),
        ):
            entries = [bar_of(row, row.data[key], write(row.data[key])) for row in smallest if row.data[key] is not None]
            if entries:
                group.plots.append(number.plot(title, plots.bars(entries, title)))
        if len(mine) > len(smallest):
            group.tables = [tables.cost(mine)]
        groups.append(group)
    return Section(
        "cost",
        "What a frame costs",
        "Cost",
        "Device interrupts and instructions per frame forwarded, at the throughput. Interrupts are those of both interfaces, "
        "receive and transmit; instructions are everything the CPU executed, the kernel's network stack with it.",
        groups,
    )
