# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said about a pair: whether its frames came out in time and in order, and its packets were freed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from irqlab.hunting.pairs import Limits, Pair, pairs_of
from irqlab.trials.hunt import CHECK_ROOM_NS, SETTLE_NS, HuntResult, HuntTrial, Received, Transmitted

LIMITS = Limits(500, 1_000, 700, 2_000)
Times = list[int | None]


def judged(first: Times, second: Times, at_end: Sequence[int | None] = (), **spec: Any) -> list[Pair]:
    frames = spec.get("first_frames", 1)
    pairs = spec.pop("pairs", len(first) // frames if frames else len(at_end) // 2)
    trial = HuntTrial(pairs, 100, 4, **spec)
    streams = [Received(tuple(times)) for times in (first, second, at_end)]
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
    assert judged([700, 800], [], interrupt=True) == [Pair(100, 700, ""), Pair(104, 800, "", 1)]


def test_frames_may_be_late_while_something_changes_until_the_frames_at_the_end():
    latest = HuntTrial.period_ns - CHECK_ROOM_NS
    assert what([500] * 2, [latest - 100, latest - 103], tolerates="late") == ["", "late"]
    assert what([500], [None], tolerates="late") == ["lost"]


def test_frames_may_be_lost_while_something_changes():
    assert judged([500, None], [None, None], tolerates="lost") == [Pair(100, 500, "", 0), Pair(104, 0, "", 1)]


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
    assert judged([], [], [1, 5_000], check=True, tolerates="lost", first_frames=0, frames=0) == [Pair(100, 0, "stuck")]


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
