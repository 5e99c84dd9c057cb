# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the sentences in which methods say what was found: figures with the range of an ensemble, and how sure they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median_low

from irqlab.present import ensemble
from irqlab.present.variants import Row


def spread(row: Row, value: Callable[[Row], float | None], write: Callable[[float], str]) -> str:
    """A row's figure; of an ensemble the median, and its range if that shows: 49.3 kpps (48.9 to 49.6 kpps)."""
    found = [one for one in map(value, row.members) if one is not None]
    if not found:
        return write(value(row) or 0.0)
    low, high = write(min(found)), write(max(found))
    middle = write(median_low(found))
    return middle if low == high else f"{middle} ({low} to {high})"


def same(values: Iterable[float], write: Callable[[float], str]) -> bool:
    """Whether figures show no difference, as they are written."""
    return len({write(value) for value in values}) < 2


def sure(rows: Sequence[Row]) -> str:
    """How far figures that were counted can be trusted."""
    if members := ensemble.size(rows):
        return f"Medians of {members} members of an ensemble, with their range."
    if any("live" in trial for row in rows for trial in row.data["trials"]):
        return ""
    return (
        "Exact for this phase of the traffic: the command gives the same figures again. --ensemble 5 gives the range over phases."
    )
