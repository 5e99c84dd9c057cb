# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT of a hunt with two processors, coverage that cannot be found out, traces, and what a sample holds."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.check.clock import Allowance
from irqlab.check.row import TimedRunner
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.hunting.findings import Finding, numbered
from irqlab.hunting.options import Options
from irqlab.hunting.pairs import Limits
from irqlab.hunting.search import Hunted
from irqlab.methods import hunt, hunt_views
from irqlab.runner.runner import TrialRunner
from tests.unit.fakes import FakeBench, stand_on

TURNS = Options(what="processors")


def runner(**changed: Any) -> TrialRunner:
    testbed: Any = FakeBench(lambda pps: pps)
    testbed.config = replace(TestbedConfig("racy", functional=False, cpus=1), **changed)
    return stand_on(testbed)


def test_processors_are_stopped_in_a_dut_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt.Testbed, "resolve", lambda config: ("resolved", config))
    given = runner()
    found: Any = hunt._with_two(given, TURNS)
    assert found.bench == ("resolved", replace(given.bench.config, cpus=2))
    assert (found.slots, found.progress) == (given.slots, given.progress)
    bench: Any = given.bench
    of_a_row = TimedRunner(bench, Allowance.__new__(Allowance), given.progress)
    assert type(hunt._with_two(of_a_row, TURNS)) is TimedRunner


@pytest.mark.parametrize("changed", [{"functional": True}, {"functional": True, "cpus": 2}, {"cpus": 2}, {"memory": "a board"}])
def test_processors_are_not_chosen_otherwise(changed: dict[str, Any]) -> None:
    with pytest.raises(IrqlabError, match=r"^--what processors: it chooses the processors itself: not with --functional, --cpus"):
        hunt._with_two(runner(**changed), TURNS)


def test_other_hunts_are_of_one_processor() -> None:
    with pytest.raises(IrqlabError, match=r"^--cpus: only --what processors is a hunt with several processors"):
        hunt.run(runner(cpus=2), Workload(), Options(what="arrivals"))


def test_coverage_is_of_the_driver_or_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    given = replace(runner(), progress=said.append)
    monkeypatch.setattr(hunt, "coverage_of", lambda testbed, pcs: (testbed, pcs))
    assert hunt._covered(given, {7}) == (given.bench, {7})

    def unknown(*_: Any) -> Any:
        raise IrqlabError("no symbols")

    monkeypatch.setattr(hunt, "coverage_of", unknown)
    assert hunt._covered(given, {7}) == ()
    assert said == ["no coverage: no symbols"]


def finding(at_ns: int, replay: Any, what: str = "late", instants: int = 1, said: str | None = None) -> Finding:
    return Finding("arrivals", "same", what, at_ns, at_ns, instants, None, at_ns, 0, said=said, replay=replay)


def test_a_finding_is_found_again_by_its_instant_or_its_number() -> None:
    late = finding(9, None)
    assert (late.place, late.where) == (9, "at 9 ns")
    call = numbered(late, 3, None)
    assert (call.place, call.where) == (3, "with number 3")


def test_the_first_findings_that_can_be_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    given = replace(runner(), progress=said.append)
    asked: list[Any] = []

    def trace_of(*told: Any) -> Any:
        asked.append(told)
        if told[1] == "fails":
            raise IrqlabError("no symbols")
        return ("steps of", told[1])

    monkeypatch.setattr(hunt, "traceable", lambda replay: replay != "a change")
    monkeypatch.setattr(hunt, "trace_of", trace_of)
    replays = [None, "a change", "one", "fails", "two", "three"]
    whole = [finding(n, replay) for n, replay in enumerate(replays)]
    assert [one.trace for one in hunt._traced(given, whole, Limits(7, 9), 3)] == [
        (), (), ("steps of", "one"), (), ("steps of", "two"), (),
    ]  # fmt: skip
    assert asked == [(given.bench, replay, 7, None) for replay in ("one", "fails", "two")]
    assert said == [
        "tracing what the driver executes at 2 ns", "tracing what the driver executes at 3 ns", "no trace: no symbols",
        "tracing what the driver executes at 4 ns",
    ]  # fmt: skip
    assert not any(one.trace for one in hunt._traced(given, whole, Limits(7, 9), 0))


def pair(gap_ns: int, latency_ns: int | None, what: str | None = None, freed_ns: int | None = None) -> Any:
    return SimpleNamespace(gap_ns=gap_ns, latency_ns=latency_ns, what=what, freed_ns=freed_ns)


def test_a_sample_has_the_worst_of_its_pairs_and_all_that_was_missed() -> None:
    pairs = [pair(1, 50), pair(2, 90, "late", 300), pair(3, None, "lost", 700), pair(4, 60)]
    findings = [finding(9, None, "message", 2, "BUG"), finding(2, None, "late", 4), finding(8, None, "message", 8)]
    held = [finding(3, None, "held", 5)]
    whole = Hunted(Limits(7, 9), [(1, 4)], 4, pairs, findings, observations=held, planned=40)
    for switches, failing, at_ns in ((None, None, 2), ((3,), None, None), (None, object(), None)):
        trial = SimpleNamespace(switches=switches, failing=failing)
        case: Any = SimpleNamespace(kind="arrivals", port="same", trial=trial)
        sample = hunt._sample(case, whole)
        assert (sample.worst_ns, sample.worst_at_ns, sample.freed_ns) == (90, at_ns, 700)
        assert sample.step_ns == (4 if at_ns else None)
        assert (sample.instants, sample.missed, sample.held, sample.planned) == (4 + 2, 2 + 4 + 8, 5, 40)
        assert sample.observations == tuple(held)
        assert sample.worst_over_time == ((1, 50), (2, 90), (4, 60))


def test_the_worst_pair_may_be_one_of_a_path() -> None:
    by_path: Any = SimpleNamespace(pairs=[pair(7, 80, "late", 900)], known=frozenset({(1, 1)}), covered=1)
    whole = Hunted(Limits(7, 9), [(1, 4)], 4, [pair(1, 50, freed_ns=3)], [finding(7, None)], paths=by_path)
    case: Any = SimpleNamespace(kind="arrivals", port="same", trial=SimpleNamespace(switches=None, failing=None))
    sample = hunt._sample(case, whole)
    assert (sample.instants, sample.worst_ns, sample.worst_at_ns, sample.freed_ns) == (2, 80, 7, 900)
    assert sample.worst_over_time == ((1, 50),)


@pytest.mark.parametrize(("step_ns", "said"), [(4, ""), (12, " --step 3"), (None, " --step 100")])
def test_a_replay_has_the_step_of_its_trial(step_ns: int | None, said: str) -> None:
    one = finding(9000, step_ns and SimpleNamespace(trial={"step_ns": step_ns}))
    one = replace(one, lead=2)
    row: Any = SimpleNamespace(samples=[SimpleNamespace(findings=[one], step_ns=400)], data={"mips": 250})
    assert hunt_views._how(row, one) == f"--ports same --at 9000 --lead 2{said}"


def test_a_plot_has_the_worst_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt, "POINTS", 3)
    pairs = [pair(n, latency) for n, latency in enumerate((5, 9, 1, 2, 7, 8, 3))]
    assert list(hunt._thinned(pairs)) == [(1, 9), (5, 8), (6, 3)]
    assert list(hunt._thinned([])) == []
