# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures of the documentation, light and dark, drawn from results. tools.figures writes them into docs/images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irqlab.methods import catalogue
from irqlab.present import plots
from irqlab.present.rows import bar_of, kpps_text, line_of
from irqlab.report.picture import Panel, picture
from irqlab.versions import history_report
from tools.pages import IMAGES


def drawn_as(name: str, panels: Sequence[Panel]) -> dict[Path, str]:
    """The two files of a picture."""
    return {IMAGES / f"{name}-{mode}.svg": picture(panels, dark) for mode, dark in (("light", False), ("dark", True))}


def demo(content: dict[str, Any]) -> dict[Path, str]:
    """Throughput on the left, forwarding under overload on the right."""
    rows = catalogue.rows([content])
    best = [row for row in rows if row.data["method"] == "throughput"]
    loss = sorted((row for row in rows if row.data["method"] == "loss"), key=lambda row: row.variant.number)
    bars = plots.bars(
        [bar_of(row, row.data["total_throughput_pps"], kpps_text(row.data["total_throughput_pps"])) for row in best], "Throughput"
    )
    curves = plots.forwarding(
        [line_of(row, [(p["offered_pps"] / 1e3, p["forwarded_pps"] / 1e3) for p in row.data["samples"]]) for row in loss], None
    )
    legend = [(row.variant.number, row.variant.label) for row in loss]
    panels = [Panel("Throughput without loss, 64-byte frames", bars), Panel("Forwarded over offered load", curves, legend)]
    return drawn_as("demo", panels)


def history(content: dict[str, Any]) -> dict[Path, str]:
    """Throughput and cost over kernels."""
    lines, kernels = history_report.lines_of(content), [kernel["name"] for kernel in content["kernels"]]
    legend = [(number, line[0].driver) for number, line in enumerate(lines)]
    half = (len(legend) + 1) // 2
    speeds = history_report.picture(lines, kernels, history_report.throughput, "Throughput over kernels")
    costs = history_report.picture(lines, kernels, history_report.cost, "Instructions per frame over kernels")
    panels = [Panel("Throughput", speeds, legend[:half]), Panel("Instructions per frame", costs, legend[half:])]
    return drawn_as("history", panels)
