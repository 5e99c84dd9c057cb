# SPDX-License-Identifier: GPL-2.0-or-later
"""Every switch from one combination of schemes to another, at twice the capacity of the weaker one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from irqlab.robustness.switching import COMBINATIONS, Combination, Overload, choose, walk
from irqlab.trials.testbed import Testbed

LOAD = 2.0
FLOWING_WITHIN_NS = 10_000_000
LONGEST_GAP_NS = 50_000_000
"""Later on; a wedged driver would stay silent for the rest of the window."""
PARTS = 6
WALK = walk(COMBINATIONS)
STEP = -(-(len(WALK) - 1) // PARTS)


def travel(testbed: Testbed, stops: Sequence[Combination]) -> None:
    overload = Overload(testbed)
    troubles = []
    with testbed.open() as dut:
        dut.play_hosts(0)  # no ceiling: overload may be more than the wire carries
        choose(dut, stops[0])
        for before, after in pairwise(stops):
            switch = overload.switch(dut, before, after, LOAD)
            print(switch)
            late = switch.flowing_after_ns is None or switch.flowing_after_ns > FLOWING_WITHIN_NS
            if late or switch.longest_gap_ns > LONGEST_GAP_NS or switch.kernel_log:
                troubles.append(switch)
    assert troubles == []


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.long
def test_every_ordered_pair(testbed: Testbed, part: int) -> None:
    travel(testbed, WALK[part * STEP : (part + 1) * STEP + 1])


def test_some(testbed: Testbed) -> None:
    """A quick selection: switches to and from each receive scheme and each transmit scheme."""
    names = ("napi/off", "interrupt/interrupt", "timer/coalesce", "hybrid/off", "napi/interrupt", "napi/off")
    travel(testbed, [Combination(*name.split("/")) for name in names])
