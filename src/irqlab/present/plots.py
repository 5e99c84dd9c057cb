# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes plots as SVG to be embedded in a page: takes plain data, returns an `<svg>` element.

Matplotlib's output is rewritten for the page: colours become the page's CSS variables, so that a plot works in light and dark
mode, fonts are the page's, identifiers are unique, and there are no external references. Each line, bar or mark is a group whose
identifier ends in its `gid`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from irqlab.present.drawing import (
    FONT,
    LEFT,
    RIGHT,
    WIDTH,
    apart,
    beyond,
    canvas,
    draw,
    grey_line,
    isolated,
    log_axis,
    log_ticks,
    mpl,
    right_end,
    svg,
    tick_text,
    whisker,
    wire_rate,
)
from irqlab.present.series import Bar, BarGroup, Line, style
from irqlab.present.svg import GREY, INK, clean, finish

_BAR_STEP, _BAR_HEIGHT, _BAR_LABEL = 50.0, 16.0, 44
FAR = 5.0
"""A cloud's axis is logarithmic if its ends differ by more than this factor."""
_GROUP_STEP, _THIN_STEP, _THIN_HEIGHT = 27.0, 19.0, 11.0


@isolated
def throughput_by_size(
    lines: Sequence[Line],
    wires: Sequence[Sequence[tuple[float, float]]],
    y_label: str = "kpps",
    top: float | None = None,
    bottom: float = 0.0,
    x_label: str = "Frame size, bytes (FCS counted)",
) -> str:
    """Throughput, in kpps unless `y_label` says otherwise, over the frame size in bytes; `wires` are line rates."""
    figure, axes = canvas(x_label, y_label)
    highest = max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    limit = max((y for points in wires for _, y in points), default=0.0)
    axes.set_xscale("log", base=2)
    for number, points in enumerate(wires):
        grey_line(axes, points, f"wire-{number}")
    draw(axes, lines)
    sizes = sorted({x for line in lines for x, _ in line.points})
    axes.xaxis.set_major_locator(mpl().FixedLocator(apart(sizes)))
    axes.xaxis.set_minor_locator(mpl().NullLocator())
    axes.xaxis.set_major_formatter(mpl().FuncFormatter(lambda v, _: f"{v:.0f}"))
    if sizes:
        axes.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
    axes.set_ylim(bottom, top or (1.06 * limit if highest < limit <= 2.2 * highest else 1.12 * highest))
    return svg(figure, "Throughput over frame size", lines)


@isolated
def forwarding(lines: Sequence[Line], wire_kpps: float | None, y_label: str = "kpps forwarded") -> str:
    """Forwarded over offered kpps; the diagonal is forwarding without loss."""
    figure, axes = canvas("Offered load, kpps", y_label)
    right = right_end(lines)
    top = 1.15 * max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    grey_line(axes, [(0, 0), (right, right)], "diagonal")
    wire_rate(axes, wire_kpps, right)
    draw(axes, lines)
    axes.set_xlim(0, right)
    axes.set_ylim(0, max(top, 1e-3))
    return svg(figure, "Forwarding rate over offered load", lines)


@isolated
def over_load(
    lines: Sequence[Line],
    y_label: str,
    what: str,
    wire_kpps: float | None,
    top: float | None = None,
    x_label: str = "Offered load, kpps",
) -> str:
    """Any value, from 0 up, over offered kpps or the unit in `x_label`; values above `top` are cut off."""
    figure, axes = canvas(x_label, y_label)
    right = right_end(lines)
    wire_rate(axes, wire_kpps, right)
    draw(axes, lines)
    highest = max((y for line in lines for _, y in line.points if y is not None), default=0.0)
    axes.set_xlim(0, right)
    axes.set_ylim(0, top if top is not None else max(1.1 * highest, 1e-3))
    return svg(figure, what, lines)


@isolated
def latency_over_load(lines: Sequence[Line], bounds: tuple[float, float]) -> str:
    """Latency in µs over offered kpps; `bounds`: see `log_bounds`."""
    figure, axes = canvas("Offered load, kpps", "latency")
    log_axis(axes, bounds)
    draw(axes, lines)
    axes.set_xlim(0, right_end(lines))
    return svg(figure, "Latency over offered load", lines)


@isolated
def by_size(lines: Sequence[Line], x_label: str, y_label: str, what: str) -> str:
    """Any value, from 0 up, over sizes on a logarithmic axis."""
    figure, axes = canvas(x_label, y_label)
    axes.set_xscale("log", base=2)
    draw(axes, lines)
    sizes = sorted({x for line in lines for x, _ in line.points})
    axes.xaxis.set_major_locator(mpl().FixedLocator(apart(sizes)))
    axes.xaxis.set_minor_locator(mpl().NullLocator())
    axes.xaxis.set_major_formatter(mpl().FuncFormatter(lambda v, _: f"{v:.0f}"))
    highest = max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    axes.set_ylim(0, max(1.12 * highest, 1e-3))
    return svg(figure, what, lines)


@isolated
def over_time(lines: Sequence[Line], x_label: str, y_label: str, what: str, from_zero: bool = True) -> str:
    """Any value over time."""
    figure, axes = canvas(x_label, y_label)
    draw(axes, lines, markers=12)
    values = [y for line in lines for _, y in line.points if y is not None]
    high = max(values, default=0.0)
    if from_zero:
        axes.set_ylim(*beyond(1.1 * high or 1.0))
    else:
        low = min(values, default=0.0)
        margin = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
        axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(*beyond(right_end(lines)))
    return svg(figure, what, lines)


@isolated
def timeline(rows: Sequence[tuple[str, Sequence[tuple[float, float]]]], marks: Sequence[tuple[float, str]], what: str) -> str:
    """What ran when: a row of spans for each name, from top to bottom, and labelled instants; in µs."""
    figure, axes = canvas("µs after the first event", "", 2 * WIDTH)
    ends = [at for _, spans in rows for span in spans for at in span] + [at for at, _ in marks]
    begin, end = min(ends, default=0.0), max(ends, default=1.0)
    room = 0.04 * (end - begin) or 1.0
    for number, (name, spans) in enumerate(rows):
        for left, right in spans:
            axes.barh(number, max(right - left, room / 20), height=0.4, left=left, color=GREY, linewidth=0)
        # Above its first span, and within the plot.
        at, side = (spans[0][0], "left") if spans[0][0] < (begin + end) / 2 else (spans[-1][1], "right")
        axes.text(at, number - 0.28, name, ha=side, va="bottom", color=INK, fontsize=0.8 * FONT)
    for at, label in marks:
        axes.axvline(at, color=INK, linewidth=1.4, linestyle=(0, (3, 2)))
        axes.text(at, -0.95, label, ha="center", va="bottom", color=INK, fontsize=FONT, clip_on=False)
    axes.set_xlim(begin - room, end + room)
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.9)
    axes.yaxis.set_visible(False)
    axes.grid(visible=False, axis="y")
    return finish(figure, what, {})


@isolated
def over_names(lines: Sequence[Line], names: Sequence[str], x_label: str, y_label: str, what: str, from_zero: bool = True) -> str:
    """Any value over names in an order, such as versions (x is their number). The plot is wider if there are many names."""
    longest = max((len(name) for name in names), default=0)
    width = max(WIDTH, LEFT + RIGHT + len(names) * (longest + 0.8) * 0.62 * FONT)
    figure, axes = canvas(x_label, y_label, width)
    draw(axes, lines)
    values = [y for line in lines for _, y in line.points if y is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    margin = 0.1 * (high - (0.0 if from_zero else low)) or 0.1 * abs(high) or 1.0
    axes.set_ylim(0.0 if from_zero else low - margin, high + margin)
    axes.set_xticks(range(len(names)), [clean(name) for name in names])
    axes.set_xlim(-0.4, len(names) - 0.6)
    return svg(figure, what, lines)


@isolated
def latency_by_load(lines: Sequence[Line], bounds: tuple[float, float]) -> str:
    """Latency percentiles in µs, one line each, over the load in % of the throughput; `bounds`: see `log_bounds`."""
    figure, axes = canvas("Load, % of throughput", "latency")
    log_axis(axes, bounds)
    draw(axes, lines)
    loads = sorted({x for line in lines for x, _ in line.points})
    axes.xaxis.set_major_locator(mpl().FixedLocator(apart(loads, linear=True)))
    axes.xaxis.set_major_formatter(mpl().FuncFormatter(tick_text))
    margin = 0.06 * (loads[-1] - loads[0]) if loads else 1
    if loads:
        axes.set_xlim(loads[0] - margin, loads[-1] + margin)
    return svg(figure, "Latency percentiles over load", lines)


@isolated
def latency_percentiles(lines: Sequence[Line], names: Sequence[str], bounds: tuple[float, float]) -> str:
    """Latency in µs, one line per driver over the named percentiles (x is their number)."""
    figure, axes = canvas("Percentile", "latency")
    log_axis(axes, bounds)
    draw(axes, lines)
    axes.set_xticks(range(len(names)), list(names))
    axes.set_xlim(-0.3, len(names) - 0.7)
    return svg(figure, "Latency percentiles", lines)


@isolated
def hdr_percentiles(lines: Sequence[Line], bounds: tuple[float, float]) -> str:
    """Latency in µs over the percentile, stretched towards 100 %: x is 1 / (1 - quantile)."""
    figure, axes = canvas("Percentile", "latency")
    log_axis(axes, bounds)
    axes.set_xscale("log")
    draw(axes, lines, markers=8, drawstyle="steps-pre")
    right = max((x for line in lines for x, _ in line.points), default=10.0)
    decades = range(math.floor(math.log10(max(right, 10))) + 1)
    axes.xaxis.set_major_locator(mpl().FixedLocator([10.0**n for n in decades]))
    axes.xaxis.set_minor_locator(mpl().NullLocator())
    axes.xaxis.set_major_formatter(mpl().FuncFormatter(lambda v, _: _nines(round(math.log10(v)))))
    axes.set_xlim(1, max(right, 10) * 1.15)
    return svg(figure, "Latency by percentile", lines)


@isolated
def latency_over_time(lines: Sequence[Line], what: str) -> str:
    """Round-trip times in ms over time in s."""
    figure, axes = canvas("Time, s", "ms")
    draw(axes, lines, markers=4)
    highest = max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    axes.set_ylim(*beyond(1.08 * highest))
    return svg(figure, f"Round trip of {what} over time", lines)


@isolated
def bars(entries: Sequence[Bar], what: str) -> str:
    """Horizontal bars from 0, each below its name."""
    height = _BAR_STEP * len(entries) + 6
    figure = mpl().Figure(figsize=(WIDTH / 72, height / 72), dpi=72, facecolor="none")
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
        length = max(length, whisker(axes, entry, top + 34, _BAR_HEIGHT, room / full if full else 0.0))
        axes.text(length + 7, top + 34, clean(entry.text), ha="left", va="center", color=INK)
    titles = {entry.gid: f"{entry.name}: {entry.text}" for entry in entries}
    return finish(figure, what, titles)


@isolated
def grouped_bars(groups: Sequence[BarGroup], what: str) -> str:
    """Groups of thin bars from 0 on one scale, each group below its name. Bars of a hollow style are only outlined."""
    entries = [entry for group in groups for entry in group.bars]
    height = sum(_GROUP_STEP + _THIN_STEP * len(group.bars) for group in groups) + 4
    figure = mpl().Figure(figsize=(WIDTH / 72, height / 72), dpi=72, facecolor="none")
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
            length = max(length, whisker(axes, entry, middle, _THIN_HEIGHT, room / full if full else 0.0))
            axes.text(length + 7, middle, clean(entry.text), ha="left", va="center", color=INK)
            top += _THIN_STEP
    return finish(figure, what, titles)


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


def _nines(count_of: int) -> str:
    return "0" if count_of == 0 else "90" if count_of == 1 else "99" + ("." + "9" * (count_of - 2) if count_of > 2 else "")


def _short(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"


@isolated
def cloud(
    points: Sequence[tuple[float, float]],
    front: Sequence[tuple[float, float]],
    ring: tuple[float, float] | None,
    cross: tuple[float, float] | None,
    x_label: str,
    y_label: str,
) -> str:
    """Points, the front among them as a grey line, one in a ring and one with a cross.

    An axis is logarithmic if values are far apart and no shares.
    """
    figure, axes = canvas(x_label, y_label)
    sides = ((axes.set_xscale, axes.set_xlim, x_label), (axes.set_yscale, axes.set_ylim, y_label))
    for place, (scale, limit, label) in enumerate(sides):
        values = [point[place] for point in points]
        low, high = min(values), max(values)
        if low > 0 and high > FAR * low and not label.endswith("%"):
            scale("log")
            axis = (axes.xaxis, axes.yaxis)[place]
            axis.set_major_formatter(mpl().FuncFormatter(tick_text))
            log_ticks(axis, (low / 1.2, high * 1.2))
            limit(low / 1.2, high * 1.2)
        else:
            margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
            limit(max(0.0, low - margin) if low >= 0 else low - margin, high + margin)
    grey_line(axes, front, "front")
    draw(axes, [Line("tried", "tried", replace(style(0), dash="none"), sorted(points), ring=ring, cross=cross)])
    return svg(figure, f"{y_label} over {x_label}", [])
