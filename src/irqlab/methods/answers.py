# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the sentences in which methods say what was found: figures with the range of an ensemble, and how sure they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from irqlab import units
from irqlab.present import ensemble
from irqlab.present.rows import by_test, place_of
from irqlab.present.variants import Row
from irqlab.spread import Spread

MANY = 4
"""With more rows of a test, only the lowest and the highest figure are told."""
Value = Callable[[Row], float | None]
Write = Callable[[float], str]


def spread(row: Row, value: Value, write: Write) -> str:
    """A row's figure; of an ensemble the median and, if it shows, the range: 49.3 kpps (48.9 kpps to 49.6 kpps)."""
    if not row.members:
        one = value(row)
        return units.NONE if one is None else write(one)
    found = [one for one in map(value, row.members) if one is not None]
    if len(found) < len(row.members):
        return f"{units.NONE} (not of every member)"
    whole = Spread.of(found)
    middle, low, high = write(whole.median), write(whole.min), write(whole.max)
    return middle if low == high else f"{middle} ({low} to {high})"


def smallest(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of the smallest frames in each direction, with their heading; costs per frame show most there."""
    for bidirectional in (False, True):
        mine = [row for row in rows if row.bidirectional == bidirectional]
        least = min(map(place_of, mine), default=None)
        yield from by_test(row for row in mine if place_of(row) == least)


def by_row(
    rows: Sequence[Row], said: Callable[[Row], str], what: str, value: Value, write: Write, sized: bool = True
) -> list[str]:
    """A sentence for each row of the smallest frames. Of more than MANY: `what`, with the lowest and the highest figure.

    `sized`: the sentence names the frame size and the direction.
    """
    found = []
    for heading, same in smallest(rows):
        where = f" ({heading})" if sized else ""
        known = sorted((row for row in same if value(row) is not None), key=lambda row: value(row) or 0.0)
        if len(same) <= MANY or not known:
            found += [f"{row.variant.label}{where}: {said(row)}." for row in same]
            continue
        first, last = known[0], known[-1]
        low, high = (spread(row, value, write) for row in (first, last))
        found.append(
            f"{what}{where}: {low} with all {len(known)}."
            if low == high
            else f"{what}{where}: from {low} ({first.variant.label}) to {high} ({last.variant.label})."
        )
    return found


def searched(width: float, rows: Sequence[Row]) -> str:
    """The relative distance of the two loads between which a search ended, and how far the figures can be trusted."""
    return f"The search ended within {units.share(width)}. {sure(rows)}".rstrip()


def sure(rows: Sequence[Row]) -> str:
    """How far figures that were counted can be trusted."""
    if members := ensemble.size(rows):
        return f"Medians of {members} members of an ensemble; in parentheses their range."
    if any("live" in trial for row in rows for trial in row.data["trials"]):
        return ""
    return "Exact for this phase of the traffic: the same command gives the same figures. --ensemble 5: their range over phases."
