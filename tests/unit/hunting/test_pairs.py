# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said about a pair: whether its frames came out in time and in order, and its packets were freed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from irqlab.hunting.pairs import Limits, Pair, pairs_of
from irqlab.trials.hunt import CHECK_ROOM_NS, SETTLE_NS, Cued, Cues, HuntResult, HuntTrial, Received, Step, Transmitted

LIMITS = Limits(500, 1_000, 700, 2_000)
Times = list[int | None]


def judged(
    first: Times, second: Times, at_end: Sequence[int | None] = (), again: Sequence[Sequence[tuple[int, int]]] = (), **spec: Any
) -> list[Pair]:
    """`again`: of the three streams, frames that came out once more."""
    frames = spec.get("first_frames", 1)
    pairs = spec.pop("pairs", len(first) // frames if frames else len(at_end) // 2)
    trial = HuntTrial(pairs, 100, 4, **spec)
    repeats = [*again, (), (), ()]
    streams = [Received(tuple(times), repeats=tuple(repeats[n])) for n, times in enumerate((first, second, at_end))]
    return list(pairs_of(HuntResult(trial, streams[0], streams[1], (), [], streams[2]), LIMITS))


def what(*args: Any, **spec: Any) -> list[str]:
    return [pair.what for pair in judged(*args, **spec)]


def test_pairs_have_their_instant_number_and_longest_latency():
    assert judged([500, 800, 500], [600, 790, 499]) == [Pair(100, 600, "", 0), Pair(104, 800, "", 1), Pair(108, 500, "", 2)]


@pytest.mark.parametrize("lost", [([None], [600]), ([500], [None])])
def test_a_frame_that_never_came_out_is_lost_and_has_no_latency(lost):
    assert judged(*lost) == [Pair(100, None, "lost")]


@pytest.mark.parametrize("times", [([1_001], [999]), ([500], [1_001])])
def test_a_frame_later_than_the_bound_is_late(times):
    assert judged(*times) == [Pair(100, 1_001, "late")]


def test_a_frame_at_the_bound_is_in_time():
    assert what([1_000], [1_000]) == [""]


def test_the_second_frame_must_not_overtake_the_first_at_the_same_port():
    assert what([500, 500], [399, 396]) == ["overtaken", ""]
    assert what([500], [399], other_port=True) == [""]


def test_any_frame_of_a_burst_may_overtake():
    assert what([500], [600, 399], frames=2) == ["overtaken"]


def test_of_several_first_frames_none_is_overtaken():
    assert what([500, 510], [300], first_frames=2) == [""]


def test_a_late_frame_that_overtakes_is_late():
    assert what([1_200], [900]) == ["late"]


def test_each_pair_has_as_many_frames_as_the_arrivals():
    found = judged([1, 2, 3, 4], [11, 12, 13, 14, 15, None], frames=3, first_frames=2)
    assert [(pair.latency_ns, pair.what) for pair in found] == [(13, ""), (None, "lost")]


def test_without_a_second_frame_only_the_first_counts():
    assert judged([700], [], frames=0) == [Pair(100, 700, "")]
    assert judged([700, 800], [], interrupt=True, frames=0) == [Pair(100, 700, ""), Pair(104, 800, "", 1)]


def test_frames_may_be_late_while_something_changes_until_the_frames_at_the_end():
    latest = HuntTrial.period_ns - CHECK_ROOM_NS
    timely = {"check": True, "at_end": [1, 1] * 2}
    assert what([500] * 2, [latest - 100, latest - 103], tolerates=("late",), **timely) == ["", "late"]
    assert what([500], [None], tolerates=("late",)) == ["lost"]


def test_frames_of_a_burst_that_overruns_the_ring_may_be_lost_and_late():
    assert judged([500, None], [None, 9_000], tolerates=("lost", "late")) == [Pair(100, 500, "", 0), Pair(104, 9_000, "", 1)]


def test_where_frames_may_be_lost_they_must_not_be_late():
    assert what([500, None, 500], [None, 1_000, 1_001], tolerates=("lost",)) == ["", "", "late"]


STEP = Step(0, "/a", "b")


def changed(arrival_ns: int, latency_ns: int | None, *stepped: tuple[int, int], pair: int = 0, **spec: Any) -> str:
    """What is said of a frame in a pair with these steps: begin and end of each."""
    spec = {"tolerates": ("lost",), **spec}
    trial = HuntTrial(pair + 1, arrival_ns, 0, first_frames=0, steps=(STEP,) * len(stepped), **spec)
    origins = [SETTLE_NS + n * trial.period_ns for n in range(pair + 1)]
    done = tuple((origin + begin, origin + end) for origin in origins for begin, end in stepped)
    frames = Received((500,) * pair + (latency_ns,))
    return list(pairs_of(HuntResult(trial, Received(), frames, (), [], stepped=done), LIMITS))[-1].what


def test_a_frame_that_comes_during_a_change_may_wait_until_it_is_done_and_for_the_bound():
    for pair in (0, 2):
        assert changed(5_000, 45_000 + 1_000, (0, 50_000), pair=pair) == ""
        assert changed(5_000, 45_000 + 1_001, (0, 50_000), pair=pair) == "old"
        assert changed(49_999, 1_002, (0, 50_000), pair=pair) == "old"


def test_a_frame_that_comes_just_before_a_change_may_wait_until_it_is_done():
    assert changed(5_000, 2_000, (6_000, 9_000)) == ""
    assert changed(4_999, 2_000, (6_000, 9_000)) == "old"


def test_a_frame_of_before_a_change_must_not_come_out_after_the_way_back():
    down, up = (0, 3_000), (20_000, 25_000)
    assert changed(1_000, 3_000, down, up) == ""
    assert changed(1_000, 22_000, down, up) == "old"
    assert changed(10_000, 14_000, down, up) == "old", "neither one that came in between"
    assert changed(21_000, 5_000, down, up) == ""


def test_a_frame_that_comes_after_a_change_is_late_and_not_old():
    assert changed(9_000, 1_000, (0, 9_000)) == ""
    assert changed(9_000, 1_001, (0, 9_000)) == "late"
    assert changed(10_000, 1_001, (0, 9_000), (20_000, 21_000)) == "late"


def test_during_a_change_that_may_lose_frames_they_are_lost_and_otherwise_not():
    assert changed(5_000, None, (0, 50_000)) == ""
    assert changed(5_000, None, (0, 50_000), tolerates=()) == "lost"
    assert changed(5_000, 46_000, (0, 50_000), tolerates=()) == ""
    assert changed(5_000, 46_001, (0, 50_000), tolerates=()) == "old"


def test_the_pair_in_which_a_frame_came_out_once_more_is_known():
    assert what([500] * 3, [500] * 3, again=[[(1, 900)]]) == ["", "duplicated", ""]
    assert what([500] * 3, [500] * 3, again=[[], [(0, 700)]]) == ["duplicated", "", ""]


def test_a_frame_that_comes_out_once_more_later_belongs_to_the_pair_of_then():
    period = HuntTrial.period_ns
    assert what([500] * 3, [500] * 3, again=[[(0, period - 1), (1, period)]]) == ["duplicated", "", "duplicated"]
    assert what([500] * 3, [500] * 3, again=[[], [(0, period - 101), (1, period - 104)]]) == ["duplicated", "", "duplicated"]
    assert what([500], [500], again=[[(0, 9 * period)]]) == ["duplicated"], "after the last one: in that"


def test_frames_at_the_end_of_a_pair_may_come_out_once_more_in_the_next():
    at_end = {"at_end": [1, 1] * 2, "check": True}
    again = [(0, 3_999_999), (1, 2_999_999)]
    assert what([500] * 2, [500] * 2, again=[[], [], again], **at_end) == ["duplicated", ""]
    assert what([500] * 2, [500] * 2, again=[[], [], [(0, 4_000_000)]], **at_end) == ["", "duplicated"]


def test_a_frame_that_comes_out_behind_a_later_one_is_reordered():
    period = HuntTrial.period_ns
    free = {"tolerates": ("late",), "frames": 0}
    assert what([500 + period, 500, 500], [], **free) == ["", "", ""], "at the same time is in order"
    assert what([501 + period, 500, 500], [], **free) == ["reordered", "", ""]
    assert what([500] * 3, [501 + period + 4, None, 500], tolerates=("late", "lost")) == ["", "", ""]
    assert what([500] * 3, [501 + 2 * period + 8, None, 500], tolerates=("late", "lost")) == ["reordered", "", ""]


def test_within_a_burst_frames_are_reordered():
    assert what([500], [520, 509], frames=2) == ["reordered"]
    assert what([500], [519, 509], frames=2) == [""]
    assert what([510, 499, 500, 499], [600] * 2, first_frames=2) == ["reordered", ""]


def test_the_last_frame_at_the_end_of_a_pair_has_to_come_out_in_time():
    check = [None, 1_000, 900, 1_001, 900, None]
    assert what([500] * 3, [500] * 3, check, check=True) == ["", "stuck", "stuck"]


def test_a_pair_without_frames_at_its_end_is_stuck():
    assert what([500, 500], [500, 500], [900, 900, 900], check=True) == ["", "stuck"]


def test_frames_at_the_end_do_not_count_if_there_are_none():
    assert what([500], [500]) == [""]


def test_a_late_pair_is_not_called_stuck():
    assert what([500], [1_500], [None, None], check=True) == ["late"]


def test_only_the_frames_at_the_end_of_a_change_count():
    assert judged([], [], [1, 5_000], check=True, tolerates=("lost",), first_frames=0, frames=0) == [Pair(100, 0, "stuck")]


def sent_in(pair: int, after_ns: int, freed_ns: int | None) -> Transmitted:
    return Transmitted(SETTLE_NS + pair * HuntTrial.period_ns + after_ns, freed_ns)


def freed(*sent: Transmitted, pairs: int = 1, limits: Limits = LIMITS, **spec: Any) -> list[tuple[int | None, str]]:
    trial = HuntTrial(pairs, 200, 4, transmits=True, **spec)
    frames = Received((100,) * pairs)
    found = HuntResult(trial, frames, frames, (), [], transmitted=sent)
    return [(pair.freed_ns, pair.what) for pair in pairs_of(found, limits)]


def test_packets_are_freed_in_time():
    assert freed(sent_in(0, 5, 1_999), sent_in(0, 6, 2_000)) == [(2_000, "")]
    assert freed(sent_in(0, 5, 2_001), sent_in(0, 6, 10)) == [(2_001, "kept")]


def test_a_packet_may_be_freed_with_one_that_was_sent_in_time_after_it():
    assert freed(sent_in(0, 5, 3_000), sent_in(0, 1_905, 1_200)) == [(3_000, "")], "a packet timer begins anew"
    assert freed(sent_in(0, 5, 3_000), sent_in(0, 2_006, 1_200)) == [(3_000, "kept")], "it was over by then"
    assert freed(sent_in(0, 5, 4_000), sent_in(0, 1_905, 2_100)) == [(4_000, "kept")]
    assert freed(sent_in(0, 5, 3_000), sent_in(0, 1_905, 100)) == [(3_000, "kept")], "the later one was freed before"


def test_a_packet_that_was_never_freed_is_kept():
    assert freed(sent_in(0, 5, 10), sent_in(0, 6, None)) == [(None, "kept")]


def test_a_pair_without_packets_keeps_none():
    assert freed() == [(0, "")]


def test_packets_belong_to_the_pair_in_which_they_were_sent():
    first_ns, last_ns = 0, HuntTrial.period_ns - 1
    sent = [sent_in(0, first_ns, 1), sent_in(0, last_ns, 5), sent_in(1, first_ns, 3), sent_in(1, last_ns, 2_500)]
    assert freed(*sent, pairs=2) == [(5, ""), (2_500, "kept")]


def test_packets_before_and_after_the_pairs_do_not_count():
    assert freed(sent_in(-1, 7, None), sent_in(0, 7, 9), sent_in(1, 0, None)) == [(9, "")]


def test_without_a_bound_packets_have_to_be_freed_some_time():
    assert freed(sent_in(0, 5, 9_999_999), limits=Limits(500, 1_000)) == [(9_999_999, "")]
    assert freed(sent_in(0, 5, None), limits=Limits(500, 1_000)) == [(None, "kept")]


def test_a_frame_that_is_lost_counts_more_than_a_packet_that_is_kept():
    trial = HuntTrial(1, 100, 4, transmits=True)
    found = HuntResult(trial, Received((None,)), Received((5,)), (), [], transmitted=(sent_in(0, 5, None),))
    assert list(pairs_of(found, LIMITS)) == [Pair(100, None, "lost")]


def test_frames_on_cue_depart_at_the_cue() -> None:
    """The first comes out once before the next pair begins, and again just before that pair's second frame does."""
    trial = HuntTrial(2, 4_000_000, 0, cues=Cues(((0, 1),), (1, None)))
    at_ns = SETTLE_NS + 1_000
    cued = (Cued(1, 0, 0, at_ns, 0, 1), Cued(9, 0, 0, None, 0, 0))
    second = Received((trial.period_ns + 3_999_000, 400), repeats=((0, trial.period_ns - 2_000),))
    found = HuntResult(trial, Received((500, 500)), second, (), [], cued=cued)
    limits = Limits(500, 2 * trial.period_ns)
    assert [pair.what for pair in pairs_of(found, limits)] == ["duplicated", ""]
