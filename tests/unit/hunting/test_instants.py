# SPDX-License-Identifier: GPL-2.0-or-later
"""Which instants are tried: spans in which the DUT executes, limited by options, and cut into trials."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irqlab.hunting.instants import MARGIN_NS, busy_spans, chosen_spans, trials
from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial, Received

PERIOD_NS = 100_000
STEP_NS = 4
LAST_NS = PERIOD_NS - STEP_NS
"""The last instant of a pair."""


def spans(*busy: tuple[int, int], pairs: int = 1, before_ns: int = 0, step_ns: int = STEP_NS) -> list[tuple[int, int]]:
    """`busy`: when the DUT executes, in ns after the first pair's first event. After that it executes once more, to its end."""
    awake = [(SETTLE_NS + begin, SETTLE_NS + end) for begin, end in busy]
    halted = [0, *(end for _, end in awake)]
    woken = [*(begin for begin, _ in awake), SETTLE_NS + pairs * PERIOD_NS + 50_000]
    trial = HuntTrial(pairs, 0, 0, frames=0, period_ns=PERIOD_NS)
    found = HuntResult(trial, Received(), Received(), tuple(zip(halted, woken, strict=True)), [])
    return busy_spans(found, step_ns, before_ns)


def test_the_span_has_a_margin_on_either_side():
    assert spans((10_000, 20_000)) == [(10_000 - MARGIN_NS, 20_000 + MARGIN_NS)]


def test_both_ends_are_multiples_of_the_step():
    assert spans((10_003, 20_003), step_ns=16) == [(9_600, 20_400)]
    assert spans((10_008, 20_013), step_ns=16) == [(9_600, 20_400)]
    assert spans((10_016, 20_016), step_ns=16) == [(9_616, 20_416)]


def test_a_second_event_that_takes_long_may_come_as_much_earlier():
    assert spans((10_000, 20_000), before_ns=3_000) == [(10_000 - MARGIN_NS - 3_000, 20_000 + MARGIN_NS)]


def test_no_instant_is_before_the_first_event_or_in_the_next_pair():
    assert spans((100, 200), (PERIOD_NS - 200, PERIOD_NS - 100)) == [(0, 600), (PERIOD_NS - 600, LAST_NS)]
    assert spans((100, 200), step_ns=1) == [(0, 600)]


def test_what_executes_before_the_first_event_is_left_out():
    assert spans((-5_000, -1)) == []
    assert spans((-5_000, 0)) == [(0, MARGIN_NS)]


def test_what_executes_after_the_last_pair_is_left_out():
    after = PERIOD_NS + MARGIN_NS
    assert spans((after, after + 100)) == []
    assert spans((after - STEP_NS, after + 100)) == [(LAST_NS, LAST_NS)]


def test_a_dut_that_never_halts_again_is_left_out():
    assert spans() == []


def test_the_spans_of_all_pairs_are_put_together():
    found = spans((10_000, 11_000), (PERIOD_NS + 50_000, PERIOD_NS + 51_000), pairs=2)
    assert found == [(9_600, 11_400), (50_000 - MARGIN_NS, 51_000 + MARGIN_NS)]


def test_spans_of_two_pairs_that_overlap_are_one():
    found = spans((10_000, 11_000), (PERIOD_NS + 10_500, PERIOD_NS + 12_000), (PERIOD_NS + 40_000, PERIOD_NS + 41_000), pairs=2)
    assert found == [(9_600, 12_400), (39_600, 41_400)]


def test_a_span_within_another_one_does_not_shorten_it():
    assert spans((10_000, 19_000), (PERIOD_NS + 12_000, PERIOD_NS + 13_000), pairs=2) == [(9_600, 19_400)]


@pytest.mark.parametrize(("gap_ns", "joined"), [(STEP_NS, True), (2 * STEP_NS, False)])
def test_spans_without_an_instant_between_them_are_one(gap_ns, joined):
    second = 11_000 + 2 * MARGIN_NS + gap_ns
    found = spans((10_000, 11_000), (PERIOD_NS + second, PERIOD_NS + 15_000), pairs=2)
    assert found == ([(9_600, 15_400)] if joined else [(9_600, 11_400), (11_400 + gap_ns, 15_400)])


def test_what_executes_in_one_pair_until_the_next_belongs_to_both():
    found = spans((PERIOD_NS - 1_000, PERIOD_NS + 2_000), pairs=2)
    assert found == [(0, 2_400), (PERIOD_NS - 1_400, LAST_NS)]


SPANS = [(0, 1_000), (2_000, 3_000)]


def test_without_limits_all_spans_are_chosen():
    assert chosen_spans(SPANS, None, None, PERIOD_NS, STEP_NS) == SPANS


def test_a_range_cuts_spans():
    assert chosen_spans(SPANS, 500, 2_500, PERIOD_NS, STEP_NS) == [(500, 1_000), (2_000, 2_500)]
    assert chosen_spans(SPANS, 1_000, 2_000, PERIOD_NS, STEP_NS) == [(1_000, 1_000), (2_000, 2_000)]
    assert chosen_spans(SPANS, 1_004, 1_996, PERIOD_NS, STEP_NS) == []


def test_only_instants_within_a_range_are_chosen():
    assert chosen_spans(SPANS, 501, 2_503, PERIOD_NS, STEP_NS) == [(504, 1_000), (2_000, 2_500)]


def test_a_range_may_begin_with_the_first_event():
    assert chosen_spans(SPANS, 0, 0, PERIOD_NS, STEP_NS) == [(0, 0)]


@pytest.mark.parametrize("end_ns", [None, 50_000])
def test_no_instant_is_at_or_after_the_frames_at_the_end_of_a_pair(end_ns):
    assert chosen_spans(SPANS, None, end_ns, 2_400, STEP_NS) == [(0, 1_000), (2_000, 2_396)]
    assert chosen_spans(SPANS, None, end_ns, 2_401, STEP_NS) == [(0, 1_000), (2_000, 2_400)]


ONE = HuntTrial(1, 0, 0, frame_bytes=128, period_ns=PERIOD_NS)


def test_trials_try_each_instant_once():
    found = list(trials([(0, 8), (100, 100)], STEP_NS, ONE))
    assert found == [replace(ONE, pairs=3, step_ns=4), replace(ONE, pairs=1, first_gap_ns=100, step_ns=4)]


def test_a_trial_has_a_thousand_pairs_at_most():
    found = list(trials([(40, 40 + 4 * 2_000)], STEP_NS, ONE))
    assert [(trial.first_gap_ns, trial.pairs) for trial in found] == [(40, 1_000), (4_040, 1_000), (8_040, 1)]
    assert [gap for trial in found for gap in trial.gaps_ns] == list(range(40, 8_041, 4))


@pytest.mark.parametrize(("period_s", "pairs"), [(4, [750, 51]), (5_000, [1] * 3), (3, [801])])
def test_a_trial_lasts_three_thousand_seconds_at_most(period_s, pairs):
    end = 4 * (sum(pairs) - 1)
    found = trials([(0, end)], STEP_NS, replace(ONE, period_ns=period_s * 1_000_000_000))
    assert [trial.pairs for trial in found] == pairs
