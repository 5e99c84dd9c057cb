# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the instructions go."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.rows import by_test
from irqlab.present.variants import Row
from irqlab.report import profile


def section(rows: Sequence[Row], number: Numbers) -> Section | None:
    """A flame graph per profile."""
    rows = [row for row in rows if row.data["samples"]]
    if not rows:
        return None
    groups = []
    for heading, same in by_test(rows):
        for row in sorted(same, key=lambda row: row.variant.number):
            drawn = number.plot("Flame graph", profile.graph(row), wide=True)
            note = profile.describe(row)
            groups.append(Group(f"{row.variant.label}, {heading}", plots=[drawn], note=note, tables=profile.tables(row)))
    return Section("profile", "Where the instructions go", "Profile", profile.INTRO, groups)
