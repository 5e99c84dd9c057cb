# SPDX-License-Identifier: GPL-2.0-or-later
"""Two processors that take turns: which schedules are tried, and what is said about those that go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from irqlab.dut.kernel_log import KernelProblemError
from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case
from irqlab.hunting.findings import Finding, Place
from irqlab.hunting.options import Options
from irqlab.hunting.pairs import Limits, Pair
from irqlab.hunting.processors import hunt_processors, replayed, schedules
from irqlab.hunting.search import hunt, replay
from irqlab.profile.listing import Instruction, Listing
from irqlab.trials.hunt import HuntResult, HuntTrial, Received, Switches
from tests.unit.fake_hunted import Formula, runner_of

ALONE_NS = 20_000
BASE = 0x1000
"""Where the driver's code is; each instruction takes 8 bytes."""
CODE = ((BASE, BASE + 8_000),)
ONE = HuntTrial(1, 0, 0, other_port=True, switches=Switches(CODE))
CASE = Case("processors", "other", replace(ONE, pairs=2), ONE)
Points = tuple[int, ...]


def asked(instructions: int, **options: int) -> list[Points]:
    return schedules(instructions, Options(what="processors", **options))


def test_one_switch_is_tried_before_every_instruction_with_either_processor_first():
    assert asked(3) == [(0,), (1,), (2,), (0, 1), (0, 2)]


def test_instructions_may_be_left_out():
    assert asked(3, step=2) == [(0,), (2,), (0, 2)]


@pytest.mark.parametrize(
    ("instants", "found"), [(5, [(0,), (1,), (2,), (0, 1), (0, 2)]), (4, [(0,), (2,), (0, 2)]), (2, [(0,), (0, 1)])]
)
def test_the_schedules_can_be_limited(instants, found):
    assert asked(3, instants=instants) == found


def test_several_switches_are_chosen_by_the_seed():
    one, again, other = (asked(1_000, switches=3, hunt_seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len(one) == 2_000
    assert all(len(set(points)) == 3 and points == tuple(sorted(points)) and points[-1] < 1_000 for points in one)


def test_several_switches_are_before_any_instruction():
    assert {point for points in asked(4, switches=2) for point in points} == {0, 1, 2, 3}
    assert asked(2, switches=2, instants=7) == [(0, 1)] * 7


def dut(
    lost: Callable[[Points, int], bool] = lambda *_: False,
    hangs: Callable[[tuple[Points, ...]], bool] = lambda _: False,
    passed: tuple[int, ...] = (300, 299),
    latency_ns: Callable[[Points], int] = lambda _: ALONE_NS + 1,
    **more: int,
) -> Any:
    """Of a schedule and its number in the trial, whether a frame is lost; of a trial's schedules, whether the DUT hangs."""

    def answer(spec: HuntTrial) -> HuntResult:
        assert spec.switches is not None
        assert spec.switches.code == CODE
        points = spec.switches.points
        first = Received((ALONE_NS,) * spec.pairs)
        if not points:
            return HuntResult(spec, first, first, (), [], passed=passed)
        assert len(points) == spec.pairs
        if hangs(points):
            raise KernelProblemError("\n".join(["BUG: double free", *map(str, range(20))]))
        second = tuple(None if lost(one, number) else latency_ns(one) for number, one in enumerate(points))
        switched = tuple((pair, n % 2, BASE + 8 * point) for pair, one in enumerate(points) for n, point in enumerate(one))
        return HuntResult(spec, first, Received(second, **more), (), [], passed=passed, switched=switched)

    return answer


LISTING = Listing([Instruction(BASE + 8 * n, f"mov {n}", "reclaim", f"tx.c:{n}", BASE + 8 * n + 8) for n in range(250)])


def hunted(answer: Any, said: list[str] | None = None, **options: int) -> tuple[list[Pair], list[Finding], Formula]:
    runner, testbed = runner_of(answer, said)
    limits = Limits(ALONE_NS, 2 * ALONE_NS)
    alone = runner.trial(CASE.alone)
    judged, found, planned = hunt_processors(runner, CASE, limits, alone, Options(what="processors", **options), lambda: LISTING)
    assert planned is None
    return judged, found, testbed


def leads(testbed: Formula, trials: int) -> list[int]:
    """How many pairs came before in the trials after those that try everything."""
    return [spec.pairs - 1 for spec in testbed.specs[1 + trials :]]


def test_each_schedule_is_tried_once_in_trials_of_250():
    judged, found, testbed = hunted(dut())
    assert [spec.pairs for spec in testbed.specs[1:]] == [250, 250, 99]
    assert tuple(points for spec in testbed.specs[1:] for points in spec.switches.points) == tuple(asked(300))
    assert judged == [Pair(n, ALONE_NS + 1, "", n % 250) for n in range(599)]
    assert found == []


def test_the_progress_says_how_many_schedules_there_are():
    said: list[str] = []
    hunted(dut(), said)
    assert said == ["processors, 599 schedules: 3 of 3"]


def test_schedules_next_to_each_other_that_go_wrong_are_a_finding_with_the_number_of_the_first():
    judged, (finding,), _ = hunted(dut(lambda points, _: points in [(7,), (8,), (9,)]))
    assert (finding.kind, finding.port, finding.what, finding.instants) == ("processors", "other", "lost", 3)
    assert (finding.number, finding.lead, finding.switches) == (7, 0, "7")
    assert (finding.from_ns, finding.to_ns) == (None, None)
    assert finding.places == (Place(0, "reclaim", "mov 7", "tx.c:7", BASE + 56),)
    assert [pair.gap_ns for pair in judged if pair.what] == [7, 8, 9]


def test_the_first_schedule_is_the_one_to_replay_though_a_later_one_is_worse():
    """Those after it may go wrong because of it."""
    late = {(7,): 50_000, (8,): 90_000}
    _, (finding,), _ = hunted(dut(latency_ns=lambda points: late.get(points, ALONE_NS)))
    assert (finding.what, finding.number, finding.switches, finding.worst_ns) == ("late", 7, "7", 90_000)


def test_the_first_schedule_of_all_may_go_wrong():
    _, (finding,), _ = hunted(dut(lambda points, _: points == (0,)))
    assert (finding.number, finding.switches) == (0, "0")


def test_a_finding_says_where_both_processors_gave_way_in_a_later_trial():
    _, (finding,), _ = hunted(dut(lambda points, _: points == (0, 211)))
    assert (finding.number, finding.switches) == (300 + 210, "0, 211")
    assert finding.places == (
        Place(0, "reclaim", "mov 0", "tx.c:0", BASE),
        Place(1, "reclaim", "mov 211", "tx.c:211", BASE + 8 * 211),
    )


def test_a_place_of_which_nothing_is_known_is_an_address():
    _, (finding,), _ = hunted(dut(lambda points, _: points == (260,)))
    assert finding.places == (Place(0, "", "", "", BASE + 8 * 260),)


@pytest.mark.parametrize(("needs", "lead", "tried"), [(0, 0, [0]), (3, 4, [0, 1, 2, 4]), (10, 10, [0, 1, 2, 4, 8, 10])])
def test_a_finding_has_the_shortest_trial_that_shows_it(needs, lead, tried):
    _, (finding,), testbed = hunted(dut(lambda points, number: points == (260,) and number >= needs))
    assert (finding.number, finding.lead) == (260, lead)
    assert leads(testbed, 3) == tried
    assert testbed.specs[-1].switches.points == tuple((n,) for n in range(260 - lead, 261))


def test_of_four_findings_the_shortest_trials_are_looked_for():
    _, found, testbed = hunted(dut(lambda points, _: len(points) == 1 and points[0] % 70 == 5))
    assert [(one.number, one.lead) for one in found] == [(5, 0), (75, 0), (145, 0), (215, 0), (285, None)]
    assert leads(testbed, 3) == [0] * 4


def test_a_frame_that_comes_out_once_more_is_a_finding_too():
    _, found, _ = hunted(dut(repeats=((7, 900),)))
    assert [(one.kind, one.port, one.what, one.instants) for one in found] == [("processors", "other", "duplicated", 1)] * 3


def test_a_schedule_with_which_the_dut_hangs_is_found():
    judged, (finding,), testbed = hunted(dut(hangs=lambda points: (260,) in points))
    assert (finding.kind, finding.port, finding.what, finding.instants) == ("processors", "other", "message", 1)
    assert (finding.number, finding.lead, finding.switches) == (260, 0, "260")
    assert (finding.from_ns, finding.to_ns, finding.worst_ns) == (None, None, None)
    assert finding.said == "\n".join(["BUG: double free", *map(str, range(11))])
    assert {pair.gap_ns for pair in judged} == {*range(250), *range(500, 599)}
    assert testbed.specs[-1].switches.points == ((260,),)


def test_a_dut_that_hangs_only_after_some_schedules_has_them_in_its_finding():
    said: list[str] = []
    _, (finding,), _ = hunted(dut(hangs=lambda points: {(260,), (285,)} <= set(points)), said)
    assert [text for text in said if "failed" in text] == [
        f"the DUT failed in {count} pairs, looking for fewer" for count in (250, 125, 62)
    ]
    # 250 to 499, 250 to 374, 250 to 311; neither 250 to 280 nor 281 to 311
    assert (finding.number, finding.instants, finding.lead, finding.switches) == (311, 62, 61, "0, 12")


def test_a_dut_that_hangs_in_neither_half_of_a_trial_has_the_whole_trial_in_its_finding():
    _, (finding,), _ = hunted(dut(hangs=lambda points: {(124,), (125,)} <= set(points)))
    assert (finding.number, finding.instants, finding.lead, finding.switches) == (249, 250, 249, "249")
    assert finding.said.startswith("BUG: double free")


def test_findings_and_hangs_are_both_reported():
    judged, found, _ = hunted(dut(lambda points, _: points == (7,), lambda points: (260,) in points))
    assert [(one.what, one.number) for one in found] == [("message", 260), ("lost", 7)]
    assert [pair.gap_ns for pair in judged if pair.what] == [7]


def test_a_driver_that_executes_nothing_is_refused():
    for passed in ((), (0, 0)):
        with pytest.raises(IrqlabError, match=r"^--what processors: the driver executed nothing$"):
            hunted(dut(passed=passed))


def test_there_must_be_as_many_instructions_as_switches():
    with pytest.raises(IrqlabError, match=r"^--switches 16: in a pair the driver executes 15 instructions$"):
        hunted(dut(passed=(14, 15)), switches=16)
    judged, _, _ = hunted(dut(passed=(14, 15)), switches=15)
    assert len(judged) == 2_000


def replay_of(at: int, lead: int = 0) -> HuntTrial | None:
    runner, _ = runner_of(dut(passed=(3, 2)))
    return replayed(CASE, runner.trial(CASE.alone), Options(what="processors", at=at, lead=lead))


def test_a_schedule_is_replayed_by_its_number():
    assert replay_of(1) == replace(ONE, pairs=1, switches=Switches(CODE, ((1,),)))
    assert replay_of(3, lead=2) == replace(ONE, pairs=3, switches=Switches(CODE, ((1,), (2,), (0, 1))))
    assert replay_of(4, lead=4) is not None


def test_a_schedule_that_there_is_not_is_not_replayed():
    assert replay_of(5) is None


def test_there_must_be_as_many_schedules_before_one_that_is_replayed():
    with pytest.raises(IrqlabError, match=r"^--lead 4: before --at 3 there are only 3 schedules$"):
        replay_of(3, lead=4)


def test_a_hunt_of_processors_is_a_search_for_schedules(monkeypatch):
    monkeypatch.setattr("irqlab.hunting.search.listing", lambda testbed: LISTING if testbed is not None else None)
    runner, _ = runner_of(dut(lambda points, _: points == (7,)))
    found = hunt(runner, CASE, Options(what="processors", bound=10.0))
    assert (found.limits, found.spans, found.step_ns) == (Limits(ALONE_NS, ALONE_NS + 10_000), (), 1)
    assert (len(found.pairs), [(one.number, one.places[0].function) for one in found.findings]) == (599, [(7, "reclaim")])


def test_a_schedule_is_replayed_as_often_as_asked_for():
    runner, testbed = runner_of(dut(lambda points, _: points == (7,)))
    limits, pairs = replay(runner, CASE, Options(what="processors", at=7, lead=1, repeat=2))
    assert [(pair.gap_ns, pair.what) for pair in pairs] == [(7, "lost")] * 2
    assert [spec.switches.points for spec in testbed.anew] == [((6,), (7,))] * 2
    assert replay(runner, CASE, Options(what="processors", at=599)) == (limits, [])
