# SPDX-License-Identifier: GPL-2.0-or-later
"""The search for the throughput in its parts: brackets, what a trial counts, whose limit it is, which rows state it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.methods import throughput
from irqlab.methods.throughput import MIN_RATE_PPS, NOT_THE_SAME, _is_tester_limited, _Measurer, _not_as_wide
from irqlab.present.variants import Row, Variant
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from tests.unit.fakes import FakeBench, live, stand_on

ALL: Callable[[float], float] = lambda pps: pps  # noqa: E731
NOTHING: Callable[[float], float] = lambda _: 0.0  # noqa: E731


def measurer(forwards: Callable[[float], float], late: bool = False, **workload: Any) -> _Measurer:
    return _Measurer(stand_on(FakeBench(forwards, lambda _: late)), Workload(duration_ns=10**9, **workload))


def tried(found: _Measurer) -> list[float]:
    return [trial.spec.loads[0].rate_pps for trial in found.trials]


# Brackets.


def test_a_collapse_is_halved_down_to_the_lowest_load_and_no_further() -> None:
    found = measurer(NOTHING)
    assert found.bracket(16 * MIN_RATE_PPS) == (MIN_RATE_PPS, 2 * MIN_RATE_PPS)
    assert tried(found) == [1600.0, 800.0, 400.0, 200.0]


def test_a_collapse_is_bisected_until_it_is_narrower_than_the_search() -> None:
    """Of 1 - 2**(-1/256), just wider than 99 % of this width, another half is taken."""
    low, high = measurer(lambda pps: pps if pps < 25_000 else 0.0, relative_width=0.0027).bracket(40_000.0)
    assert (high - low) / high <= 0.99 * 0.0027
    assert low < 25_000 <= high


def test_what_is_tolerated_passes_in_a_bracket_too() -> None:
    low, _ = measurer(lambda pps: 0.95 * pps if pps < 3000 else 0.0, loss_tolerance=0.1).bracket(4000.0)
    assert low >= 2000


def test_around_an_expected_load_the_highest_is_tried_first_if_it_is_the_upper_end() -> None:
    highest = 1000.0 * (1 + 0.1)
    found = measurer(ALL, expected_pps=1000.0, expected_within=0.1)
    assert found.bracket(highest) == (MIN_RATE_PPS, highest)
    assert tried(found) == [highest]


def test_around_an_expected_load_nothing_is_tried_below_the_lowest() -> None:
    found = measurer(NOTHING, expected_pps=300.0, expected_within=0.25)
    low, high = found.bracket(1000.0)
    assert (low, high) == (MIN_RATE_PPS, 225.0 * (1 - 0.5))
    assert min(tried(found)) > MIN_RATE_PPS


def test_a_bracket_just_as_wide_as_the_search_gets_a_little_wider() -> None:
    wider = (90.0 * (1 - NOT_THE_SAME), 100.0)
    assert _not_as_wide(90.0, 100.0, 0.1) == wider
    assert _not_as_wide(90.0, 100.0, 0.1 * (1 + NOT_THE_SAME / 2)) == wider, "to the rounding of loads it is"
    assert _not_as_wide(80.0, 100.0, 0.1) == (80.0, 100.0)


def test_a_search_near_a_known_load_begins_at_it() -> None:
    near = throughput.near(Workload(relative_width=0.002), 1000.0)
    assert near.expected_within == pytest.approx(0.00098)
    assert near.expected_pps is not None
    assert near.expected_pps * (1 - near.expected_within) == pytest.approx(1000.0)
    assert (near.expected_pps * (1 + near.expected_within) - 1000.0) / 1000.0 < 0.002


# What a trial counts.


@pytest.mark.parametrize(("each", "made"), [(1, 1), (2, 2)])
def test_the_bracket_s_trial_counts_once(each: int, made: int) -> None:
    found = measurer(ALL, trials_per_load=each)
    found._trial(1000.0)
    for _ in range(2):
        assert found.measure(1.0, 1000.0).loss_count == 0
    assert len(found.trials) == made


def test_a_late_frame_counts_as_lost_unless_loss_is_tolerated() -> None:
    assert measurer(ALL, late=True).measure(1.0, 1000.0).loss_count == 1
    assert measurer(ALL, late=True, loss_tolerance=0.1).measure(1.0, 1000.0).loss_count == 0


def test_without_the_line_s_limit_more_is_offered_than_it_carries() -> None:
    bench = FakeBench(lambda pps: min(pps, 300_000.0))
    found = throughput.run(stand_on(bench), Workload(duration_ns=10**9, above_line_rate=True))
    assert throughput.rate_per_direction(found) == pytest.approx(300_000, rel=0.003)
    assert found.line_rate_limited is False


# Whose limit it is.


def trial(rate_pps: float, lost: float = 0.0, offered: bool = True) -> ForwardingResult:
    made = FakeBench(lambda pps: (1 - lost) * pps).run(ForwardingTrial((Load(rate_pps),), duration_ns=10**9))
    return replace(made, live=live(unreached="" if offered else "half"))


@pytest.mark.parametrize(
    ("trials", "limited"),
    [
        ([trial(200, 0.5, offered=False)], True),
        ([trial(200, 0.5)], False),
        ([trial(200, 0.5), trial(300, 0.5, offered=False)], False),
        ([trial(200, 0.5, offered=False), trial(300, 0.5)], True),
        ([trial(50, 0.5), trial(200, 0.5, offered=False)], True),
        ([trial(100, 0.5), trial(200, 0.5, offered=False)], True),
        ([trial(150, 0.05), trial(200, 0.5, offered=False)], True),
    ],
    ids=["not offered", "lost", "lost first", "lost later", "lost below", "lost once at the bound", "tolerated"],
)
def test_the_lowest_load_that_failed_above_the_bound_says_whose_limit_it_is(trials: list[Any], limited: bool) -> None:
    found = measurer(ALL, loss_tolerance=0.1)
    found.trials = trials
    assert _is_tester_limited(found, 100.0, 1e9) is limited


@pytest.mark.parametrize(("ceiling_pps", "limited"), [(100.0, True), (101.0, False)])
def test_if_none_failed_it_is_the_tester_s_ceiling(ceiling_pps: float, limited: bool) -> None:
    assert _is_tester_limited(measurer(ALL), 100.0, ceiling_pps) is limited


# Which rows state it.


def row(method: str, pps: float | None = 1.0, size: int = 64) -> Row:
    data = {"method": method, "frame_bytes": size, "bidirectional": False}
    return Row(Variant(0, "d", None), 0, data, SimpleNamespace(total_throughput_pps=pps))


def test_a_throughput_is_stated_by_the_search_else_by_another_method_but_a_profile_or_metrics() -> None:
    loss, own = row("loss"), row("throughput")
    assert throughput.stating([loss, own]) == [own]
    assert throughput.stating([row("throughput", None), loss]) == [loss]
    assert throughput.stating([row("profile"), row("metrics"), row("profile", None), row("loss", None)]) == []
