# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said about a frame that was late, after the pair was tried again without a further frame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from irqlab.dut.agent import DutError
from irqlab.hunting.findings import Finding
from irqlab.hunting.pairs import Limits
from irqlab.hunting.weighing import parted, weighed
from irqlab.qemu.cancellation import CancelledError
from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial, Received, Transmitted
from tests.unit.fake_hunted import runner_of

LIMITS = Limits(20_000, 120_000)
GAP_NS = 50_000
AGAIN = HuntTrial(3, GAP_NS - 8, 4)
ORIGIN_NS = SETTLE_NS + 2 * AGAIN.period_ns


def found(what: str, worst_ns: int | None = None) -> Finding:
    return Finding("arrivals", "same", what, GAP_NS, GAP_NS, 1, worst_ns, GAP_NS, 2, pc=7, arrival_ns=GAP_NS)


def weigh(
    what: str,
    first: int | None,
    second: int | None,
    *halts: tuple[int, int],
    then: int | None = None,
    again: HuntTrial = AGAIN,
    worst_ns: int | None = None,
) -> tuple[Finding, list[HuntTrial]]:
    """`first`, `second`: latencies if no further frame comes; `halts`, from the beginning of the last pair; `then`: the latency
    if another pair comes."""

    def answer(spec: HuntTrial) -> HuntResult:
        usual = (LIMITS.alone_ns,) * (AGAIN.pairs - 1)
        firsts, seconds = (*usual, first), (*usual, second if spec.last_alone else then)
        later = (LIMITS.alone_ns,) * (spec.pairs - AGAIN.pairs)
        made = tuple((ORIGIN_NS + a, ORIGIN_NS + b) for a, b in halts)
        pcs = tuple(range(spec.pairs))
        first_frames = Received((*firsts, *later), pcs=tuple(10 + pc for pc in pcs))
        return HuntResult(spec, first_frames, Received((*seconds, *later), pcs=tuple(5 + pc for pc in pcs)), made, [])

    runner, testbed = runner_of(answer)
    return weighed(runner, found(what, worst_ns), again, LIMITS), testbed.specs


def test_a_frame_that_does_not_come_out_by_itself_was_left():
    for frames in ((20_000, None), (None, 20_000)):
        one, tried = weigh("late", *frames)
        assert (one.what, one.by_itself_ns) == ("left", None)
        assert tried == [replace(AGAIN, last_alone=True)]


def test_a_lost_frame_that_comes_out_with_another_pair_was_left():
    one, tried = weigh("lost", 20_000, None, then=7_900_000)
    assert (one.what, one.worst_ns) == ("left", 7_900_000)
    assert tried == [replace(AGAIN, last_alone=True), replace(AGAIN, pairs=4)]


def test_a_frame_that_does_not_come_out_with_another_pair_is_lost():
    assert weigh("lost", 20_000, None)[0] == found("lost")


def test_an_old_frame_stays_one_whatever_it_waits_for():
    assert weigh("old", 20_000, None)[0] == found("old")


def test_a_frame_waited_behind_work_if_the_processor_did_not_idle_for_longer_than_a_frame_takes():
    for what in ("late", "old"):
        one, _ = weigh(what, 20_000, 500_000, (GAP_NS - 900, GAP_NS + 20_000), (GAP_NS + 500_000, 9_000_000))
        assert (one.what, one.by_itself_ns) == ("held", 500_000)
        one, _ = weigh(what, 20_000, 500_000, (GAP_NS + 100_000, GAP_NS + 120_001))
        assert (one.what, one.by_itself_ns) == (what, 500_000)


def test_work_explains_no_lost_frame():
    assert weigh("lost", 20_000, 500_000)[0] == replace(found("lost"), by_itself_ns=500_000)


def test_work_explains_no_frame_that_was_much_later_before():
    assert weigh("old", 20_000, 500_000, worst_ns=620_000)[0].what == "held"
    assert weigh("old", 20_000, 500_000, worst_ns=620_001)[0] == replace(found("old", 620_001), by_itself_ns=500_000)


def test_it_is_known_which_frame_was_late_and_where_the_processor_was():
    second, first = weigh("late", 20_000, None)[0], weigh("late", None, 20_000)[0]
    assert (second.arrival_ns, second.pc) == (GAP_NS, 7)
    assert (first.arrival_ns, first.pc) == (0, 12)
    one = weigh("late", 500_000, 499_999)[0]
    assert (one.what, one.arrival_ns, one.pc) == ("held", 0, 12)


def test_several_halts_count_together():
    halts = [(GAP_NS + n * 10_000, GAP_NS + n * 10_000 + 5_000) for n in range(5)]
    assert weigh("late", 20_000, 500_000, *halts)[0].what == "late"
    assert weigh("late", 20_000, 500_000, *halts[:4])[0].what == "held"


def test_the_first_frame_may_be_the_late_one():
    assert weigh("late", 500_000, 20_000, (0, 20_000))[0].what == "held"
    assert weigh("late", 500_000, 20_000, (0, 20_001))[0].what == "late"


def test_a_first_frame_that_comes_out_with_the_second_was_left():
    assert weigh("late", GAP_NS + 90_000, 90_000, (0, 40_000), again=AGAIN)[0].what == "left"
    far = replace(AGAIN, first_gap_ns=999_992)
    assert weigh("late", 1_130_000, 120_000, (0, 40_000), again=far)[0].what == "late", "it came out long after the second came"
    assert weigh("late", 999_999, 120_000, (0, 40_000), again=far)[0].what == "late", "it came out before the second came"


def test_a_frame_that_is_in_time_if_no_other_comes_stays_late():
    one, _ = weigh("late", 20_000, 120_000)
    assert (one.what, one.by_itself_ns) == ("late", 120_000)


def weigh_kept(freed_ns: int | None, *halts: tuple[int, int], worst_ns: int | None = 900_000) -> str:
    """What is said of a packet that was kept: `freed_ns` later it is freed if no further frame comes."""
    again = replace(AGAIN, transmits=True)

    def answer(spec: HuntTrial) -> HuntResult:
        usual = Received((LIMITS.alone_ns,) * spec.pairs)
        made = tuple((ORIGIN_NS + a, ORIGIN_NS + b) for a, b in halts)
        sent = (Transmitted(SETTLE_NS, 5_000_000), Transmitted(ORIGIN_NS + GAP_NS, freed_ns))
        return HuntResult(spec, usual, usual, made, [], transmitted=sent)

    return weighed(runner_of(answer)[0], found("kept", worst_ns), again, replace(LIMITS, freed_alone_ns=30_000)).what


def test_a_packet_waited_behind_work_if_the_processor_did_not_idle_for_longer_than_one_takes():
    assert weigh_kept(900_000, (GAP_NS + 1_000, GAP_NS + 31_000)) == "held"
    assert weigh_kept(900_000, (GAP_NS + 1_000, GAP_NS + 31_001)) == "kept"
    assert weigh_kept(700_000, worst_ns=900_000) == "kept", "it was kept for much longer before"
    assert weigh_kept(None) == "kept", "it is not freed by itself"
    assert weigh_kept(100_000) == "kept", "it is freed in time if no further frame comes"
    assert weigh_kept(900_000, worst_ns=None) == "kept", "it was never freed before"


@pytest.mark.parametrize("what", ["overtaken", "duplicated", "reordered", "stuck", "message"])
def test_what_is_not_late_is_not_tried_again(what: str):
    assert weigh(what, 20_000, None) == (found(what), [])


@pytest.mark.parametrize("error", [DutError("gone"), CancelledError("stopped")])
def test_a_dut_that_fails_or_is_stopped_says_nothing(error: Exception):
    def answer(_: Any) -> HuntResult:
        raise error

    assert weighed(runner_of(answer)[0], found("late"), AGAIN, LIMITS) == found("late")


def test_what_was_held_is_one_observation_the_worst_for_all():
    late, short, long = found("late"), replace(found("held", 300), from_ns=1, to_ns=9), replace(found("held", 900), instants=4)
    findings, observations = parted([short, late, long])
    assert findings == [late]
    assert observations == [replace(long, instants=5, from_ns=1, to_ns=GAP_NS)]
    assert parted([late]) == ([late], [])
