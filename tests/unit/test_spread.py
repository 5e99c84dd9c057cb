# SPDX-License-Identifier: GPL-2.0-or-later
"""Median and range."""

from __future__ import annotations

import pytest

from irqlab.spread import Spread, median


@pytest.mark.parametrize(("values", "middle"), [([3], 3), ([5, 1, 3], 3), ([4.5, 1.5, 2.5, 3.5], 2.5)])
def test_the_median_was_measured(values: list[float], middle: float) -> None:
    assert median(values) == middle
    assert Spread.of(values) == Spread(middle, min(values), max(values))
