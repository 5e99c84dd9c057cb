# SPDX-License-Identifier: GPL-2.0-or-later
"""The swatches of a legend, as SVG."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from irqlab.present.drawing import Axes, Figure, draw_line, isolated, mpl
from irqlab.present.series import Style, published_style, rank_style, style
from irqlab.present.svg import GREY, INK, finish


def _empty() -> tuple[Figure, Axes]:
    """A swatch of 44 by 16 without anything in it."""
    figure = mpl().Figure(figsize=(44 / 72, 16 / 72), dpi=72, facecolor="none")
    axes = figure.add_axes((0, 0, 1, 1), facecolor="none")
    axes.set_axis_off()
    axes.set_xlim(0, 44)
    axes.set_ylim(0, 16)
    return figure, axes


@cache
@isolated
def swatch(look: Style) -> str:
    """A line's swatch in a legend; 44 by 16."""
    figure, axes = _empty()
    draw_line(axes, [1, 43], [8, 8], look, marker=False)
    draw_line(axes, [22], [8], look, marker=True)
    return finish(figure, "", {}, decorative=True)


@cache
@isolated
def mark(kind: str) -> str:
    """A legend's swatch for marks other than lines: grey, wire, dot, ring, cross, published, hollow (a bar)."""
    figure, axes = _empty()
    if kind == "grey":
        axes.plot([1, 43], [8, 8], color=GREY, linewidth=2.5)
    elif kind == "wire":
        axes.plot([22, 22], [0, 16], color=GREY, linewidth=1.8, linestyle=(0, (2, 2)))
    elif kind == "dot":
        draw_line(axes, [22], [8], style(0), marker=True)
    elif kind == "published":
        draw_line(axes, [1, 43], [8, 8], replace(published_style(0), colour=INK), marker=False)
        draw_line(axes, [22], [8], replace(published_style(0), colour=INK), marker=True)
    elif kind == "hollow":
        axes.barh(8, 40, height=10, left=2, color="none", edgecolor=INK, linewidth=1.6, linestyle=(0, (3, 1.5)))
    elif kind == "ring":
        axes.plot([22], [8], "o", markersize=12, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.6)
    else:
        axes.plot([22], [8], "x", markersize=12, markeredgecolor=INK, markeredgewidth=2.4)
    return finish(figure, "", {}, decorative=True)


def keyed(key: str) -> str:
    """The swatch of a legend's key (irqlab.present.parts.Legend): a style's number, rank-NUMBER, or a mark."""
    if key.isdecimal():
        return swatch(style(int(key)))
    rank = key.removeprefix("rank-")
    return swatch(rank_style(int(rank))) if rank != key else mark(key)
