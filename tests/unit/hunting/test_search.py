# SPDX-License-Identifier: GPL-2.0-or-later
"""The search: which trials are asked for, what is judged by, and how what was found is made small."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from irqlab.debug.evidence import Replay, replay_of
from irqlab.dut.agent import NotSupportedError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.errors import IrqlabError
from irqlab.hunting import paths, search
from irqlab.hunting.cases import Case
from irqlab.hunting.findings import Finding
from irqlab.hunting.options import Options
from irqlab.hunting.pairs import Limits, Pair
from irqlab.hunting.search import Hunted, NotAloneError, alone_of, hunt, led, step_of
from irqlab.qemu.cancellation import CancelledError
from irqlab.qemu.failure import MachineError
from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial, Received, Step, Transmitted
from tests.unit.fake_hunted import runner_of

ALONE_NS = 20_000
PERIOD_NS = HuntTrial.period_ns
ONE = HuntTrial(1, 0, 0)
CASE = Case("arrivals", "same", replace(ONE, pairs=2, frames=0), ONE)
BUSY = (10_000, 12_000)
"""When the DUT of `answers` executes after a frame, but for the margins."""
FIRST, LAST = 0, 12_400
"""The instants that are tried because of it: a frame takes longer than it takes to begin, so the first is at once."""


@pytest.fixture(autouse=True)
def without_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/unit/hunting/test_paths.py has them."""
    monkeypatch.setattr(search, "hunt_paths", lambda *_: None)


def alone(spec: HuntTrial) -> HuntResult:
    origins = [SETTLE_NS + n * spec.period_ns for n in range(spec.pairs)]
    halts = [(0, origins[0] + BUSY[0]), *((at + BUSY[1], at + spec.period_ns - 1) for at in origins)]
    return HuntResult(spec, Received((ALONE_NS,) * spec.pairs * spec.first_frames), Received(), tuple(halts[:2]), [])


def answers(wrong: Any = lambda *_: False, fails: Any = lambda _: False, **more: Any) -> Any:
    """A DUT. `wrong`: of a gap and the pair's number, whether it is late; `fails`: of a trial's gaps, whether the kernel dies."""

    def answer(spec: HuntTrial) -> HuntResult:
        if not spec.frames and not spec.interrupt:
            return alone(spec)
        if fails(spec.gaps_ns):
            raise KernelProblemError("\n".join(f"line {n}" for n in range(20)))
        late = [PERIOD_NS - gap if wrong(gap, number) else ALONE_NS for number, gap in enumerate(spec.gaps_ns)]
        if late[-1] != ALONE_NS:
            late[-1] = None  # no frame comes that would wake it up
        second = Received(tuple(one for one in late for _ in range(spec.frames)), **more)
        return HuntResult(spec, Received((ALONE_NS,) * spec.pairs), second, (), [])

    return answer


def hunted(answer: Any, case: Case = CASE, **options: Any) -> tuple[Hunted, list[HuntTrial]]:
    runner, testbed = runner_of(answer)
    found = hunt(runner, case, Options(**options))
    return found, [spec for spec in testbed.specs if (spec.frames or spec.interrupt) and not spec.last_alone]


def test_the_instants_are_those_at_which_the_dut_executes_and_those_a_frame_earlier():
    found, asked = hunted(answers(), step=100)
    assert (found.spans, found.step_ns) == ([(FIRST, LAST)], 400)
    assert [(trial.pairs, trial.first_gap_ns, trial.step_ns) for trial in asked] == [(32, 0, 400)]
    assert found.pairs == [Pair(400 * n, ALONE_NS, "", n) for n in range(32)]
    assert (found.findings, found.limits) == ([], Limits(ALONE_NS, ALONE_NS + 100_000))


def test_a_slower_processor_takes_longer_for_an_instruction():
    runner, testbed = runner_of(answers())
    assert step_of(runner, Options(step=3)) == 12
    testbed.config = replace(testbed.config, mips=1_000)
    assert step_of(runner, Options(step=3)) == 3


def test_instants_at_which_the_frames_at_the_end_of_a_pair_come_are_not_tried():
    def busy(spec: HuntTrial) -> HuntResult:
        found = alone(spec) if not spec.frames else answers()(spec)
        check = Received((1, ALONE_NS) * spec.pairs)
        halts = ((0, SETTLE_NS + 10), (SETTLE_NS + PERIOD_NS - 8, SETTLE_NS + PERIOD_NS - 4)) if not spec.frames else ()
        return replace(found, check=check, halts=halts)

    case = Case("x", "same", replace(CASE.alone, check=True), replace(ONE, check=True))
    found, _ = hunted(busy, case, step=250)
    bound_ns = ALONE_NS + 100_000
    assert found.spans == [(0, (PERIOD_NS - 4_000_000 - bound_ns - 1) // 1_000 * 1_000)]


@pytest.mark.parametrize(("instants", "step_ns"), [(3_101, 4), (3_100, 8), (1_550, 12), (10, 4 * 311)])
def test_the_step_grows_until_no_more_instants_are_left_than_the_limit(instants, step_ns):
    found, asked = hunted(answers(), replace(CASE, instants=instants))
    assert found.step_ns == step_ns
    assert found.spans == [(0, LAST // step_ns * step_ns)]
    assert {trial.step_ns for trial in asked} == {step_ns}
    assert len(found.pairs) <= instants


def test_a_range_in_which_the_dut_halts_is_refused():
    with pytest.raises(IrqlabError, match=r"^--from, --until: the DUT halts in the whole of that time"):
        hunted(answers(), begin=20_000, end=30_000)


def test_the_progress_says_how_many_trials_are_done():
    said: list[str] = []
    runner, _ = runner_of(answers(), said)
    hunt(runner, replace(CASE, port="other"), Options(step=500, begin=8_000))
    assert said == ["arrivals, other port, instants: 1 of 1"]


def test_a_finding_has_the_shortest_trial_that_shows_it():
    found, _ = hunted(answers(lambda gap, number: gap == 8_000 and number >= 3), step=100)
    (finding,) = found.findings
    assert (finding.kind, finding.port, finding.what, finding.at_ns, finding.lead) == ("arrivals", "same", "left", 8_000, 4)
    assert finding.replay == replay_of(HuntTrial(5, 8_000 - 4 * 400, 400))


@pytest.mark.parametrize(
    ("needs", "lead", "tried"), [(0, 0, [0]), (1, 1, [0, 1]), (3, 4, [0, 1, 2, 4]), (20, 20, [0, 1, 2, 4, 8, 16, 20])]
)
def test_no_pairs_then_powers_of_two_and_then_all_pairs_of_the_trial_are_tried_before_a_finding(needs, lead, tried):
    found, asked = hunted(answers(lambda gap, number: gap == 8_000 and number >= needs), step=100)
    assert found.findings[0].lead == lead
    assert [trial.pairs - 1 for trial in asked[1:]] == tried


def test_a_finding_that_no_shorter_trial_shows_has_no_replay():
    times = iter([True])
    found, _ = hunted(answers(lambda gap, _: gap == 8_000 and next(times, False)), step=100)
    (finding,) = found.findings
    assert (finding.at_ns, finding.lead, finding.replay) == (8_000, None, None)


def test_a_shorter_trial_in_which_the_dut_fails_shows_a_finding():
    found, _ = hunted(answers(lambda gap, _: gap == 8_000, lambda gaps: len(gaps) == 1), step=100)
    assert found.findings[0].lead == 0


def test_the_dut_fails_at_one_instant():
    found, asked = hunted(answers(fails=lambda gaps: 8_000 in gaps), step=100)
    (finding,) = found.findings
    assert (finding.kind, finding.port, finding.what) == ("arrivals", "same", "message")
    assert (finding.from_ns, finding.to_ns, finding.at_ns, finding.instants, finding.lead) == (8_000, 8_000, 8_000, 1, 0)
    assert finding.worst_ns is None
    assert found.pairs == []
    # 32 instants, of which the 21st is fatal
    halves = [(32, 0), (16, 0), (16, 16), (8, 16), (4, 16), (4, 20), (2, 20), (1, 20)]
    assert [(trial.pairs, trial.first_gap_ns // 400) for trial in asked] == halves


def test_the_dut_fails_only_after_several_instants():
    found, _ = hunted(answers(fails=lambda gaps: {7_600, 8_000} <= set(gaps)), step=100)
    (finding,) = found.findings
    assert (finding.from_ns, finding.to_ns, finding.at_ns, finding.instants, finding.lead) == (6_400, 9_200, 9_200, 8, 7)


def test_a_dut_that_fails_in_neither_half_of_a_trial_has_the_whole_trial_in_its_finding():
    found, _ = hunted(answers(fails=lambda gaps: {6_000, 6_400} <= set(gaps)), step=100)
    (finding,) = found.findings
    assert (finding.at_ns, finding.instants, finding.lead) == (12_400, 32, 31)
    assert finding.said.startswith("line 0\nline 1")


def test_an_odd_number_of_instants_is_halved():
    found, asked = hunted(answers(fails=lambda gaps: 12_000 in gaps), step=100, begin=10_800)
    assert [(trial.pairs, trial.first_gap_ns) for trial in asked] == [
        (5, 10_800),
        (2, 10_800),
        (3, 11_600),
        (1, 11_600),
        (2, 12_000),
        (1, 12_000),
    ]
    assert found.findings[0].at_ns == 12_000


def test_a_finding_keeps_the_first_lines_of_a_message():
    found, _ = hunted(answers(fails=lambda gaps: 8_000 in gaps), step=100)
    assert found.findings[0].said == "\n".join(f"line {n}" for n in range(12))


def test_trials_after_one_in_which_the_dut_failed_are_judged():
    found, _ = hunted(answers(lambda gap, _: gap == 8_000, lambda gaps: 400 in gaps))
    assert [finding.what for finding in found.findings] == ["left", "message"]
    assert [pair.gap_ns for pair in found.pairs] == list(range(4_000, LAST + 1, 4))


def test_a_pair_in_which_a_frame_came_out_once_more_is_a_finding():
    found, _ = hunted(answers(repeats=((5, 900),)), replace(CASE, port="other"), step=100)
    assert [(f.what, f.port, f.instants, f.at_ns) for f in found.findings] == [("duplicated", "other", 1, 5 * 400)]


SHOWN = Replay({}, 0, 0)
"""Of a finding that can be seen again."""


def by_paths(monkeypatch: pytest.MonkeyPatch, what: str, address: int, replay: Replay | None) -> None:
    """By paths such a pair was found before this instruction, and it is a finding or not."""
    monkeypatch.setattr(search, "hunt_paths", lambda *_: paths.Tried())
    one = Finding("arrivals", "same", what, None, None, 1, 3, 5, None, pc=address, replay=replay)
    monkeypatch.setattr(search, "found_on_paths", lambda *_: [(one, frozenset({(address, "late")}))])


@pytest.mark.parametrize(
    ("what", "address", "pc", "replay", "told"),
    [
        ("left", 100, 100, SHOWN, [5]),
        ("left", 100, 101, SHOWN, [5, 5 * 400]),
        ("held", 100, 100, SHOWN, [5 * 400]),
        ("left", 0, 0, SHOWN, [5, 5 * 400]),
        ("left", 100, 100, None, [5 * 400]),
        ("left", 100, 101, None, [5, 5 * 400]),
    ],
)
def test_what_paths_have_found_too_is_one_finding_that_can_be_seen_again(
    what: str, address: int, pc: int, replay: Replay | None, told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_paths(monkeypatch, what, address, replay)
    found, _ = hunted(answers(lambda gap, _: gap == 5 * 400, pcs=(pc,) * 32), step=100)
    assert [finding.at_ns for finding in found.findings] == told


def cut_at(gap_ns: int) -> Any:
    """A DUT of which the user has enough when that instant is tried."""
    gone = False

    def answer(spec: HuntTrial) -> HuntResult:
        nonlocal gone
        gone = gone or (bool(spec.frames) and gap_ns in spec.gaps_ns)
        if gone:
            raise CancelledError("stopped")
        return answers(lambda gap, _: gap == 40)(spec)

    return answer


def test_what_was_tried_before_an_interruption_is_kept():
    found, asked = hunted(cut_at(4_000))
    assert [trial.pairs for trial in asked] == [*[1_000] * 3, 101, 1], "the last looks for the shortest trial, in vain"
    assert (len(found.pairs), found.planned) == (1_000, 3_101)
    (finding,) = found.findings
    assert (finding.what, finding.at_ns, finding.lead, finding.replay) == ("late", 40, None, None)


def test_a_hunt_that_was_not_interrupted_has_tried_everything():
    assert hunted(answers())[0].planned is None


def test_where_the_processor_was_is_known_of_the_first_frame_of_each_burst():
    pcs = tuple(range(100, 112))
    case = replace(CASE, trial=replace(ONE, frames=3))
    found, _ = hunted(answers(pcs=pcs), case, step=1_000)
    assert found.pcs == {100, 103, 106, 109}


def test_interrupts_without_frames_have_a_place_too():
    case = replace(CASE, trial=replace(ONE, frames=0, interrupt=True))
    found, _ = hunted(answers(pcs=(100, 101, 102, 103)), case, step=1_000)
    assert found.pcs == {100, 101, 102, 103}


STEPS = replace(CASE, kind="mtu", port="other", trial=replace(ONE, steps=(Step(0, "/a", "b"),)))


@pytest.mark.parametrize("error", [KernelProblemError("BUG: bad"), MachineError("BUG: bad")])
def test_a_change_that_goes_wrong_without_a_frame_meanwhile_is_a_finding(error):
    def dies(spec: HuntTrial) -> HuntResult:
        raise error

    found, _ = hunted(dies, STEPS, step=3)
    (finding,) = found.findings
    assert (finding.kind, finding.port, finding.what, finding.said) == ("mtu", "other", "message", "BUG: bad")
    assert (finding.from_ns, finding.to_ns, finding.instants, finding.worst_ns) == (None, None, 1, None)
    assert (finding.at_ns, finding.lead, finding.replay) == (None, None, None)
    assert found == Hunted(Limits(0, 0), (), 12, (), [finding])


@pytest.mark.parametrize(
    ("case", "error"),
    [
        (CASE, KernelProblemError("BUG: bad")),
        (STEPS, CancelledError("stopped")),
        (STEPS, NotSupportedError("not supported")),
    ],
)
def test_without_a_change_or_if_it_was_stopped_an_error_is_no_finding(case, error):
    def dies(spec: HuntTrial) -> HuntResult:
        raise error

    with pytest.raises(type(error)):
        hunted(dies, case)


def limits_of(case: Case, options: Options, schemes: dict[str, Any] | None = None, **found: Any) -> Limits:
    def answer(spec: HuntTrial) -> HuntResult:
        return HuntResult(spec, **{"first": Received(), "second": Received(), "halts": (), "kernel_log": []} | found)

    runner, testbed = runner_of(answer, schemes=schemes)
    limits, result = alone_of(runner, case, options)
    assert testbed.specs == [case.alone] == [result.spec]
    return limits


@pytest.mark.parametrize("longest", ["first", "second"])
def test_what_takes_longer_than_the_longest_frame_that_came_alone_is_judged_by_it(longest):
    frames = {"first": Received((5, 30)), "second": Received((30, 30))} | {longest: Received((5, 700, 40))}
    assert limits_of(CASE, Options(bound=2.5), **frames) == Limits(700, 3_200)


def test_of_the_frames_at_the_end_of_a_pair_only_the_last_one_has_to_arrive():
    assert limits_of(CASE, Options(bound=1.0), check=Received((None, 50, 9_000, 60))) == Limits(60, 1_060)


def test_a_burst_may_take_as_often_as_long_as_it_has_frames():
    assert limits_of(CASE, Options(bound=1.0, burst=3), first=Received((50,))) == Limits(50, 1_150)


@pytest.mark.parametrize(
    ("found", "lost"),
    [
        ({"first": Received((5, None, None))}, "2 of 3"),
        ({"first": Received((5,)), "check": Received((5, None))}, "1 of 2"),
        ({"first": Received((5,)), "second": Received((None,))}, "1 of 2"),
        ({}, "0 of 0"),
    ],
)
def test_nothing_is_hunted_if_frames_that_come_alone_are_lost(found, lost):
    case = replace(CASE, alone=replace(CASE.alone, period_ns=3_500_000))
    with pytest.raises(NotAloneError, match=rf"^{lost} frames that came alone, 3.5 ms apart, never came out$"):
        limits_of(case, Options(), **found)


SENDING = replace(CASE, trial=replace(ONE, transmits=True))


@pytest.mark.parametrize("schemes", [None, {"tx_usecs": 0}, {"tx_usecs": None}])
def test_packets_have_to_be_freed_hardly_later_than_alone(schemes):
    sent = (Transmitted(1, 40), Transmitted(2, 900), Transmitted(3, None))
    found = limits_of(SENDING, Options(bound=2.0), schemes, first=Received((50,)), transmitted=sent)
    assert found == Limits(50, 2_050, 900, 2_900)


def test_packets_may_be_kept_as_long_as_the_driver_is_told_to():
    sent = (Transmitted(1, 900),)
    found = limits_of(SENDING, Options(bound=2.0), {"tx_usecs": 64.5}, first=Received((50,)), transmitted=sent)
    assert found == Limits(50, 2_050, 900, 66_500)


def test_without_packets_only_the_bound_is_left():
    assert limits_of(SENDING, Options(bound=2.0), first=Received((50,))) == Limits(50, 2_050, 0, 2_000)


def test_a_lead_ends_with_the_instant():
    assert led(replace(ONE, step_ns=4), 100, 25) == replace(ONE, step_ns=4, pairs=26, first_gap_ns=0)
    with pytest.raises(IrqlabError, match=r"^--lead 26: before --at 103 there are only 25 instants$"):
        led(replace(ONE, step_ns=4), 103, 26)
