# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws pictures of the documentation, light and dark, from results, into docs/images or another directory.

    python -m tools.pictures demo docs/images results/demo/demo.json              # the README's, of `make demo`
    python -m tools.pictures history docs/images results/history/history.json     # of `irqlab history`
    python -m tools.pictures ring docs/images NAME TEST one.json other.json ...   # of `irqlab ring`

NAME is the picture's name, TEST the test as in the table, such as "TCP Tx": a panel for each driver and scheme.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.methods.ring import curve
from irqlab.present import plots
from irqlab.present.rows import bar_of, kpps_text, line_of
from irqlab.report.picture import Panel, write
from irqlab.versions import history_report

SHOWN = ("e100", "8139cp")
"""Drivers whose owners are drawn over kernels."""


def demo(images: Path, file: str) -> None:
    """Throughput on the left, forwarding under overload on the right."""
    rows = catalogue.rows([catalogue.read(Path(file))])
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
    write(images, "demo", panels)


def history(images: Path, file: str) -> None:
    """Throughput and cost over kernels; the owners of the cost."""
    content = history_report.read(Path(file))
    lines, kernels = history_report.lines_of(content), [kernel["name"] for kernel in content["kernels"]]
    legend = [(number, line[0].driver) for number, line in enumerate(lines)]
    half = (len(legend) + 1) // 2
    speeds = history_report.picture(lines, kernels, history_report.throughput, "Throughput over kernels")
    costs = history_report.picture(lines, kernels, history_report.cost, "Instructions per frame over kernels")
    write(images, "history", [Panel("Throughput", speeds, legend[:half]), Panel("Instructions per frame", costs, legend[half:])])
    panels = []
    for line in lines:
        if line[0].driver in SHOWN:
            owners = list(enumerate(history_report.owners(line)))
            title = f"{line[0].driver}: instructions per frame by owner"
            panels.append(Panel(title, history_report.owners_plot(line, kernels), owners))
    write(images, "history-owners", panels)


def ring(images: Path, name: str, test: str, *files: str) -> None:
    """Descriptors in the transmit ring over time."""
    panels = []
    for row in catalogue.rows([catalogue.read(Path(file)) for file in files]):
        for sample in (sample for sample in row.samples if sample.name == test):
            title = f"{row.variant.label}: descriptors, ring of {sample.ring}"
            panels.append(Panel(title, curve(row, sample, title), []))
    write(images, name, panels)


def main(words: Sequence[str]) -> int:
    """Returns the exit code."""
    match words:
        case ["demo", images, file]:
            demo(Path(images), file)
        case ["history", images, file]:
            history(Path(images), file)
        case ["ring", images, name, test, *files] if files:
            ring(Path(images), name, test, *files)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except IrqlabError as error:
        print(f"pictures: {error}", file=sys.stderr)
        sys.exit(2)
