# SPDX-License-Identifier: GPL-2.0-or-later
"""What the claims share: what counts as livelock, stable and slight by the paper's own figures, and curves in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from irqlab.reproduce.claims import Test, judged
from irqlab.reproduce.mogul1997 import published
from irqlab.reproduce.mogul1997.configurations import FEEDBACK_QUOTA, LIMITS, QUOTAS, UNMODIFIED, quota_name
from irqlab.reproduce.mogul1997.measure import CurveRow, ForwardRow, Tables
from irqlab.units import NONE, kpps, percent

LIVELOCK = 0.1
"""A curve that keeps less than this share of its peak has livelocked."""
STABLE = min(
    published.shape(points)["overload_to_peak"] or 1.0
    for points in (published.curve(False, quota_name(5)), *(published.curve(True, quota_name(quota)) for quota in (*QUOTAS, 0)))
)
"""One that keeps at least this share has not: the least of the paper's curves of which it says that there is no livelock."""
FALLS = 0.5
"""Under overload an output below this share of the peak has fallen."""
MUCH = 1.2
"""A peak improved by this factor is much improved."""
SMALL_COST = published.text("small_quotas_cost_with_screend")
"""What small quotas cost with screend, in per cent, by the paper's text."""
ROUNDED = 0.5
"""Its text has whole per cents."""
NEAR_BEST = 0.9
NO_PROGRESS_PERCENT = 1.0
"""CPU time that is not measurable progress."""
DIP_PERCENT = 2.0
PLATEAU = 1.0
"""Figure 7-1 is flat from this load on, in peaks."""
PAPER_QUOTAS = (round(published.text("quota_from")), round(published.text("quota_to")))
WITH_FEEDBACK = quota_name(FEEDBACK_QUOTA)
EVERY_QUOTA = tuple(map(quota_name, (*QUOTAS, 0)))
DIPPED = LIMITS[1:3]


def apart(left: Iterable[tuple[float, float]]) -> float:
    """How far apart marks of figure 7-1 are from PLATEAU on, in per cent of the CPU. `left`: load in peaks, and CPU left."""
    level = [percent for load, percent in left if load >= PLATEAU]
    return max(level) - min(level) if level else 0.0


STABLE_PERCENT = max(apart(published.cpu_curve(limit)) for limit in LIMITS)
"""How far apart they are in the paper where it calls them fairly stable."""
_SMALL = [published.peak(published.curve(True, name)) or 0.0 for name in EVERY_QUOTA]
FIGURE_COST = 100 * (1 - _SMALL[0] / max(_SMALL))
"""What a quota of 5 costs with screend by the paper's figure 6-6, in per cent."""
_LOSSLESS = [published.lossless(published.curve(False, name)) or 1.0 for name in (UNMODIFIED, quota_name(5))]
MORE_LOSSLESS = _LOSSLESS[1] / _LOSSLESS[0]
"""How many times the MLFRR is in the paper's figure 6-3 that polling with a quota slightly improves."""
Curves = Mapping[str, CurveRow]
"""By configuration."""


# Curves of figures 6-1 to 6-6.


def curves_of(tables: Tables, screend: bool, *names: str) -> Curves:
    """Those of the names; empty if one is missing."""
    found = tables.curves.only(lambda row: row.screend == screend).keyed(lambda row: row.configuration, *names)
    return {name: found[name] for name in names if found}


def on_curves(
    screend: bool, names: Sequence[str], holds: Callable[[Curves], bool], told: Callable[[Curves], str]
) -> Test[Tables]:
    """Whether something holds of the curves of these names, with screend or without."""
    return judged(lambda tables: curves_of(tables, screend, *names) or None, holds, told)


def marks(tables: Tables, screend: bool, name: str) -> list[ForwardRow]:
    """Of a curve, by load."""
    rows = tables.forwarding.where(lambda row: row.screend == screend and row.configuration == name)
    return sorted(rows, key=lambda row: row.offered_pps)


def times(value: float | None) -> str:
    """A figure in peaks."""
    return NONE if value is None else f"{value:.2f}"


def beside(ours: float, theirs: float | None) -> str:
    """A figure, and behind it the paper's if it has one."""
    return times(ours) + ("" if theirs is None else f" ({times(theirs)})")


def told_kept(found: Curves) -> str:
    """What curves keep of their peaks under overload, here and in the paper."""
    each = []
    for name, row in found.items():
        paper = "" if row.paper_overload_to_peak is None else f" (the paper: {percent(row.paper_overload_to_peak)})"
        each.append(
            f"{name}: from {published.OVERLOAD:g} times the peak on it keeps {percent(row.overload_to_peak)} of its own peak of "
            f"{kpps(row.peak_pps)} kpps{paper}"
        )
    return f"{'; '.join(each)}."


def told_lossless(found: Curves) -> str:
    """Up to which load all is carried, here and in the paper."""
    each = (f"{n} up to {times(r.lossless)} times the peak (the paper: {times(r.paper_lossless)})" for n, r in found.items())
    return f"without loss {', '.join(each)}."


def told_overloads(found: Curves) -> str:
    """What comes out under overload, here and in the paper."""
    each = (f"{name} {beside(row.overload, row.paper_overload)}" for name, row in found.items())
    return f"mean output from {published.OVERLOAD:g} times the peak on, in peaks (the paper): {', '.join(each)}"


def told_peaks(found: Curves) -> str:
    """The most that comes out, here and in the paper."""
    each = (f"{name} {beside(row.peak, row.paper_peak)}" for name, row in found.items())
    return f"peaks with screend, in peaks without (the paper): {', '.join(each)}."


def keeps(least: float, screend: bool, name: str) -> Test[Tables]:
    """Whether a curve keeps at least such a share of its peak."""
    return on_curves(screend, (name,), lambda found: found[name].overload_to_peak >= least, told_kept)


def loses(most: float, screend: bool, name: str) -> Test[Tables]:
    """Whether it keeps less."""
    return on_curves(screend, (name,), lambda found: found[name].overload_to_peak < most, told_kept)
