# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure of the members of an ensemble: the median, which stands for it, and the range.

Of an even number of members the median is the lower one of the two in the middle: it was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low
from typing import Annotated

from msgspec import Meta, Struct

median = median_low


class Spread(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure of the members of an ensemble."""

    median: Annotated[float, Meta(description="Of an even number the lower one of the two in the middle.")]
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of every member's figure, at least one."""
        return cls(median(values), min(values), max(values))
