# SPDX-License-Identifier: GPL-2.0-or-later
"""Real TCP and UDP."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.report import peers
from irqlab.report.parts import Group, Section
from irqlab.report.variants import Row


def section(rows: Sequence[Row]) -> Section | None:
    """One table."""
    rows = [row for row in rows if row.data["points"]]
    if not rows:
        return None
    return Section("iperf", "iperf3", "TCP and UDP (iperf3)", peers.IPERF_INTRO, [Group(tables=[peers.iperf_table(rows)])])
