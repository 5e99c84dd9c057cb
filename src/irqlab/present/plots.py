# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes plots as SVG to be embedded in a page: takes plain data, returns an `<svg>` element.

Matplotlib's output is rewritten for the page: colours become the page's CSS variables, so that a plot works in light and dark
mode, fonts are the page's, identifiers are unique, and there are no external references. Lines never differ only in colour, but
also in markers or dashes. Each line, bar or mark is a group whose identifier ends in its `gid`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, wraps
from statistics import median_low
from types import SimpleNamespace
from typing import Any, ParamSpec

from irqlab.present import tape
from irqlab.present.svg import AXIS, GREY, GRID, INK, PAPER, clean, finish
from irqlab.units import duration, grouped

WIDTH, HEIGHT = 400.0, 300.0
"""Size of a plot in units of its viewBox; the page scales it."""
FONT = 16.0
"""Font size that space is reserved for. The page sets the actual size: this on a phone, less if the plot is larger."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 14.0, 34.0, 52.0
_BAR_STEP, _BAR_HEIGHT, _BAR_LABEL = 50.0, 16.0, 44
_GROUP_STEP, _THIN_STEP, _THIN_HEIGHT = 27.0, 19.0, 11.0

MAX_STROKES = 24
"""Maximum points of a line whose ranges are drawn as strokes."""
COLOURS = 8
"""Number of series colours of the page: --s0, --s1, ..."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_SIZES = {"o": 6.5, "s": 6.0, "D": 6.0}
"""Marker sizes; the other markers need more to look as large."""
_DASHES: tuple[Any, ...] = ("solid", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (4, 1.5, 1.5, 1.5, 1.5, 1.5)))

_RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "irqlab",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": FONT,
    "lines.solid_capstyle": "round",
    "path.simplify": True,
}

_P = ParamSpec("_P")
Axes = Any
Figure = Any
"""Matplotlib's type."""


@cache
def _mpl() -> SimpleNamespace:
    """The parts of matplotlib that are used. Imported by the first plot, since that takes a second."""
    import matplotlib
    from matplotlib import figure, ticker

    return SimpleNamespace(
        rc_context=matplotlib.rc_context,
        rcdefaults=matplotlib.rcdefaults,
        rcParams=matplotlib.rcParams,
        Figure=figure.Figure,
        FixedLocator=ticker.FixedLocator,
        FuncFormatter=ticker.FuncFormatter,
        MaxNLocator=ticker.MaxNLocator,
        NullLocator=ticker.NullLocator,
    )


def _isolated(draw: Callable[_P, str]) -> Callable[_P, str]:
    """Decorator: draws with matplotlib's defaults and our settings, not the user's; for ensembles see irqlab.present.tape."""

    @wraps(draw)
    def drawn(*args: _P.args, **kwargs: _P.kwargs) -> str:
        if tape.noted(draw.__name__, args):
            return ""
        if members := tape.played(draw.__name__, args):
            args = tuple(_spread(arg, [one[n] for one in members]) for n, arg in enumerate(args))  # type: ignore[assignment]
        with _mpl().rc_context():
            _mpl().rcdefaults()
            _mpl().rcParams.update(_RC)
            return draw(*args, **kwargs)

    return drawn


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
    """The style of the n-th measured series in plots with published data: solid."""
    return replace(style(number), dash="solid")


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


def _spread(arg: Any, members: Sequence[Any]) -> Any:
    """An argument of a plot: lines, bars, groups of bars, or the bounds of an axis; others are as they are."""
    if isinstance(arg, tuple) and len(arg) == 2 and all(isinstance(value, float) for value in arg):
        return min(low for low, _ in members), max(high for _, high in members)
    if isinstance(arg, (list, tuple)) and arg and isinstance(arg[0], (Line, Bar)):
        same = [{one.gid: one for one in many} for many in members]
        return [_one(one, [many[one.gid] for many in same if one.gid in many]) for one in arg]
    if isinstance(arg, (list, tuple)) and arg and isinstance(arg[0], BarGroup) and all(len(many) == len(arg) for many in members):
        return [replace(group, bars=_spread(group.bars, [many[n].bars for many in members])) for n, group in enumerate(arg)]
    return arg


def _one(found: Line | Bar, members: Sequence[Any]) -> Line | Bar:
    """A line or a bar with the medians and ranges of the members'; unchanged if they have other points."""
    if isinstance(found, Bar):
        if not members:
            return found
        text_of = {one.value: one.text for one in members}
        middle = median_low([one.value for one in members])
        span = None if len(text_of) == 1 else (min(text_of), max(text_of))
        return replace(found, value=middle, text=text_of[middle], span=span)
    if not members or any(len(one.points) != len(found.points) for one in members):
        return found
    points, band = [], []
    for place, point in enumerate(found.points):
        values = [one.points[place][1] for one in members]
        x = median_low([one.points[place][0] for one in members])
        whole = [value for value in values if value is not None]
        gap = len(whole) < len(values)
        points.append((x, point[1] if gap else median_low(whole)))
        band.append((math.nan, math.nan) if gap else (min(whole), max(whole)))
    return replace(found, points=points, band=band)


@_isolated
def throughput_by_size(
    lines: Sequence[Line],
    wires: Sequence[Sequence[tuple[float, float]]],
    y_label: str = "kpps",
    top: float | None = None,
    bottom: float = 0.0,
    x_label: str = "Frame size, bytes (FCS counted)",
) -> str:
    """Throughput, in kpps unless `y_label` says otherwise, over the frame size in bytes; `wires` are line rates."""
    figure, axes = _canvas(x_label, y_label)
    highest = max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    limit = max((y for points in wires for _, y in points), default=0.0)
    axes.set_xscale("log", base=2)
    for number, points in enumerate(wires):
        _grey(axes, points, f"wire-{number}")
    _draw(axes, lines)
    sizes = sorted({x for line in lines for x, _ in line.points})
    axes.xaxis.set_major_locator(_mpl().FixedLocator(_apart(sizes)))
    axes.xaxis.set_minor_locator(_mpl().NullLocator())
    axes.xaxis.set_major_formatter(_mpl().FuncFormatter(lambda v, _: f"{v:.0f}"))
    if sizes:
        axes.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
    axes.set_ylim(bottom, top or (1.06 * limit if highest < limit <= 2.2 * highest else 1.12 * highest))
    return _svg(figure, "Throughput over frame size", lines)


@_isolated
def forwarding(lines: Sequence[Line], wire_kpps: float | None, y_label: str = "kpps forwarded") -> str:
    """Forwarded over offered kpps; the diagonal is forwarding without loss."""
    figure, axes = _canvas("Offered load, kpps", y_label)
    right = _right(lines)
    top = 1.15 * max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    _grey(axes, [(0, 0), (right, right)], "diagonal")
    _wire(axes, wire_kpps, right)
    _draw(axes, lines)
    axes.set_xlim(0, right)
    axes.set_ylim(0, max(top, 1e-3))
    return _svg(figure, "Forwarding rate over offered load", lines)


@_isolated
def over_load(
    lines: Sequence[Line],
    y_label: str,
    what: str,
    wire_kpps: float | None,
    top: float | None = None,
    x_label: str = "Offered load, kpps",
) -> str:
    """Any value, from 0 up, over offered kpps or the unit in `x_label`; values above `top` are cut off."""
    figure, axes = _canvas(x_label, y_label)
    right = _right(lines)
    _wire(axes, wire_kpps, right)
    _draw(axes, lines)
    highest = max((y for line in lines for _, y in line.points if y is not None), default=0.0)
    axes.set_xlim(0, right)
    axes.set_ylim(0, top if top is not None else max(1.1 * highest, 1e-3))
    return _svg(figure, what, lines)


@_isolated
def latency_over_load(lines: Sequence[Line], bounds: tuple[float, float]) -> str:
    """Latency in µs over offered kpps; `bounds`: see `log_bounds`."""
    figure, axes = _canvas("Offered load, kpps", "latency")
    _log(axes, bounds)
    _draw(axes, lines)
    axes.set_xlim(0, _right(lines))
    return _svg(figure, "Latency over offered load", lines)


@_isolated
def by_size(lines: Sequence[Line], x_label: str, y_label: str, what: str) -> str:
    """Any value, from 0 up, over sizes on a logarithmic axis."""
    figure, axes = _canvas(x_label, y_label)
    axes.set_xscale("log", base=2)
    _draw(axes, lines)
    sizes = sorted({x for line in lines for x, _ in line.points})
    axes.xaxis.set_major_locator(_mpl().FixedLocator(_apart(sizes)))
    axes.xaxis.set_minor_locator(_mpl().NullLocator())
    axes.xaxis.set_major_formatter(_mpl().FuncFormatter(lambda v, _: f"{v:.0f}"))
    highest = max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    axes.set_ylim(0, max(1.12 * highest, 1e-3))
    return _svg(figure, what, lines)


@_isolated
def over_time(lines: Sequence[Line], x_label: str, y_label: str, what: str, from_zero: bool = True) -> str:
    """Any value over time."""
    figure, axes = _canvas(x_label, y_label)
    _draw(axes, lines, markers=12)
    values = [y for line in lines for _, y in line.points if y is not None]
    high = max(values, default=0.0)
    if from_zero:
        axes.set_ylim(0, 1.1 * high or 1.0)
    else:
        low = min(values, default=0.0)
        margin = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
        axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(0, _right(lines))
    return _svg(figure, what, lines)


@_isolated
def over_names(lines: Sequence[Line], names: Sequence[str], x_label: str, y_label: str, what: str, from_zero: bool = True) -> str:
    """Any value over names in an order, such as versions (x is their number). The plot is wider if there are many names."""
    longest = max((len(name) for name in names), default=0)
    width = max(WIDTH, _LEFT + _RIGHT + len(names) * (longest + 0.8) * 0.62 * FONT)
    figure, axes = _canvas(x_label, y_label, width)
    _draw(axes, lines)
    values = [y for line in lines for _, y in line.points if y is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    margin = 0.1 * (high - (0.0 if from_zero else low)) or 0.1 * abs(high) or 1.0
    axes.set_ylim(0.0 if from_zero else low - margin, high + margin)
    axes.set_xticks(range(len(names)), [clean(name) for name in names])
    axes.set_xlim(-0.4, len(names) - 0.6)
    return _svg(figure, what, lines)


@_isolated
def latency_by_load(lines: Sequence[Line], bounds: tuple[float, float]) -> str:
    """Latency percentiles in µs, one line each, over the load in % of the throughput; `bounds`: see `log_bounds`."""
    figure, axes = _canvas("Load, % of throughput", "latency")
    _log(axes, bounds)
    _draw(axes, lines)
    loads = sorted({x for line in lines for x, _ in line.points})
    axes.xaxis.set_major_locator(_mpl().FixedLocator(_apart(loads, linear=True)))
    axes.xaxis.set_major_formatter(_mpl().FuncFormatter(_number))
    margin = 0.06 * (loads[-1] - loads[0]) if loads else 1
    if loads:
        axes.set_xlim(loads[0] - margin, loads[-1] + margin)
    return _svg(figure, "Latency percentiles over load", lines)


@_isolated
def latency_percentiles(lines: Sequence[Line], names: Sequence[str], bounds: tuple[float, float]) -> str:
    """Latency in µs, one line per driver over the named percentiles (x is their number)."""
    figure, axes = _canvas("Percentile", "latency")
    _log(axes, bounds)
    _draw(axes, lines)
    axes.set_xticks(range(len(names)), list(names))
    axes.set_xlim(-0.3, len(names) - 0.7)
    return _svg(figure, "Latency percentiles", lines)


@_isolated
def hdr_percentiles(lines: Sequence[Line], bounds: tuple[float, float]) -> str:
    """Latency in µs over the percentile, stretched towards 100 %: x is 1 / (1 - quantile)."""
    figure, axes = _canvas("Percentile", "latency")
    _log(axes, bounds)
    axes.set_xscale("log")
    _draw(axes, lines, markers=8, drawstyle="steps-pre")
    right = max((x for line in lines for x, _ in line.points), default=10.0)
    decades = range(math.floor(math.log10(max(right, 10))) + 1)
    axes.xaxis.set_major_locator(_mpl().FixedLocator([10.0**n for n in decades]))
    axes.xaxis.set_minor_locator(_mpl().NullLocator())
    axes.xaxis.set_major_formatter(_mpl().FuncFormatter(lambda v, _: _nines(round(math.log10(v)))))
    axes.set_xlim(1, max(right, 10) * 1.15)
    return _svg(figure, "Latency by percentile", lines)


@_isolated
def latency_over_time(lines: Sequence[Line], what: str) -> str:
    """Round-trip times in ms over time in s."""
    figure, axes = _canvas("Time, s", "ms")
    _draw(axes, lines, markers=4)
    highest = max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    axes.set_ylim(0, 1.08 * highest)
    return _svg(figure, f"Round trip of {what} over time", lines)


@_isolated
def bars(entries: Sequence[Bar], what: str) -> str:
    """Horizontal bars from 0, each below its name."""
    height = _BAR_STEP * len(entries) + 6
    figure = _mpl().Figure(figsize=(WIDTH / 72, height / 72), dpi=72, facecolor="none")
    axes = figure.add_axes((0, 0, 1, 1), facecolor="none")
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    full = max((max(entry.value, *entry.span) if entry.span else entry.value for entry in entries), default=0.0)
    room = WIDTH - 4 - FONT * 0.62 * max((len(entry.text) for entry in entries), default=0)
    for number, entry in enumerate(entries):
        top = number * _BAR_STEP
        length = max(2.0, room * entry.value / full) if full > 0 and entry.value > 0 else 1.0
        axes.text(1, top + 4, _short(clean(entry.name).replace("\n", " "), _BAR_LABEL), ha="left", va="top", color=INK)
        colour = GREY if entry.grey else entry.look.colour
        patch = axes.barh(top + 34, length, height=_BAR_HEIGHT, left=0, color=colour, linewidth=0)[0]
        patch.set_gid(entry.gid)
        length = max(length, _whisker(axes, entry, top + 34, _BAR_HEIGHT, room / full if full else 0.0))
        axes.text(length + 7, top + 34, clean(entry.text), ha="left", va="center", color=INK)
    titles = {entry.gid: f"{entry.name}: {entry.text}" for entry in entries}
    return finish(figure, what, titles)


@_isolated
def grouped_bars(groups: Sequence[BarGroup], what: str) -> str:
    """Groups of thin bars from 0 on one scale, each group below its name. Bars of a hollow style are only outlined."""
    entries = [entry for group in groups for entry in group.bars]
    height = sum(_GROUP_STEP + _THIN_STEP * len(group.bars) for group in groups) + 4
    figure = _mpl().Figure(figsize=(WIDTH / 72, height / 72), dpi=72, facecolor="none")
    axes = figure.add_axes((0, 0, 1, 1), facecolor="none")
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    full = max((max(entry.value, *entry.span) if entry.span else entry.value for entry in entries), default=0.0)
    room = WIDTH - 12 - FONT * 0.62 * max((len(entry.text) for entry in entries), default=0)
    top = 0.0
    titles: dict[str, str] = {}
    for group in groups:
        axes.text(1, top + 6, _short(clean(group.name), _BAR_LABEL), ha="left", va="top", color=INK)
        top += _GROUP_STEP
        for entry in group.bars:
            length = max(2.0, room * entry.value / full) if full > 0 and entry.value > 0 else 1.0
            fill = entry.look.colour if entry.look.filled else "none"
            middle = top + _THIN_STEP / 2
            patch = axes.barh(
                middle, length - 2, height=_THIN_HEIGHT, left=1, color=fill, edgecolor=entry.look.colour, linewidth=1.6
            )[0]
            patch.set_linestyle("solid" if entry.look.filled else (0, (3, 1.5)))
            gid = f"{entry.gid}-{len(titles)}"
            patch.set_gid(gid)
            titles[gid] = f"{entry.name}: {entry.text}"
            length = max(length, _whisker(axes, entry, middle, _THIN_HEIGHT, room / full if full else 0.0))
            axes.text(length + 7, middle, clean(entry.text), ha="left", va="center", color=INK)
            top += _THIN_STEP
    return finish(figure, what, titles)


@cache
@_isolated
def swatch(look: Style) -> str:
    """A line's swatch in a legend; 44 by 16."""
    figure = _mpl().Figure(figsize=(44 / 72, 16 / 72), dpi=72, facecolor="none")
    axes = figure.add_axes((0, 0, 1, 1), facecolor="none")
    axes.set_axis_off()
    axes.set_xlim(0, 44)
    axes.set_ylim(0, 16)
    _line(axes, [1, 43], [8, 8], look, marker=False)
    _line(axes, [22], [8], look, marker=True)
    return finish(figure, "", {}, decorative=True)


@cache
@_isolated
def mark(kind: str) -> str:
    """A legend's swatch for marks other than series: grey, wire, ring, cross, published, hollow (a bar)."""
    figure = _mpl().Figure(figsize=(44 / 72, 16 / 72), dpi=72, facecolor="none")
    axes = figure.add_axes((0, 0, 1, 1), facecolor="none")
    axes.set_axis_off()
    axes.set_xlim(0, 44)
    axes.set_ylim(0, 16)
    if kind == "grey":
        axes.plot([1, 43], [8, 8], color=GREY, linewidth=2.5)
    elif kind == "wire":
        axes.plot([22, 22], [0, 16], color=GREY, linewidth=1.8, linestyle=(0, (2, 2)))
    elif kind == "published":
        _line(axes, [1, 43], [8, 8], replace(published_style(0), colour=INK), marker=False)
        _line(axes, [22], [8], replace(published_style(0), colour=INK), marker=True)
    elif kind == "hollow":
        axes.barh(8, 40, height=10, left=2, color="none", edgecolor=INK, linewidth=1.6, linestyle=(0, (3, 1.5)))
    elif kind == "ring":
        axes.plot([22], [8], "o", markersize=12, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.6)
    else:
        axes.plot([22], [8], "x", markersize=12, markeredgecolor=INK, markeredgewidth=2.4)
    return finish(figure, "", {}, decorative=True)


def log_bounds(values: Iterable[float]) -> tuple[float, float]:
    """Bounds of a logarithmic axis for the values, at 1, 2 or 5 of a decade."""
    positive = [v for v in values if v > 0]
    if not positive:
        return 1.0, 10.0
    low, high = min(positive), max(positive)
    steps = [m * 10.0**e for e in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2) for m in (1, 2, 5)]
    bottom = max(s for s in steps if s <= low * 0.97)
    top = min(s for s in steps if s >= high * 1.03)
    return bottom, top


def _whisker(axes: Any, entry: Bar, y: float, height: float, scale: float) -> float:
    """Draws the range of a bar in an ensemble; returns where it ends."""
    if entry.span is None:
        return 0.0
    low, high = (value * scale for value in entry.span)
    for x in (low, high):
        axes.plot([x, x], [y - height * 0.6, y + height * 0.6], color=INK, linewidth=1.4, zorder=3)
    (drawn,) = axes.plot([low, high], [y, y], color=INK, linewidth=1.4, zorder=3)
    drawn.set_gid(f"band-{entry.gid}")
    return high


def _canvas(x_label: str, y_label: str, width: float = WIDTH) -> tuple[Figure, Axes]:
    figure = _mpl().Figure(figsize=(width / 72, HEIGHT / 72), dpi=72, facecolor="none")
    axes = figure.add_axes(
        (_LEFT / width, _BOTTOM / HEIGHT, (width - _LEFT - _RIGHT) / width, (HEIGHT - _TOP - _BOTTOM) / HEIGHT), facecolor="none"
    )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(AXIS)
    axes.tick_params(color=AXIS, labelcolor=INK, labelsize=FONT, length=4, pad=5)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(_mpl().MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(_mpl().MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(_mpl().FuncFormatter(_number))
    axes.yaxis.set_major_formatter(_mpl().FuncFormatter(_number))
    middle = (_LEFT + (width - _LEFT - _RIGHT) / 2) / width
    figure.text(middle, 5 / HEIGHT, x_label, ha="center", va="bottom", color=INK)
    figure.text(2 / width, 1 - 3 / HEIGHT, y_label, ha="left", va="top", color=INK)
    return figure, axes


def _number(value: float, _: object = None) -> str:
    return grouped(value) if abs(value) >= 1000 else f"{value:g}"


def _nines(count_of: int) -> str:
    return "0" if count_of == 0 else "90" if count_of == 1 else "99" + ("." + "9" * (count_of - 2) if count_of > 2 else "")


def _log(axes: Any, bounds: tuple[float, float]) -> None:
    low, high = bounds
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    many = math.log10(high / low) > 2.4
    ticks = [m * 10.0**e for e in decades for m in ((1,) if many else (1, 2, 5)) if low * 0.999 <= m * 10.0**e <= high * 1.001]
    axes.yaxis.set_major_locator(_mpl().FixedLocator(ticks))
    axes.yaxis.set_minor_locator(_mpl().NullLocator())
    axes.yaxis.set_major_formatter(_mpl().FuncFormatter(lambda v, _: duration(v * 1e3, 1)))


def _apart(ticks: Sequence[float], linear: bool = False) -> list[float]:
    """The ticks whose labels do not overlap; always includes both ends."""
    if len(ticks) < 2:
        return list(ticks)
    place = (lambda v: v) if linear else math.log
    span = place(ticks[-1]) - place(ticks[0])
    inner = WIDTH - _LEFT - _RIGHT - 20

    def touch(left: float, right: float) -> bool:
        letters = (len(f"{left:g}") + len(f"{right:g}")) / 2 + 0.8
        return (place(right) - place(left)) / span * inner < letters * 0.62 * FONT

    kept = [ticks[0]]
    for tick in ticks[1:-1]:
        if not touch(kept[-1], tick) and not touch(tick, ticks[-1]):
            kept.append(tick)
    return [*kept, ticks[-1]]


def _right(lines: Sequence[Line]) -> float:
    return 1.03 * max((x for line in lines for x, _ in line.points), default=1.0)


def _wire(axes: Any, wire_kpps: float | None, right: float) -> None:
    if wire_kpps is not None and wire_kpps < right:
        (drawn,) = axes.plot([wire_kpps, wire_kpps], [0, 1e9], color=GREY, linewidth=1.8, linestyle=(0, (2, 2)), zorder=1.5)
        drawn.set_gid("wire-rate")


def _grey(axes: Any, points: Sequence[tuple[float, float]], gid: str) -> None:
    (drawn,) = axes.plot([x for x, _ in points], [y for _, y in points], color=GREY, linewidth=2.5, zorder=1.6)
    drawn.set_gid(gid)


def _draw(axes: Any, lines: Sequence[Line], markers: int | None = None, drawstyle: Any = "default") -> None:
    for line in lines:
        x = [p[0] for p in line.points]
        y = [math.nan if p[1] is None else p[1] for p in line.points]
        every = None if markers is None else max(1, len(x) // markers)
        if line.band:
            _band(axes, line, x, drawstyle)
        drawn = _line(axes, x, y, line.look, marker=True, every=every)
        drawn.set_gid(line.gid)
        drawn.set_drawstyle(drawstyle)
        for point, shape, size, width, what in ((line.ring, "o", 13, 1.8, "ring"), (line.cross, "x", 13, 2.6, "cross")):
            if point is not None:
                (extra,) = axes.plot(
                    *([v] for v in point), shape, markersize=size, markeredgewidth=width, markerfacecolor="none",
                    markeredgecolor=line.look.colour, zorder=3, clip_on=False,
                )  # fmt: skip
                extra.set_gid(f"{what}-{line.gid}")


def _band(axes: Any, line: Line, x: Sequence[float], drawstyle: Any) -> None:
    """The range of an ensemble around a line: a band, and a stroke at each point, since a band can be thinner than the line."""
    low, high = [p[0] for p in line.band], [p[1] for p in line.band]
    step = "pre" if drawstyle == "steps-pre" else None
    filled = axes.fill_between(x, low, high, color=line.look.colour, alpha=0.25, linewidth=0, zorder=2, step=step)
    filled.set_gid(f"band-{line.gid}")
    if len(x) <= MAX_STROKES:
        strokes = axes.vlines(x, low, high, color=line.look.colour, linewidth=5, alpha=0.45, zorder=2.1)
        strokes.set_gid(f"band-strokes-{line.gid}")


def _line(axes: Any, x: Sequence[float], y: Sequence[float], look: Style, marker: bool, every: int | None = None) -> Any:
    (drawn,) = axes.plot(
        x,
        y,
        color=look.colour,
        linewidth=2,
        linestyle=look.dash,
        marker=look.marker if marker else None,
        markersize=_SIZES.get(look.marker, 8.0),
        markevery=every,
        markerfacecolor=look.colour if look.filled else PAPER,
        markeredgecolor=look.colour if not look.filled else PAPER,
        markeredgewidth=1.5 if not look.filled else 0.7,
        zorder=2.5,
        clip_on=True,
    )
    return drawn


def _svg(figure: Any, what: str, lines: Sequence[Line]) -> str:
    return finish(figure, what, {line.gid: line.name for line in lines})


def _short(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"
