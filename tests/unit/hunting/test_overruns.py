# SPDX-License-Identifier: GPL-2.0-or-later
"""Bursts that overrun the ring: the frames at the end of a pair come when the driver has worked on the burst."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irqlab.dut.kernel_log import KernelProblemError
from irqlab.hunting.cases import Case
from irqlab.hunting.options import Options
from irqlab.hunting.overruns import APART_NS, BURSTS, with_room
from irqlab.hunting.search import hunt, replay
from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial, Received
from tests.unit.fake_hunted import runner_of

PERIOD_NS = HuntTrial.period_ns
ALONE_NS = 20_000
ONE = HuntTrial(1, 0, 0, frames=4, check=True, tolerates=("lost", "late"))
CASE = Case("overruns", "same", HuntTrial(2, 0, 0, frames=0), ONE)


def driver(taken_ns: int | None):
    """A driver that has taken a burst's frames after so long; None: the kernel dies of bursts."""

    def answer(spec: HuntTrial) -> HuntResult:
        if spec.frames and taken_ns is None:
            raise KernelProblemError("BUG: burst")
        # One frame finds no room.
        later = (None, *((taken_ns,) * (spec.frames - 1))) * spec.pairs if spec.frames else ()
        end_ns = SETTLE_NS + spec.period_ns
        halts = ((0, SETTLE_NS), (end_ns - 100, end_ns)) if not spec.frames else ()
        alone = (ALONE_NS,) * spec.pairs
        check = Received((1, ALONE_NS) * spec.pairs if spec.check else ())
        return HuntResult(spec, Received(alone), Received(later), halts, [], check)

    return answer


@pytest.mark.parametrize(("taken_ns", "more_ms"), [(4_000_000, 4), (4_000_001, 8), (300, 4)])
def test_pairs_are_longer_by_what_a_burst_takes_in_whole_ticks(taken_ns, more_ms):
    runner, testbed = runner_of(driver(taken_ns))
    found = with_room(runner, CASE)
    assert testbed.specs == [replace(ONE, pairs=BURSTS, period_ns=APART_NS)]
    period_ns = PERIOD_NS + more_ms * 1_000_000
    assert found == replace(
        CASE, alone=replace(CASE.alone, period_ns=period_ns), trial=replace(ONE, period_ns=period_ns), busy_ns=taken_ns
    )


def test_no_instant_is_tried_after_which_the_burst_is_there_when_the_frames_at_the_end_come():
    runner, testbed = runner_of(driver(1_000_000))
    (span,) = hunt(runner, CASE, Options(step=250)).spans
    period_ns = PERIOD_NS + 4_000_000
    bound_ns = ALONE_NS + 100_000
    assert span == (0, (period_ns - 4_000_000 - bound_ns - 1_000_000 - 1) // 1_000 * 1_000)
    assert {spec.period_ns for spec in testbed.specs[1:]} == {period_ns}


def test_a_replay_has_the_same_pairs():
    runner, testbed = runner_of(driver(1_000_000))
    replay(runner, CASE, Options(at=400))
    assert [spec.period_ns for spec in testbed.anew] == [PERIOD_NS + 4_000_000]


def test_a_kernel_that_dies_of_a_burst_is_left_to_the_hunt():
    runner, _ = runner_of(driver(None))
    assert with_room(runner, CASE) is CASE
