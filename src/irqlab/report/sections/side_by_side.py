# SPDX-License-Identifier: GPL-2.0-or-later
"""Several drivers in one table."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.variants import Row
from irqlab.report import costs


def section(rows: Sequence[Row], number: Numbers) -> Section | None:
    """One table, and the heat map of it."""
    rows = [row for row in rows if row.data["complete"]]
    if not rows:
        return None
    group = Group(tables=[costs.table(rows)])
    group.plots = [number.plot(title, svg, wide=True) for title, svg in costs.heat_maps(rows)]
    return Section(
        "side-by-side",
        "Side by side",
        "Side by side",
        "Latency, instructions, interrupts and register accesses are those at 90 % of the throughput (where two were compared, "
        "of the lower one), overload is twice that throughput. The better in its column, the darker.",
        [group],
    )
