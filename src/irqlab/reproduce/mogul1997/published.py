# SPDX-License-Identifier: GPL-2.0-or-later
"""What the paper's figures show (data/reference). Rates are shares of the peak of the unmodified kernel, as the lab's are."""

from __future__ import annotations

from functools import cache

from irqlab.reproduce import reference
from irqlab.reproduce.mogul1997.configurations import NO_FEEDBACK, NO_QUOTA, QUOTAS, UNMODIFIED, quota_name

Points = tuple[tuple[float, float], ...]
"""Offered load and output, in the order of the load."""
OVERLOAD = 2.0
"""Loads from this multiple of the peak on are the overload in which curves are compared."""
LOSSLESS = 0.98
"""A load is carried if at least this share of it comes out."""

_CURVES = {
    (False, UNMODIFIED): ("6-3", "unmodified"),
    (True, UNMODIFIED): ("6-4", "unmodified"),
    (True, NO_FEEDBACK): ("6-4", "no feedback"),
    **{(False, name): ("6-5", name) for name in (*map(quota_name, QUOTAS), NO_QUOTA)},
    **{(True, name): ("6-6", name) for name in (*map(quota_name, QUOTAS), NO_QUOTA)},
}
"""With screend or without, and the configuration: figure and curve."""


@cache
def _marks() -> dict[tuple[str, str], Points]:
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for record in reference.records("mogul1997_points"):
        found.setdefault((record["figure"], record["curve"]), []).append((float(record["input_pps"]), float(record["output"])))
    return {key: tuple(sorted(points)) for key, points in found.items()}


def text(quantity: str) -> float:
    """A figure of the paper's text."""
    return float(reference.by("mogul1997_text", "quantity")[quantity]["value"])


@cache
def peak_pps() -> float:
    """The highest rate of the unmodified kernel without screend."""
    return max(output for _, output in _marks()[_CURVES[False, UNMODIFIED]])


def of_peak(quantity: str) -> float:
    """A rate of the text as a share of the peak."""
    return text(quantity) / peak_pps()


def curve(screend: bool, configuration: str) -> Points:
    """The marks of a curve, in shares of the peak; none: the paper has no such curve."""
    key = _CURVES.get((screend, configuration))
    return tuple((x / peak_pps(), y / peak_pps()) for x, y in _marks()[key]) if key else ()


def cpu_curve(threshold_percent: int) -> Points:
    """Of figure 7-1: load in shares of the peak, and the CPU left in per cent."""
    return tuple((x / peak_pps(), y) for x, y in _marks()["7-1", f"{threshold_percent} %"])


def peak(points: Points) -> float | None:
    """The highest output."""
    return max((y for _, y in points), default=None)


def lossless(points: Points) -> float | None:
    """The highest load up to which every load is carried: the paper's MLFRR, as far as the marks tell."""
    found = None
    for x, y in points:
        if y < LOSSLESS * x:
            break
        found = x
    return found


def overload(points: Points) -> float | None:
    """The mean output under overload."""
    found = [y for x, y in points if x >= OVERLOAD]
    return sum(found) / len(found) if found else None


def shape(points: Points, nothing: float | None = None) -> dict[str, float | None]:
    """A curve in three figures, and what it keeps of its peak under overload. `nothing`: in place of a figure that it has not."""
    top, under = peak(points), overload(points)
    return {
        "lossless": lossless(points),
        "peak": nothing if top is None else top,
        "overload": nothing if under is None else under,
        "overload_to_peak": under / top if top and under is not None else nothing,
    }
