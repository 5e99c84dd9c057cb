# SPDX-License-Identifier: GPL-2.0-or-later
"""How plots are drawn with matplotlib: canvas, axes, lines, the ranges of ensembles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, wraps
from types import SimpleNamespace
from typing import Any, ParamSpec

from irqlab.present import tape
from irqlab.present.series import Bar, Line, Style, spread
from irqlab.present.svg import AXIS, GREY, GRID, INK, PAPER, finish
from irqlab.setup.paths import keep_matplotlib_here
from irqlab.units import duration, grouped

WIDTH, HEIGHT = 400.0, 300.0
"""Size of a plot in units of its viewBox; the page scales it."""
FONT = 16.0
"""Font size that space is reserved for. The page sets the actual size: this on a phone, less if the plot is larger."""
LEFT, RIGHT = 64.0, 14.0
"""Margins beside the axes."""
_TOP, _BOTTOM = 34.0, 52.0
MAX_STROKES = 24
"""Maximum points of a line whose ranges are drawn as strokes."""
_SIZES = {"o": 6.5, "s": 6.0, "D": 6.0}
"""Marker sizes; the other markers need more to look as large."""

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
def mpl() -> SimpleNamespace:
    """The parts of matplotlib that are used. Imported by the first plot, since that takes a second."""
    keep_matplotlib_here()
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


def isolated(draw: Callable[_P, str]) -> Callable[_P, str]:
    """Decorator: draws with matplotlib's defaults and our settings, not the user's; for ensembles see irqlab.present.tape."""

    @wraps(draw)
    def drawn(*args: _P.args, **kwargs: _P.kwargs) -> str:
        if tape.noted(draw.__name__, args):
            return ""
        if members := tape.played(draw.__name__, args):
            args = tuple(spread(arg, [one[n] for one in members]) for n, arg in enumerate(args))  # type: ignore[assignment]
        with mpl().rc_context():
            mpl().rcdefaults()
            mpl().rcParams.update(_RC)
            return draw(*args, **kwargs)

    return drawn


def canvas(x_label: str, y_label: str, width: float = WIDTH) -> tuple[Figure, Axes]:
    """An empty plot with labelled axes, a grid and at most five ticks on each axis."""
    figure = mpl().Figure(figsize=(width / 72, HEIGHT / 72), dpi=72, facecolor="none")
    axes = figure.add_axes(
        (LEFT / width, _BOTTOM / HEIGHT, (width - LEFT - RIGHT) / width, (HEIGHT - _TOP - _BOTTOM) / HEIGHT), facecolor="none"
    )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(AXIS)
    axes.tick_params(color=AXIS, labelcolor=INK, labelsize=FONT, length=4, pad=5)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(mpl().MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(mpl().MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(mpl().FuncFormatter(tick_text))
    axes.yaxis.set_major_formatter(mpl().FuncFormatter(tick_text))
    middle = (LEFT + (width - LEFT - RIGHT) / 2) / width
    figure.text(middle, 5 / HEIGHT, x_label, ha="center", va="bottom", color=INK)
    figure.text(2 / width, 1 - 3 / HEIGHT, y_label, ha="left", va="top", color=INK)
    return figure, axes


def tick_text(value: float, _: object = None) -> str:
    """The label of a tick."""
    return grouped(value) if abs(value) >= 1000 else f"{value:g}"


def log_axis(axes: Any, bounds: tuple[float, float]) -> None:
    """Makes the vertical axis, in µs, logarithmic; its bounds: see `log_bounds`."""
    axes.set_yscale("log")
    axes.set_ylim(*bounds)
    log_ticks(axes.yaxis, bounds)
    axes.yaxis.set_major_formatter(mpl().FuncFormatter(lambda v, _: duration(v * 1e3, 1)))


def log_ticks(axis: Any, bounds: tuple[float, float]) -> None:
    """Ticks of a logarithmic axis at powers of ten, and at twice and five times these if there is room."""
    low, high = bounds
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    many = math.log10(high / low) > 2.4
    ticks = [m * 10.0**e for e in decades for m in ((1,) if many else (1, 2, 5)) if low * 0.999 <= m * 10.0**e <= high * 1.001]
    axis.set_major_locator(mpl().FixedLocator(ticks))
    axis.set_minor_locator(mpl().NullLocator())


def apart(ticks: Sequence[float], linear: bool = False) -> list[float]:
    """The ticks whose labels do not overlap; always includes both ends."""
    if len(ticks) < 2:
        return list(ticks)
    place = (lambda v: v) if linear else math.log
    span = place(ticks[-1]) - place(ticks[0])
    inner = WIDTH - LEFT - RIGHT - 20

    def touch(left: float, right: float) -> bool:
        letters = (len(f"{left:g}") + len(f"{right:g}")) / 2 + 0.8
        return (place(right) - place(left)) / span * inner < letters * 0.62 * FONT

    kept = [ticks[0]]
    for tick in ticks[1:-1]:
        if not touch(kept[-1], tick) and not touch(tick, ticks[-1]):
            kept.append(tick)
    return [*kept, ticks[-1]]


def right_end(lines: Sequence[Line]) -> float:
    """The end of the horizontal axis: a little beyond the last point."""
    return 1.03 * max((x for line in lines for x, _ in line.points), default=1.0)


def beyond(high: float) -> tuple[float, float]:
    """Both ends of an axis whose values begin at 0: from a little below, so that what is at 0 does not lie on the other axis."""
    return -0.025 * high, high


def wire_rate(axes: Any, wire_kpps: float | None, right: float) -> None:
    """Draws the wire's rate as a vertical line, unless it lies beyond the axis."""
    if wire_kpps is not None and wire_kpps < right:
        (drawn,) = axes.plot([wire_kpps, wire_kpps], [0, 1e9], color=GREY, linewidth=1.8, linestyle=(0, (2, 2)), zorder=1.5)
        drawn.set_gid("wire-rate")


def grey_line(axes: Any, points: Sequence[tuple[float, float]], gid: str) -> None:
    """Draws a line that is not a series."""
    (drawn,) = axes.plot([x for x, _ in points], [y for _, y in points], color=GREY, linewidth=2.5, zorder=1.6)
    drawn.set_gid(gid)


def draw(axes: Any, lines: Sequence[Line], markers: int | None = None, drawstyle: Any = "default") -> None:
    """Draws the lines, with their rings, crosses and ranges. `markers`: about how many each line gets; all points if None."""
    for line in lines:
        x = [p[0] for p in line.points]
        y = [math.nan if p[1] is None else p[1] for p in line.points]
        every = None if markers is None else max(1, len(x) // markers)
        if line.band:
            _band(axes, line, x, drawstyle)
        drawn = draw_line(axes, x, y, line.look, marker=True, every=every)
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


def draw_line(axes: Any, x: Sequence[float], y: Sequence[float], look: Style, marker: bool, every: int | None = None) -> Any:
    """Draws one line in its style; `every`: a marker at every n-th point."""
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


def svg(figure: Any, what: str, lines: Sequence[Line]) -> str:
    """The plot as an `<svg>` element; `what`: its title for those who cannot see it."""
    return finish(figure, what, {line.gid: line.name for line in lines})


def whisker(axes: Any, entry: Bar, y: float, height: float, scale: float) -> float:
    """Draws the range of a bar in an ensemble; returns where it ends."""
    if entry.span is None:
        return 0.0
    low, high = (value * scale for value in entry.span)
    for x in (low, high):
        axes.plot([x, x], [y - height * 0.6, y + height * 0.6], color=INK, linewidth=1.4, zorder=3)
    (drawn,) = axes.plot([low, high], [y, y], color=INK, linewidth=1.4, zorder=3)
    drawn.set_gid(f"band-{entry.gid}")
    return high
