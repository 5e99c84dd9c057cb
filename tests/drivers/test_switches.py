# SPDX-License-Identifier: GPL-2.0-or-later
"""Every switch from one combination of schemes to another, under twice the load the weaker of the two can take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from irqlab.config.schemes import COMBINATIONS, Combination
from irqlab.robustness.overload import Overload, choose

from .switches import switch, tour, walk

LOAD = 2.0
FLOWING_WITHIN_NS = 10_000_000
LONGEST_GAP_NS = 50_000_000
"""Later on; a wedged driver would stay silent for the rest of the window."""
PARTS = 12
TOUR = tour(COMBINATIONS)
WALK = walk(COMBINATIONS)
STEP = -(-(len(WALK) - 1) // PARTS)


def travel(overload: Overload, stops: Sequence[Combination]) -> None:
    troubles = []
    with overload.testbed.open() as dut:
        dut.play_hosts(0)  # no ceiling: overload may be more than the wire carries
        choose(dut, stops[0])
        for before, after in pairwise(stops):
            done = switch(overload, dut, before, after, LOAD)
            print(done)
            late = done.flowing_after_ns is None or done.flowing_after_ns > FLOWING_WITHIN_NS
            if late or done.longest_gap_ns > LONGEST_GAP_NS or done.kernel_log:
                troubles.append(done)
    assert troubles == []


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.long
def test_every_ordered_pair(overload: Overload, part: int) -> None:
    travel(overload, WALK[part * STEP : (part + 1) * STEP + 1])


def test_each_scheme(overload: Overload) -> None:
    """Quick: each receive and each transmit scheme is entered and left. What depends on the pair, the long test shows: a switch
    for each of the pairs (receive, transmit) before and after. With 37 combinations these are 1332, here it is 10.
    """
    travel(overload, TOUR)
