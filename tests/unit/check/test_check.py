# SPDX-License-Identifier: GPL-2.0-or-later
"""The checklist: its rows, its budget, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from irqlab import units
from irqlab.check import answer, beside, catalogue, session
from irqlab.check.clock import LEAST_S, Budget
from irqlab.check.row import (
    FAIL,
    NOT_COVERED,
    NOT_SUPPORTED,
    PASS,
    Outcome,
    Row,
    Tally,
    Workplace,
    failed,
    not_covered,
    not_supported,
    passed,
)
from irqlab.check.session import Checked
from irqlab.check.subject import Subject
from irqlab.config.testbed import TestbedConfig
from irqlab.dut.agent import DutError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.errors import IrqlabError
from irqlab.qemu.cancellation import Cancellation, CancelledError
from irqlab.qemu.failure import MachineError
from irqlab.report import render
from irqlab.report.check import page
from irqlab.runner.progress import ProgressDisplay


class FakeTestbed:
    """Comes up, or raises an error."""

    def __init__(self, error: IrqlabError | None = None) -> None:
        self.config = TestbedConfig("formula", cached=False)
        self.error = error
        self.label = self.driver = "formula"
        self.where = "paper"
        self.nic = SimpleNamespace(model="paper", wrong={"numbers-kept": "the model forgets"})
        self.machine = SimpleNamespace(kernel=SimpleNamespace(release="6.1"))
        self.parts: dict[str, Any] = {}

    @property
    def prepared(self) -> None:
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_dut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subject, "facts", None)


def check(rows: list[Row], testbed: FakeTestbed | None = None, budget: Budget | None = None) -> Checked:
    testbed = testbed or FakeTestbed()
    checked = Checked(testbed, 60.0)  # type: ignore[arg-type]
    with ProgressDisplay() as display:
        session.check(testbed, rows, budget or Budget(60.0, 1), 1, display, checked)  # type: ignore[arg-type]
    return checked


def row(name: str, run: Any, **more: Any) -> Row:
    return Row(name, name.title(), "Life", run, **more)


def noted(names: list[str], name: str) -> Callable[[Workplace], Outcome]:
    """What a row runs: it notes that it ran."""

    def run(_: Workplace) -> Outcome:
        names.append(name)
        return passed("")

    return run


def test_a_row_has_one_of_four_results() -> None:
    def broken(_: Workplace) -> Outcome:
        raise KernelProblemError("the DUT's kernel logged a problem: BUG\n  BUG")

    def lab(_: Workplace) -> Outcome:
        raise IrqlabError("no such module")

    checked = check(
        [
            row("good", lambda _: passed("all is well")),
            row("bad", broken),
            row("lab", lab),
            row("cannot", lambda _: passed(""), needs=lambda _: not_supported("ethtool -g: no")),
        ]
    )
    assert {name: done.outcome.status for name, done in checked.done.items()} == {
        "good": PASS,
        "bad": FAIL,
        "lab": NOT_COVERED,
        "cannot": NOT_SUPPORTED,
    }
    assert checked.done["bad"].outcome.evidence == ("  BUG",)
    assert answer.sentence(checked) == (
        "formula on paper, Linux 6.1 is not correct: 1 row failed (bad), 1 passed; 1 not supported and 1 not covered."
    )


def test_what_was_done_is_told_if_the_dut_dies() -> None:
    def run(place: Workplace) -> Outcome:
        place.doing = "another MTU: call 3 failed"
        raise MachineError("the DUT hangs")

    assert check([row("one", run)]).done["one"].outcome == failed(
        "another MTU: call 3 failed: the DUT hangs", kinds=["the DUT hangs"]
    )


def test_what_the_model_does_wrong_is_not_the_drivers_fault() -> None:
    checked = check([row("numbers-kept", lambda _: failed("rx_packets fell"))])
    assert checked.done["numbers-kept"].outcome == not_covered("paper: the model forgets")


def test_a_driver_that_does_not_come_up() -> None:
    ran: list[str] = []
    rows = [row("life-up", lambda _: passed("")), row("other", noted(ran, "other"))]
    checked = check(rows, FakeTestbed(DutError("no frames pass")))
    assert checked.done["life-up"].outcome == failed("no frames pass", kinds=["no frames pass"])
    assert checked.done["other"].outcome.status == NOT_COVERED
    assert "does not come up" in checked.done["other"].outcome.said
    assert not ran


def test_what_no_time_is_left_for_is_no_pass() -> None:
    spent = [0.0]

    def slow(_: Workplace) -> Outcome:
        spent[0] += 100.0
        return passed("slow")

    checked = check([row("first", slow, risk=9), row("second", slow)], budget=Budget(60.0, 1, lambda: spent[0]))
    assert checked.done["first"].outcome.status == PASS
    assert checked.done["second"].outcome.status == NOT_COVERED
    assert "60 s was used up" in checked.done["second"].outcome.said


def test_a_row_is_sampled_if_others_took_a_little_too_long() -> None:
    spent, given = [0.0], []

    def slow(place: Workplace) -> Outcome:
        given.append(place.allowance.seconds)
        spent[0] += 62.0
        return passed("slow")

    rows = [row("first", slow, risk=9), row("second", slow, risk=8), row("third", slow)]
    checked = check(rows, budget=Budget(60.0, 1, lambda: spent[0]))
    assert [checked.done[name].outcome.status for name in ("first", "second", "third")] == [PASS, PASS, NOT_COVERED]
    assert given == [20.0, LEAST_S]


def test_the_riskiest_rows_come_first() -> None:
    order: list[str] = []

    check([row("a", noted(order, "a"), risk=1), row("b", noted(order, "b"), risk=9)])
    assert order == ["b", "a"]


def test_a_rows_time_is_its_share_of_what_is_left() -> None:
    now = [0.0]
    budget = Budget(100.0, 2, lambda: now[0])
    for name, share in (("a", 1.0), ("b", 3.0)):
        budget.register(name, share)
    first = budget.allow("a")
    assert first.seconds == 50.0  # a quarter of 200 s of two lanes
    now[0] = 20.0  # CPU seconds: 10 s of two lanes
    assert first.left_s == 40.0
    budget.done("a")
    assert budget.allow("b").seconds == 180.0
    now[0] = 400.0
    assert first.over
    assert budget.left_s == 0.0


@pytest.mark.parametrize(("text", "expected"), [("90s", 90), ("5m", 300), ("1.5h", 5400), ("20", 20)])
def test_durations(text: str, expected: float) -> None:
    assert units.host_seconds(text, "--budget") == expected


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "5 minutes", "0s"])
def test_wrong_durations(text: str) -> None:
    with pytest.raises(IrqlabError, match="--budget"):
        units.host_seconds(text, "--budget")


def test_a_tally_fails_with_its_first_fact() -> None:
    tally = Tally()
    assert tally.outcome("nothing").status == NOT_COVERED
    tally.expect(True, "never")
    assert tally.outcome("one fact") == passed("one fact")
    tally.expect(False, "first")
    tally.expect(False, "second")
    assert tally.outcome("").said == "first (and 1 more)"
    assert tally.outcome("").evidence == ("first", "second")


def test_rows_are_chosen_by_name_and_by_beginning() -> None:
    assert [one.name for one in catalogue.chosen(["life-up"], deep=False)] == ["life-up"]
    frames = [one.name for one in catalogue.chosen(["frames"], deep=False)]
    assert len(frames) > 3
    assert all(name.startswith("frames-") for name in frames)
    assert catalogue.chosen(["fram"], deep=False) == catalogue.chosen(["frames"], deep=False)
    with pytest.raises(IrqlabError, match="--only nonsense: allowed are life, frames, numbers"):
        catalogue.chosen(["nonsense"], deep=False)


def test_every_row_has_a_name_of_its_own_and_a_known_group() -> None:
    rows = catalogue.rows()
    assert len({one.name for one in rows}) == len(rows)
    assert {one.group for one in rows} <= set(catalogue.GROUPS)
    assert session.COMES_UP in {one.name for one in rows}


def test_the_report_has_the_answer_the_evidence_and_the_checklist() -> None:
    checked = check([row("bad", lambda _: failed("a frame < 60 bytes is lost", ["line of evidence"], "irqlab hunt --at 7"))])
    text = render(page(checked, ["irqlab", "check"]))
    for part in (answer.sentence(checked), "a frame &lt; 60 bytes is lost", "line of evidence", "irqlab hunt --at 7", "Bad"):
        assert part in text


def test_what_ctrl_c_cut_short_is_not_kept() -> None:
    kept: list[str] = []

    def stopped(_: Workplace) -> Outcome:
        raise KeyboardInterrupt

    checked = check([row("first", stopped, risk=9), row("second", noted(kept, "second"))])
    assert checked.interrupted
    assert checked.done["first"].outcome.status == NOT_COVERED
    assert "interrupted" in checked.done["first"].outcome.said


def test_a_dut_that_ctrl_c_ended_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_: Workplace) -> Outcome:
        monkeypatch.setattr(Cancellation, "cancelled", True)
        monkeypatch.setattr(Cancellation, "check", lambda _: None)
        raise MachineError("the DUT did not start: QEMU was killed by signal 9")

    with pytest.raises(CancelledError):
        session.attempt(lambda: killed(None))  # type: ignore[arg-type]


def test_a_row_whose_time_is_over_is_not_covered_and_the_others_go_on() -> None:
    def late(_: Workplace) -> Outcome:
        raise CancelledError("no time is left")

    checked = check([row("late", late, risk=9), row("next", lambda _: passed("well"))])
    assert checked.done["late"].outcome == not_covered("no time was left for it")
    assert checked.done["next"].outcome.status == PASS


def test_junit_and_json() -> None:
    checked = check(
        [
            row("good", lambda _: passed("all is well")),
            row("bad", lambda _: failed("wrong", ["line"], "irqlab hunt")),
            row("cannot", lambda _: passed(""), needs=lambda _: not_supported("no rings")),
        ]
    )
    content = answer.document(checked, ["irqlab", "check"])
    assert [(one["name"], one["status"]) for one in content["rows"]] == [("good", PASS), ("bad", FAIL), ("cannot", NOT_SUPPORTED)]
    assert content["rows"][0]["replay"] == "irqlab check --driver formula --only good"
    (suite,) = ElementTree.fromstring(answer.junit(content))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert "replay: irqlab hunt" in (suite.findtext("testcase/failure") or "")


def test_what_one_side_fails_and_the_other_passes() -> None:
    def side(**statuses: Outcome) -> Checked:
        return check([row(name, lambda _, found=found: found) for name, found in statuses.items()])

    before = side(a=passed("yes"), b=failed("no"), c=passed("yes"), d=failed("no"))
    after = side(a=failed("frames are lost"), b=passed("yes"), c=passed("yes"), d=not_supported("cannot"))
    assert beside.differing(before, after) == ["a", "b"]
    assert beside.worse(before, after) == ["a"]
    assert beside.sentence(before, after, ("A", "B")) == (
        "B fails what A passes: a; B passes what A fails: b (3 were tried on both sides)."
    )
    assert beside.sentence(after, after, ("A", "B")) == "No check differs (3 were tried on both sides)."
    cells = [[cell.text for cell in line] for line in beside.table(before, after, ("A", "B")).rows]
    assert cells == [["A", "pass", "fail: frames are lost"], ["B", "fail: no", "pass"]]
