# SPDX-License-Identifier: GPL-2.0-or-later
"""Result rows in a report: grouped by test, labelled, and turned into lines and bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from irqlab import units
from irqlab.config.traffic import mean_frame_bytes, wire_rate_pps
from irqlab.present import series
from irqlab.present.parts import Legend
from irqlab.present.series import Bar, Line
from irqlab.present.variants import Row


def place_of(row: Row) -> tuple[bool, bool, float]:
    """Sort key: direction and frame size, IMIX last."""
    return row.bidirectional, row.frame_bytes == "imix", mean_frame_bytes(row.frame_bytes)  # type: ignore[arg-type]


def by_test(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows grouped by frame size and direction, with a heading for each group."""
    found: dict[tuple[bool, bool, float], list[Row]] = {}
    for row in rows:
        found.setdefault(place_of(row), []).append(row)
    for key in sorted(found):
        yield heading_of(found[key][0]), found[key]


def heading_of(row: Row) -> str:
    """The heading of a test: frame size and direction."""
    size = "IMIX" if row.frame_bytes == "imix" else f"{row.frame_bytes}-byte frames"
    return f"{size}, {units.direction(row.bidirectional)}"


def series_of(row: Row) -> str:
    """The class of a row's line in an SVG."""
    return f"series-{row.variant.number}"


def line_of(row: Row, points: Sequence[series.Point], **marks: Any) -> Line:
    """A row's line; its colour and marker are the variant's."""
    return Line(series_of(row), row.variant.label, series.style(row.variant.number), points, **marks)


def bar_of(row: Row, value: float, text: str) -> Bar:
    """A row's bar, labelled with `text`."""
    return Bar(f"bar-{row.variant.number}", row.variant.label, series.style(row.variant.number), value, text)


def legend_of(rows: Sequence[Row], *marks: tuple[str, str]) -> list[Legend]:
    """One entry for each variant, then the marks (key, text)."""
    variants = sorted({row.variant for row in rows}, key=lambda variant: variant.number)
    return [Legend(str(v.number), v.label) for v in variants] + [Legend(kind, text) for kind, text in marks]


def wire_pps_of(row: Row, size: float | None = None) -> float | None:
    """Line rate in frames/s, all tested directions together."""
    if row.variant.line_rate_bps is None:
        return None
    bytes_ = mean_frame_bytes(row.frame_bytes) if size is None else size  # type: ignore[arg-type]
    return wire_rate_pps(bytes_, row.variant.line_rate_bps) * row.directions


def kpps_text(pps: float) -> str:
    """A rate with its unit."""
    return f"{units.kpps(pps)}{units.NARROW}kpps"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
