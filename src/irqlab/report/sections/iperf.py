# SPDX-License-Identifier: GPL-2.0-or-later
"""Real TCP and UDP."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.present.parts import Group, Section
from irqlab.present.variants import Row
from irqlab.report import peers


def section(rows: Sequence[Row]) -> Section | None:
    """One table."""
    rows = [row for row in rows if row.data["samples"]]
    if not rows:
        return None
    return Section("iperf", "iperf3", "TCP and UDP (iperf3)", peers.IPERF_INTRO, [Group(tables=[peers.iperf_table(rows)])])
