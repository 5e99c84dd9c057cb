# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plot shows: lines and bars, with their styles. Lines never differ only in colour, but also in markers or dashes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from irqlab.present.svg import INK
from irqlab.spread import median

COLOURS = 8
"""Number of series colours of the page: --s0, --s1, ..."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_DASHES: tuple[Any, ...] = ("solid", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (4, 1.5, 1.5, 1.5, 1.5, 1.5)))

Point = tuple[float, float | None]


@dataclass(frozen=True)
class Style:
    """The style of a line."""

    colour: str
    marker: str
    dash: Any
    filled: bool = True


def style(number: int) -> Style:
    """The style of the n-th series; the first forty differ."""
    return Style(f"#0a00{number % COLOURS:02x}", _MARKERS[number % len(_MARKERS)], _DASHES[number % len(_DASHES)])


def rank_style(rank: int, colour: str = INK) -> Style:
    """Styles of one colour for ordered series, such as percentiles."""
    return Style(colour, ("o", "s", "^", "D", "X")[rank % 5], _DASHES[rank % 5], filled=rank % 2 == 0)


def measured_style(number: int) -> Style:
    """The style of the n-th measured series in plots with published data: solid; beyond the colours with hollow markers."""
    return replace(style(number), dash="solid", filled=number < COLOURS)


def published_style(number: int) -> Style:
    """The style of the n-th published series: dashed, with hollow markers."""
    return replace(style(number), dash=(0, (3, 2)), filled=False)


@dataclass(frozen=True)
class Line:
    """A series. Points without a y are gaps."""

    gid: str
    name: str
    look: Style
    points: Sequence[Point]
    ring: tuple[float, float] | None = None
    """A point marked with a ring."""
    cross: tuple[float, float] | None = None
    """A point marked with a cross."""
    band: Sequence[tuple[float, float]] = ()
    """The range of each point in an ensemble; not a number where there is none."""


@dataclass(frozen=True)
class Bar:
    """A bar, and the text at its end."""

    gid: str
    name: str
    look: Style
    value: float
    text: str
    grey: bool = False
    span: tuple[float, float] | None = None
    """The range of an ensemble."""


@dataclass(frozen=True)
class BarGroup:
    """A labelled group of bars."""

    name: str
    bars: Sequence[Bar]


def spread(arg: Any, members: Sequence[Any]) -> Any:
    """An argument of a plot: lines, bars, groups of bars, or the bounds of an axis; others are as they are."""
    if isinstance(arg, tuple) and len(arg) == 2 and all(isinstance(value, float) for value in arg):
        return min(low for low, _ in members), max(high for _, high in members)
    if isinstance(arg, (list, tuple)) and arg and isinstance(arg[0], (Line, Bar)):
        same = [{one.gid: one for one in many} for many in members]
        return [_one(one, [many[one.gid] for many in same if one.gid in many]) for one in arg]
    if isinstance(arg, (list, tuple)) and arg and isinstance(arg[0], BarGroup) and all(len(many) == len(arg) for many in members):
        return [replace(group, bars=spread(group.bars, [many[n].bars for many in members])) for n, group in enumerate(arg)]
    return arg


def _one(found: Line | Bar, members: Sequence[Any]) -> Line | Bar:
    """A line or a bar with the medians and ranges of the members'; unchanged if they have other points."""
    if isinstance(found, Bar):
        if not members:
            return found
        text_of = {one.value: one.text for one in members}
        middle = median([one.value for one in members])
        span = None if len(text_of) == 1 else (min(text_of), max(text_of))
        return replace(found, value=middle, text=text_of[middle], span=span)
    if not members or any(len(one.points) != len(found.points) for one in members):
        return found
    points, band = [], []
    for place, point in enumerate(found.points):
        values = [one.points[place][1] for one in members]
        x = median([one.points[place][0] for one in members])
        whole = [value for value in values if value is not None]
        gap = len(whole) < len(values)
        points.append((x, point[1] if gap else median(whole)))
        band.append((math.nan, math.nan) if gap else (min(whole), max(whole)))
    return replace(found, points=points, band=band)
