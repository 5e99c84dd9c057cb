# SPDX-License-Identifier: GPL-2.0-or-later
"""The search of a cell's throughput from a guess, on a DUT that is a formula."""

from __future__ import annotations

from typing import Any

import pytest

from irqlab.calibrate import cells
from irqlab.calibrate.cells import Cell, Measured
from irqlab.config.costs import Costs
from irqlab.config.traffic import Load
from irqlab.errors import IrqlabError
from irqlab.trials.forwarding import ForwardingTrial
from tests.unit.fakes import FakeBench


def search(top_pps: float, guess_pps: float) -> tuple[Any, float, float, list[float]]:
    testbed = FakeBench(lambda offered: min(offered, top_pps))
    tried: list[float] = []

    def trial(pps: float) -> Any:
        tried.append(pps)
        return testbed.run(ForwardingTrial((Load(pps),), duration_ns=10**9))

    return (*cells.near(trial, guess_pps), tried)


@pytest.mark.parametrize("guess_pps", [1_000.0, 39_000.0, 41_000.0, 300_000.0])
def test_a_throughput_is_found_from_any_guess(guess_pps: float) -> None:
    best, low, high, tried = search(40_000.0, guess_pps)
    assert low <= 40_000.5 <= high + 1
    assert 0 < (high - low) / high <= cells.WIDTH
    assert best.spec.loads[0].rate_pps == low
    assert tried[0] == guess_pps


def test_steps_double_away_from_a_guess() -> None:
    *_, tried = search(40_000.0, 30_000.0)
    assert tried[:4] == pytest.approx([30_000, 30_600, 31_824, 34_369.92])
    *_, tried = search(40_000.0, 50_000.0)
    assert tried[:4] == pytest.approx([50_000, 50_000 / 1.02, 50_000 / 1.02 / 1.04, 50_000 / 1.02 / 1.04 / 1.08])


def test_costs_too_high_for_any_frame_are_an_error() -> None:
    with pytest.raises(IrqlabError, match="frames are lost even at"):
        search(0.0, 1_000.0)


def test_a_frame_s_time() -> None:
    assert Measured(Cell("NAPI", 64), Costs(), 40_000.0, {}).frame_ns == 25_000.0
    assert str(Cell("NAPI", 64)) == "NAPI 64"
    assert str(Cell("", 64)) == "64"
