# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's sections."""

from __future__ import annotations

from irqlab.report.view import Group, Section
from irqlab.reproduce import page
from irqlab.reproduce.paper import Tables


def sections(tables: Tables) -> list[Section]:
    """Tables and plots in the paper's order."""
    first = tables["table1_throughput"]
    headings = {"frame_bytes": "Frame, bytes", "variant": "Variant", "throughput_mbps": "Mbit/s", "paper_mbps": "paper"}
    group = Group(tables=[page.table(first, headings)])
    return [Section("throughput", "Throughput", "Throughput", "Tables 1 and 2, figure 4.", [group])]
