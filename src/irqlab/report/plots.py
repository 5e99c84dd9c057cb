# SPDX-License-Identifier: GPL-2.0-or-later
"""The plots of a report as files: each as SVG and PNG that stand alone, and each method's figures as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from irqlab import files
from irqlab.methods import catalogue
from irqlab.present.parts import Page
from irqlab.present.series import Style, style
from irqlab.report import view
from irqlab.report.picture import Panel, standing_alone

FONT = "DejaVu Sans"
"""Of a PNG: the one that matplotlib brings along, so that pictures are the same on all hosts."""
ZOOM = 2
"""Pixels of a PNG for each unit of the SVG."""


def write(documents: Sequence[dict[str, Any]], directory: Path) -> list[Path]:
    """Writes the plots and figures of result documents into a directory; returns the files. Raises IrqlabError."""
    written = write_plots(view.build(documents), directory)
    for name, rows in catalogue.rows_by_method(catalogue.rows(documents), complete=True).items():
        written.append(directory / f"{name}.csv")
        files.write_atomically(written[-1], catalogue.methods()[name].lines.csv(rows).encode())
    return written


def write_plots(page: Page, directory: Path, style: Callable[[int], Style] = style) -> list[Path]:
    """Writes each plot of a page as SECTION-HEADING-TITLE.svg and .png; returns the files. `style`: of its numbered lines."""
    import matplotlib
    import resvg_py

    file = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
    fonts: dict[str, Any] = {"skip_system_fonts": True, "font_files": [str(file)]}
    fonts |= {"font_family": FONT, "sans_serif_family": FONT}
    written = []
    for name, panel in _named(page, style):
        picture = standing_alone([panel])
        pixels = resvg_py.svg_to_bytes(svg_string=picture, zoom=ZOOM, **fonts)
        for suffix, content in ((".svg", picture.encode()), (".png", bytes(pixels))):
            written.append(directory / f"{name}{suffix}")
            files.write_atomically(written[-1], content)
    return written


def _named(page: Page, style: Callable[[int], Style]) -> Iterable[tuple[str, Panel]]:
    """Every plot with a name of its own."""
    used: dict[str, int] = {}
    for section in page.sections:
        for group in section.groups:
            legend = [(int(one.key) if one.key.isdecimal() else one.key, one.text) for one in group.legend]
            for plot in group.plots:
                words = re.sub(r"[^a-z0-9]+", "-", f"{section.id} {group.heading} {plot.title}".lower()).strip("-")
                used[words] = used.get(words, 0) + 1
                yield words if used[words] == 1 else f"{words}-{used[words]}", Panel(plot.title, str(plot.svg), legend, style)
