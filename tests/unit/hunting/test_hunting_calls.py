# SPDX-License-Identifier: GPL-2.0-or-later
"""The hunt in which calls fail, one after the other: which trials are asked for, and what is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from irqlab.dut.kernel_log import KernelProblemError
from irqlab.hunting.cases import Case
from irqlab.hunting.options import Options
from irqlab.hunting.pairs import Limits, Pair
from irqlab.hunting.search import Hunted, hunt, replay
from irqlab.trials.hunt import Failing, HuntResult, HuntTrial, Received
from tests.unit.fake_hunted import Formula, runner_of

NEVER = 99_999
ONE = HuntTrial(1, 0, 0, frames=0, check=True, tolerates=("lost", "late"), failing=Failing(3, 0))
CASE = Case("failures build_skb", "same", replace(ONE, pairs=3, failing=Failing(3, 0, first=NEVER)), ONE)


def numbers(spec: HuntTrial) -> range:
    """Of the calls that fail in a trial."""
    assert spec.failing is not None
    return range(spec.failing.first, spec.failing.first + spec.pairs)


def driver(
    calls: tuple[int, ...],
    stuck: Callable[[range, int], bool],
    fatal: Callable[[range], bool] = lambda _: False,
    missing: tuple[int, ...] = (),
) -> Any:
    """Of a trial's calls, after which of them no frame passes; whether the kernel dies; and which do not come. Frames take
    longer each time."""

    def answer(spec: HuntTrial) -> HuntResult:
        tried = numbers(spec)
        if tried.start != NEVER and fatal(tried):
            raise KernelProblemError(f"BUG: in one of {len(tried)}\nPID: {300 + tried.start} {'odd' * (tried.start % 2)}")
        check = [one for n in tried for one in (1, None if tried.start != NEVER and stuck(tried, n) else 100)]
        first = () if tried.start == NEVER else tuple(10 * n for n in tried)
        failed = tuple(n not in missing for n in tried)
        return HuntResult(spec, Received(first), Received(), (), [], Received(tuple(check)), calls=calls, failed=failed)

    return answer


def hunted(calls: tuple[int, ...], stuck: Any = lambda *_: False, fatal: Any = lambda _: False) -> tuple[Hunted, Formula]:
    runner, testbed = runner_of(driver(calls, stuck, fatal))
    return hunt(runner, CASE, Options(bound=1.0)), testbed


def test_as_many_calls_fail_as_a_pair_has_at_most():
    found, testbed = hunted((4, 6, 5))
    assert testbed.specs == [CASE.alone, replace(ONE, pairs=6)]
    assert found == Hunted(Limits(100, 1_100), ((0, 5),), 1, [Pair(n, 10 * n, "", n) for n in range(6)], [])


def test_a_call_that_does_not_come_was_not_tried():
    runner, _ = runner_of(driver((4,), lambda _, n: n == 2, missing=(2, 3)))
    found = hunt(runner, CASE, Options(bound=1.0))
    assert ([pair.gap_ns for pair in found.pairs], found.findings) == ([0, 1], [])
    assert replay(runner, CASE, Options(at=2))[1] == []
    assert [pair.gap_ns for pair in replay(runner, CASE, Options(at=1))[1]] == [1]


@pytest.mark.parametrize("calls", [(), (0, 0, 0)])
def test_a_function_that_is_not_called_cannot_fail(calls):
    found, testbed = hunted(calls)
    assert found == Hunted(Limits(100, 1_100), (), 1, (), ())
    assert testbed.specs == [CASE.alone]


def test_calls_next_to_each_other_are_one_finding_and_the_first_is_the_one_to_replay():
    found, _ = hunted((8,), lambda _, n: n in (0, 1, 5))
    (finding,) = found.findings
    assert (finding.kind, finding.port, finding.what) == ("failures build_skb", "same", "stuck")
    assert (finding.from_ns, finding.to_ns, finding.at_ns) == (None, None, None)
    assert (finding.instants, finding.number, finding.lead) == (3, 0, 0)
    assert finding.worst_ns == 50
    assert [pair.gap_ns for pair in found.pairs if pair.what] == [0, 1, 5]


def test_calls_far_apart_are_two_findings():
    found, _ = hunted((100,), lambda _, n: n in (2, 90))
    assert [(f.number, f.lead) for f in found.findings] == [(2, 0), (90, 0)]


def test_a_call_that_goes_wrong_only_after_others_failed_has_a_lead():
    found, testbed = hunted((9,), lambda tried, n: n == 7 and n - tried.start >= 3)
    assert [(f.number, f.lead) for f in found.findings] == [(7, 4)]
    assert [list(numbers(spec)) for spec in testbed.specs[2:]] == [[7], [6, 7], [5, 6, 7], [3, 4, 5, 6, 7]]


def test_calls_of_which_the_kernel_dies_with_the_same_message_are_one_finding():
    found, testbed = hunted((5,), fatal=lambda tried: 1 in tried or 3 in tried or 4 in tried)
    assert [(f.kind, f.port, f.what, f.said) for f in found.findings] == [
        ("failures build_skb", "same", "message", "BUG: in one of 1\nPID: 301 odd"),
        ("failures build_skb", "same", "message", "BUG: in one of 1\nPID: 304 "),
    ]
    assert [(f.from_ns, f.to_ns, f.at_ns, f.number, f.instants, f.lead, f.worst_ns) for f in found.findings] == [
        (None, None, None, 1, 2, 0, None),
        (None, None, None, 4, 1, 0, None),
    ]
    assert (found.limits, found.pairs, found.spans, found.step_ns) == (Limits(100, 1_100), [], ((0, 4),), 1)
    assert [list(numbers(spec)) for spec in testbed.specs[2:]] == [[n] for n in range(5)]


def test_a_kernel_that_dies_only_if_all_calls_fail_is_one_finding():
    found, _ = hunted((5,), fatal=lambda tried: len(tried) == 5)
    (finding,) = found.findings
    assert (finding.kind, finding.port, finding.what, finding.said) == (
        "failures build_skb",
        "same",
        "message",
        "BUG: in one of 5\nPID: 300 ",
    )
    assert (finding.at_ns, finding.number, finding.instants, finding.lead) == (None, 4, 5, 4)
    assert finding.worst_ns is None


def replayed(at: int, lead: int = 0, **options: int) -> tuple[list[Pair], Formula]:
    runner, testbed = runner_of(driver((8, 7), lambda tried, n: n == 5 and n - tried.start >= 2))
    _, pairs = replay(runner, CASE, Options(at=at, lead=lead, **options))
    return pairs, testbed


def test_a_call_is_replayed_with_those_before_it():
    pairs, testbed = replayed(5, lead=2, repeat=3)
    assert [(pair.gap_ns, pair.what) for pair in pairs] == [(5, "stuck")] * 3
    assert [list(numbers(spec)) for spec in testbed.anew] == [[3, 4, 5]] * 3
    pairs, testbed = replayed(5, lead=1)
    assert [pair.what for pair in pairs] == [""]


def test_there_are_no_calls_before_the_first():
    _, testbed = replayed(1, lead=4)
    assert [list(numbers(spec)) for spec in testbed.anew] == [[0, 1]]


def test_a_call_that_does_not_come_is_not_replayed():
    assert [len(replayed(at)[0]) for at in (7, 8, 9)] == [1, 0, 0]
    assert not replayed(8)[1].anew


def test_a_function_that_is_not_called_is_not_replayed():
    runner, _ = runner_of(driver((), lambda *_: False))
    assert replay(runner, CASE, Options(at=0, bound=1.0)) == (Limits(100, 1_100), [])
