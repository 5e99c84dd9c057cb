# SPDX-License-Identifier: GPL-2.0-or-later
"""Recovery from overload."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab import units
from irqlab.present import plots, tables
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.rows import bar_of, by_test
from irqlab.present.variants import Row


def section(rows: Sequence[Row], number: Numbers) -> Section | None:
    """A bar per variant and overload."""
    rows = [row for row in rows if row.data["samples"]]
    if not rows:
        return None
    groups = []
    for heading, same in by_test(rows):
        same = sorted(same, key=lambda row: row.variant.number)
        overloads = sorted({p["overload"] for row in same for p in row.data["samples"]})
        drawn = []
        for overload in overloads:
            entries = [
                bar_of(row, p["recovery_ns"], units.duration(p["recovery_ns"]) if p["recovery_ns"] else "at once")
                for row in same
                for p in row.data["samples"]
                if p["overload"] == overload
            ]
            drawn.append(number.plot(f"After {units.share_of(overload)}", plots.bars(entries, "Recovery time")))
        groups.append(Group(heading, plots=drawn, tables=[tables.recovery(same)]))
    return Section(
        "recovery",
        "Recovery from overload",
        "Recovery",
        "How long frames are still lost after an overload has ended (RFC 2544, 26.5).",
        groups,
    )
