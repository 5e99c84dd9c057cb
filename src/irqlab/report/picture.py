# SPDX-License-Identifier: GPL-2.0-or-later
"""Plots as one SVG file with its own colours, light or dark, for the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from irqlab import files
from irqlab.present import series, svg, swatches

PLOT_WIDTH, GAP, MARGIN, TITLE = 400, 40, 14, 30
PER_ROW = 2
LEGEND_TOP, LEGEND_STEP, LEGEND_LEFT, SWATCH_WIDTH = 18, 24, 64, 44
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


@dataclass(frozen=True)
class Panel:
    """A plot with its title, and below it a legend: number of the style (series.style) or key (swatches.keyed), and text."""

    title: str
    plot: str
    legend: Sequence[tuple[int | str, str]] = ()
    style: Callable[[int], series.Style] = series.style
    """Of the legend's lines, by number."""

    def swatch(self, key: int | str) -> str:
        """A legend's swatch."""
        return swatches.keyed(key) if isinstance(key, str) else swatches.swatch(self.style(key))


def write(directory: Path, name: str, panels: Sequence[Panel]) -> None:
    """Writes NAME-light.svg and NAME-dark.svg."""
    for mode, dark in (("light", False), ("dark", True)):
        files.write_atomically(directory / f"{name}-{mode}.svg", picture(panels, dark).encode())


def picture(panels: Sequence[Panel], dark: bool) -> str:
    """The panels, PER_ROW side by side."""
    drawn: list[str] = []
    titles: list[str] = []
    above: float = 0
    bottom = 0.0
    number = 0
    for place, panel in enumerate(panels):
        if place % PER_ROW == 0:
            above = bottom
        x, top = MARGIN + place % PER_ROW * (PLOT_WIDTH + GAP), round(above) + MARGIN + TITLE
        titles.append(f'<text class="title" x="{x}" y="{round(above) + MARGIN + 14}">{svg.clean(panel.title)}</text>')
        number += 1
        plot, height = _placed(svg.numbered(panel.plot, number), x, top, PLOT_WIDTH)
        drawn.append(plot)
        y = top + height
        if panel.legend:
            y += LEGEND_TOP
        for key, text in panel.legend:
            number += 1
            swatch, _ = _placed(svg.numbered(panel.swatch(key), number), x + LEGEND_LEFT, y, SWATCH_WIDTH)
            drawn += [swatch, f'<text x="{x + LEGEND_LEFT + SWATCH_WIDTH + 10}" y="{y + 13}">{svg.clean(text)}</text>']
            y += LEGEND_STEP
        bottom = max(bottom, y)
    height = bottom + MARGIN
    columns = min(len(panels), PER_ROW)
    width = 2 * MARGIN + columns * PLOT_WIDTH + (columns - 1) * GAP
    text = "text { font-size: 14px; fill: currentColor } .title { font-weight: 600; font-size: 16px }"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}">\n'
        f"<style>svg {{ {_palette(dark)} color: var(--ink); font-family: {FONT} }} {text}</style>\n"
        f'<rect width="100%" height="100%" fill="var(--paper)"/>\n' + "".join(titles) + "\n" + "\n".join(drawn) + "\n</svg>\n"
    )


def standing_alone(panels: Sequence[Panel]) -> str:
    """The panels with light colours that are written out, for programs that know no CSS variables."""
    colours = dict(re.findall(r"--([a-z0-9-]+):\s*([^;]+);", _palette(False)))
    return re.sub(r"var\(--([a-z0-9-]+)(?:,[^)]*)?\)", lambda found: colours.get(found[1], found[0]), picture(panels, False))


def _palette(dark: bool) -> str:
    """The page's colours as CSS variables."""
    style = resources.files("irqlab.report").joinpath("style.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    return re.sub(r"\s+", " ", blocks[1 if dark else 0].replace("color-scheme: light dark;", "")).strip()


def _placed(plot: str, x: float, y: float, width: float) -> tuple[str, float]:
    """A plot at a place, and its height."""
    box = re.search(r'viewBox="([^"]*)"', plot)
    assert box is not None
    _, _, wide, high = (float(n) for n in box[1].split())
    height = width * high / wide
    return plot.replace("<svg ", f'<svg x="{x}" y="{y}" width="{width}" height="{height:.1f}" ', 1), height
