# SPDX-License-Identifier: GPL-2.0-or-later
"""The longest burst without loss."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab import units
from irqlab.present import plots, tables
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.rows import bar_of, by_test
from irqlab.present.variants import Row


def section(rows: Sequence[Row], number: Numbers) -> Section | None:
    """A bar per variant, for each frame size."""
    rows = [row for row in rows if row.data["summary"].get("longest_burst_frames") is not None]
    if not rows:
        return None
    groups = []
    for heading, same in by_test(rows):
        same = sorted(same, key=lambda row: row.variant.number)
        drawn = number.plot("Longest burst, frames", *_burst_bars(same))
        groups.append(Group(heading, plots=[drawn], tables=[tables.burst(same)]))
    return Section(
        "burst",
        "Bursts",
        "Bursts",
        "The longest burst of frames, back to back at the wire's rate, of which none is lost (RFC 2544, 26.4): how much the "
        "rings and queues hold.",
        groups,
    )


def _burst_bars(rows: Sequence[Row]) -> tuple[str, str]:
    """The plot, and a note where a bar without a limit is cut so that the others can be seen."""
    found = [(row, row.data["summary"]["longest_burst_frames"], row.data["summary"].get("limit_frames")) for row in rows]
    limited = [longest for _, longest, limit in found if limit is None or longest < limit]
    cut = 1.4 * max(limited, default=0) or None
    entries = []
    for row, longest, limit in found:
        endless = limit is not None and longest >= limit
        length = min(longest, cut) if endless and cut else longest
        text = f"≥{units.NARROW}{units.whole(longest)}" if endless else units.whole(longest)
        entries.append(bar_of(row, length, text))
    shortened = any(entry.value < longest for entry, (_, longest, _) in zip(entries, found, strict=True))
    return plots.bars(entries, "Longest burst"), "Bars marked ≥ are cut: no limit was found." if shortened else ""
