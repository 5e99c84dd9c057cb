# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of method `costs`: configurations over frame sizes as heat maps, and all figures as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from irqlab import units
from irqlab.methods.metrics import METRICS, Metric
from irqlab.present.svg import clean
from irqlab.present.tables import Cell, Column, Table
from irqlab.present.variants import Row

DRAWN = ("total_throughput_pps", "instructions_per_frame", "latency_p99_ns", "overload_forwarded_pps")
"""Figures that have a heat map, by the names of METRICS."""
_CELL, _HEIGHT, _HEAD, _LETTER = 84.0, 30.0, 34.0, 8.6


def size_of(row: Row) -> str:
    """A column's heading."""
    return f"{units.bytes_of(row.frame_bytes)}{' both' if row.bidirectional else ''}"


def text(metric: Metric, value: float | None) -> str:
    """A figure in its unit, without it."""
    if value is None:
        return units.NONE
    if metric.unit:
        return units.figures(value / 1e3)
    return units.whole(value) if value >= 100 else units.per_frame(value)


def heat_maps(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Title and SVG of each figure that was measured in more than one configuration or size."""
    if len(rows) < 2:
        return []
    drawn = [metric for metric in METRICS if metric.name in DRAWN]
    return [(f"{m.text}{f', {m.unit}' if m.unit else ''}", heat_map(rows, m)) for m in drawn]


def heat_map(rows: Sequence[Row], metric: Metric) -> str:
    """One figure: configurations down, frame sizes across; the better in its column, the darker."""
    names = list(dict.fromkeys(row.variant.label for row in rows))
    sizes = list(dict.fromkeys(size_of(row) for row in rows))
    values = {(row.variant.label, size_of(row)): row.data["summary"]["metrics"].get(metric.name) for row in rows}
    left = _LETTER * max(len(name) for name in names) + 12
    width, height = left + _CELL * len(sizes), _HEAD + _HEIGHT * len(names) + 4
    parts = [_label(left + _CELL * (n + 0.5), _HEAD - 12, size, "middle") for n, size in enumerate(sizes)]
    for across, size in enumerate(sizes):
        shade = _shades([v for name in names if (v := values.get((name, size))) is not None], metric.better)
        for down, name in enumerate(names):
            x, y = left + _CELL * across, _HEAD + _HEIGHT * down
            if not across:
                parts.append(_label(left - 8, y + 20, name, "end"))
            value = values.get((name, size))
            if value is not None:
                box = f'x="{x + 1:.0f}" y="{y + 1:.0f}" width="{_CELL - 2:.0f}" height="{_HEIGHT - 2:.0f}"'
                parts.append(f'<rect {box} fill="var(--s0)" fill-opacity="{shade(value):.2f}"/>')
            parts.append(_label(x + _CELL / 2, y + 20, text(metric, value), "middle"))
    title = escape(clean(f"{metric.text} by configuration and frame size"))
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{title}" font-size="15">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )


def table(rows: Sequence[Row]) -> Table:
    """Every figure of every row."""
    known = [m for m in METRICS if any(row.data["summary"]["metrics"].get(m.name) is not None for row in rows)]
    columns = [Column("Driver"), Column("Frame"), *(Column(f"{m.text}{f', {m.unit}' if m.unit else ''}", True) for m in known)]
    lines = [
        [Cell(row.variant.label), Cell(size_of(row)), *(Cell(text(m, row.data["summary"]["metrics"].get(m.name))) for m in known)]
        for row in rows
    ]
    return Table("All figures, side by side", columns, lines, folded=len(rows) > 12)


def _shades(values: Sequence[float], better: int) -> Callable[[float], float]:
    """From 0.08 for the worst to 0.6 for the best, in proportion on a logarithmic scale."""
    logs = [math.log(max(value, 1e-9)) for value in values]
    low, high = min(logs, default=0.0), max(logs, default=0.0)

    def shade(value: float) -> float:
        if high - low < 1e-12:
            return 0.3
        place = (math.log(max(value, 1e-9)) - low) / (high - low)
        return 0.08 + 0.52 * (place if better > 0 else 1 - place)

    return shade


def _label(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{escape(clean(words))}</text>'
