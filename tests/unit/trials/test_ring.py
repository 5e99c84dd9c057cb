# SPDX-License-Identifier: GPL-2.0-or-later
"""What is made of the times at which a transmit ring changed."""

from __future__ import annotations

from irqlab.methods.ring import Sample
from irqlab.trials.ring import RingResult, RingTrial, fillings, spent, steps

RING = [(100, 1), (150, 2), (200, 9), (250, 3), (300, 10), (400, 0)]


def test_the_time_at_each_fill_adds_up_to_the_window() -> None:
    assert spent(RING, (120, 320)) == {"1": 30, "2": 50, "3": 50, "9": 50, "10": 20}
    assert spent(RING, (0, 1000)) == {"0": 700, "1": 50, "2": 50, "3": 50, "9": 50, "10": 100}
    assert spent([], (0, 10)) == {"0": 10}


def test_it_fills_up_each_time_it_rises_to_nine_tenths() -> None:
    assert fillings(RING, (0, 1000), 9) == 2
    assert fillings(RING, (250, 1000), 9) == 1
    assert fillings(RING, (0, 1000), 11) == 0


def test_what_is_shown_begins_with_the_fill_at_that_instant() -> None:
    assert steps(RING, 160, 300) == [(0, 2), (40, 9), (90, 3)]
    assert steps(RING, 0, 120) == [(0, 0), (100, 1)]


def test_a_sample_has_mean_and_shares() -> None:
    found = RingResult(RingTrial(None), 10, 200, spent(RING, (120, 320)), 2, [], 5.0, [])
    sample = Sample.of(found)
    assert (sample.name, sample.most, sample.fillings_per_s) == ("TCP Tx", 10, 1e7)
    assert sample.mean == (1 * 30 + 2 * 50 + 3 * 50 + 9 * 50 + 10 * 20) / 200
    assert (sample.empty_ratio, sample.full_ratio) == (0.0, 0.35)
