# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency under load."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.variants import Row
from irqlab.report import peers


def section(rows: Sequence[Row], number: Numbers) -> Section | None:
    """Plots as flent's, and the flows in tables."""
    rows = [row for row in rows if row.data["summary"]]
    if not rows:
        return None
    drawn = [number.plot(title, svg, note) for title, svg, note in peers.rrul_plots(rows)]
    group = Group(plots=drawn, tables=[peers.rrul_table(rows), peers.flows_table(rows)])
    return Section("rrul", "Under load", "Latency under load (rrul)", peers.RRUL_INTRO, [group])
