# SPDX-License-Identifier: GPL-2.0-or-later
"""What is expected beyond the paper: what came later, and what makes curves differ."""

from __future__ import annotations

from collections.abc import Callable

from irqlab.reproduce.claims import EXPECTED, Claim, Test, Told
from irqlab.reproduce.mogul1997 import causes
from irqlab.reproduce.mogul1997.causes import CauseRow
from irqlab.reproduce.mogul1997.configurations import IFPOLL, NAPI, NO_FEEDBACK, SHRINK
from irqlab.reproduce.mogul1997.curves import DIP_PERCENT, FALLS, LIVELOCK, keeps, loses, times
from irqlab.reproduce.mogul1997.measure import Tables
from irqlab.units import percent

KEEPS = 0.95
SAME = 0.02


def _cause(name: str, holds: Callable[[float, float], bool], configuration: str = "") -> Test[Tables]:
    """Whether the outputs with a cause and without it, in peaks, are as expected."""

    def told(tables: Tables) -> Told | None:
        rows = tables.causes.where(lambda r: r.cause == name and configuration in ("", r.configuration))
        if len(rows) != 2:
            return None
        each = (f"{row.setting}: {times(row.output_to_peak)}" for row in rows)
        held = holds(rows[0].output_to_peak, rows[1].output_to_peak)
        return held, f"output at {rows[0].offered_to_peak:.2f} times the peak, in peaks: {'; '.join(each)}."

    return told


def _deeper(tables: Tables) -> Told | None:
    """Whether figure 7-1 dips deeper where interrupts cost more. CPU left in per cent where it dips, and where it is level."""
    by: dict[str, list[CauseRow]] = {}
    for row in sorted(tables.causes.where(lambda row: row.cause == causes.DIP), key=lambda row: row.offered_to_peak):
        by.setdefault(row.setting, []).append(row)
    if any(len(by.get(name, ())) != 2 for name in causes.COSTS):
        return None
    left = {name: [100 * row.cpu_left for row in by[name]] for name in causes.COSTS}
    (free, free_level), (dear, dear_level) = left.values()
    each = (f"cost of an interrupt {name}: {low:.1f} and {level:.1f} %" for name, (low, level) in left.items())
    deeper = dear_level - dear > free_level - free + DIP_PERCENT
    return deeper and abs(dear_level - free_level) <= DIP_PERCENT, (
        f"left for the process at {causes.DIP_LOAD:g} and {causes.LEVEL_LOAD:g} times the loss-free rate, "
        f"threshold {causes.DIP_LIMIT} %: {'; '.join(each)}."
    )


CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(EXPECTED, f"Linux's NAPI keeps {percent(KEEPS)} of its peak without screend.", keeps(KEEPS, False, NAPI)),
    Claim(EXPECTED, f"With screend Linux's NAPI keeps {percent(KEEPS)} of its peak, too.", keeps(KEEPS, True, NAPI)),
    Claim(EXPECTED, f"DragonFly's ifpoll keeps {percent(KEEPS)} of its peak without screend.", keeps(KEEPS, False, IFPOLL)),
    Claim(EXPECTED, f"With screend ifpoll keeps {percent(KEEPS)} of its peak, too.", keeps(KEEPS, True, IFPOLL)),
    Claim(EXPECTED, f"OpenBSD's shrinking ring keeps {percent(KEEPS)} of its peak without screend.", keeps(KEEPS, False, SHRINK)),
    Claim(
        EXPECTED,
        "With screend the shrinking ring does not: its clock runs before processes do.",
        loses(KEEPS, True, SHRINK),
    ),
    Claim(
        EXPECTED,
        "A shorter ring does not help without a pause between interrupts.",
        _cause(causes.PAUSE, lambda paused, none: none < LIVELOCK < paused),
    ),
    Claim(
        EXPECTED,
        "With screend and no feedback it is ksoftirqd's priority that decides whether screend gets the CPU.",
        _cause(causes.PRIORITY, lambda first, usual: usual > 2 * first, NO_FEEDBACK),
    ),
    Claim(
        EXPECTED,
        "Feedback prevents livelock without screend and without a quota, too.",
        _cause(causes.FEEDBACK, lambda fed, none: none < LIVELOCK < FALLS < fed),
    ),
    Claim(
        EXPECTED,
        "NAPI with a weight is polling with that quota.",
        _cause(causes.WEIGHT, lambda napi, polling: abs(napi - polling) <= SAME * polling),
    ),
    Claim(
        EXPECTED,
        "Without a quota a chip whose receiver stops when its ring is full does not livelock: its ring gets empty.",
        _cause(causes.CHIP, lambda goes_on, stops: goes_on < LIVELOCK < FALLS < stops),
    ),
    Claim(
        EXPECTED,
        "The dip of figure 7-1 is the interrupts, which the limit does not count: where they cost more it is deeper, and the "
        "level beyond it is the same.",
        _deeper,
    ),
)
