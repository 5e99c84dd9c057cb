# SPDX-License-Identifier: GPL-2.0-or-later
"""Costs fitted to table 1 with one for a fill of the instruction cache."""

from __future__ import annotations

from typing import Any

import pytest

from irqlab.config.schemes import VARIANTS
from irqlab.reproduce.spanos2008 import fills
from irqlab.reproduce.spanos2008.fills import BYTE, FILL, FREE, FillRow
from irqlab.reproduce.table import Table

COUNTED = dict(zip(VARIANTS, (500.0, 450.0, 430.0, 300.0, 250.0, 50.0), strict=True))
COSTS = {BYTE: 11.0, FREE: 3000.0, FILL: 20.0}


def board(costs: dict[str, float]) -> Table[FillRow]:
    """A board of which these costs are the whole difference from 10 us."""
    rows: list[Any] = [FillRow(size, v, COUNTED[v], 10.0, 0.0) for size in fills.SIZES for v in VARIANTS]
    return Table("", FillRow, tuple(FillRow(**{**vars(row), "paper_us": fills._us(row, costs)}) for row in rows))


def test_costs_that_are_the_whole_difference_are_found() -> None:
    *_, last = fills.fits(board(COSTS))
    assert (last.byte_ns, last.free_irq_ns, last.fill_ns) == pytest.approx((11.0, 3000.0, 20.0))
    assert last.error_percent == last.left_out_error_percent == last.predicted_error_percent == 0
    assert last.mutual_least_us == pytest.approx(20e-3 * (300 + 430 - 500 - 50))
    assert last.mutual_most_us == pytest.approx(last.paper_most_us)


def test_fills_that_do_not_matter_cost_nothing() -> None:
    without, _, last = fills.fits(board({BYTE: 11.0, FREE: 3000.0}))
    assert last.fill_ns == pytest.approx(0, abs=1e-6)
    assert without.fill_ns is None
    assert without.mutual_least_us == pytest.approx(0, abs=1e-6)
