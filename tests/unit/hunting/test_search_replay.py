# SPDX-License-Identifier: GPL-2.0-or-later
"""The replay of one instant, as often as asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from irqlab.dut.agent import DutError
from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case
from irqlab.hunting.options import Options
from irqlab.hunting.pairs import Limits, Pair
from irqlab.hunting.search import replay
from irqlab.trials.hunt import HuntResult, HuntTrial, Received
from tests.unit.fake_hunted import Formula, runner_of

ALONE_NS = 20_000
ONE = HuntTrial(1, 0, 0, frame_bytes=128)
CASE = Case("arrivals", "other", replace(ONE, pairs=2, frames=0), ONE)


def replayed(wrong: list[bool], said: list[str] | None = None, **options: Any) -> tuple[Limits, list[Pair], Formula]:
    """`wrong`: whether the last pair of each repetition loses its frame."""
    left = list(wrong)

    def answer(spec: HuntTrial) -> HuntResult:
        frames = Received((ALONE_NS,) * spec.pairs)
        if not spec.frames:
            return HuntResult(spec, frames, Received(), (), [])
        last = None if left.pop(0) else ALONE_NS
        return HuntResult(spec, frames, Received((*frames.latencies_ns[1:], last)), (), [])

    runner, testbed = runner_of(answer, said)
    limits, pairs = replay(runner, CASE, Options(**options))
    return limits, pairs, testbed


def test_each_repetition_counts_by_its_last_pair():
    limits, pairs, _ = replayed([True, False, True], at=9_000, lead=2, repeat=3)
    assert limits == Limits(ALONE_NS, ALONE_NS + 100_000)
    assert [(pair.gap_ns, pair.what, pair.number) for pair in pairs] == [(9_000, "lost", 2), (9_000, "", 2), (9_000, "lost", 2)]


def test_the_pairs_before_come_at_the_instants_before():
    _, _, testbed = replayed([False], at=9_000, lead=2, step=25)
    assert testbed.anew == [replace(ONE, pairs=3, first_gap_ns=8_800, step_ns=100)]


def test_no_repetition_comes_from_the_cache():
    _, _, testbed = replayed([False] * 4, at=9_000, repeat=4)
    assert len(testbed.anew) == 4
    assert testbed.specs == [CASE.alone]


def test_there_must_be_as_many_instants_before():
    with pytest.raises(IrqlabError, match=r"^--lead 3: before --at 8 there are only 2 instants$"):
        replayed([], at=8, lead=3)


def test_the_progress_counts_repetitions():
    said: list[str] = []
    replayed([True, False], said, at=9_000, repeat=2)
    assert said == ["arrivals, other port, 1 of 2", "arrivals, other port, 2 of 2"]


def test_a_repetition_in_which_the_dut_fails_went_wrong():
    def answer(spec: HuntTrial) -> HuntResult:
        if spec.frames:
            raise DutError("it hangs")
        return HuntResult(spec, Received((ALONE_NS,) * 2), Received(), (), [])

    runner, _ = runner_of(answer)
    _, pairs = replay(runner, CASE, Options(at=9_000, repeat=2))
    assert pairs == [Pair(9_000, None, "message")] * 2
