# SPDX-License-Identifier: GPL-2.0-or-later
"""The race hunt, on a DUT that is a formula and misses a window."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

from irqlab import report, units
from irqlab.config.workload import Workload
from irqlab.debug import trace
from irqlab.dut.agent import DutError, NotSupportedError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.errors import IrqlabError
from irqlab.hunting import search
from irqlab.hunting.cases import ALONE_PAIRS
from irqlab.hunting.findings import Finding
from irqlab.hunting.instants import MARGIN_NS
from irqlab.hunting.options import Options
from irqlab.methods import catalogue, hunt, hunt_views
from irqlab.profile.coverage import Function
from irqlab.qemu.cancellation import CancelledError
from irqlab.qemu.rpc import TesterError, UnsupportedError
from irqlab.results.document import MethodResult
from irqlab.trials.hunt import (
    CHECK_ROOM_NS,
    NEVER,
    SETTLE_NS,
    Failing,
    HuntResult,
    HuntTrial,
    Received,
    Step,
    Transmitted,
    _calls,
    _failed,
    _transmitted,
)
from tests.data.sample_documents import document, dut
from tests.unit.fake_dut import FakeDut
from tests.unit.fakes import FakeBench, stand_on

BUSY_NS = 30_000
ALONE_NS = 20_000
PERIOD_NS = HuntTrial.period_ns


@dataclass
class RacyBench(FakeBench):
    """Executes for BUSY_NS after a frame. Misses the instants of `window` at the same port, from the trial's third pair on."""

    window: range = range(0)
    lose: bool = False
    hunts: list[HuntTrial] = field(default_factory=list)

    def forwarded(self, spec: Any) -> Any:
        assert isinstance(spec, HuntTrial)
        self.hunts.append(spec)
        first = Received((ALONE_NS,) * spec.pairs)
        if not spec.frames:
            wakes = [SETTLE_NS + n * PERIOD_NS for n in range(spec.pairs)]
            halts = [(0, wakes[0]), *((a + BUSY_NS, b) for a, b in pairwise(wakes))]
            return HuntResult(spec, first, Received(), tuple(halts), [])
        second: list[int | None] = []
        for number, gap_ns in enumerate(spec.gaps_ns):
            missed = gap_ns in self.window and number >= 2 and not spec.other_port
            late = None if self.lose or number == spec.pairs - 1 else PERIOD_NS - gap_ns
            second += [late if missed else ALONE_NS + 1] * spec.frames
        return HuntResult(spec, first, Received(tuple(second)), (), [])


@pytest.fixture(autouse=True)
def without_a_dut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula executes no instructions: tests/unit/debug/test_debug.py has what is said about those."""
    step = trace.Step(24_000, "event", "the second frame arrives", 0, "rx.c:1", (), "")
    monkeypatch.setattr(search, "hunt_paths", lambda *_: None)
    monkeypatch.setattr(hunt, "coverage_of", lambda *_: (Function("poll", 40, 10),))
    monkeypatch.setattr(hunt, "trace_of", lambda *_: (step,))
    monkeypatch.setattr(hunt, "config_of", lambda _: {"driver": "racy"})


def hunted(options: Options, **bench: Any) -> tuple[MethodResult, RacyBench]:
    racy = RacyBench(lambda offered: offered, **bench)
    return hunt.run(stand_on(racy), Workload(), options), racy


def test_every_instant_at_which_the_dut_executes_is_tried_once() -> None:
    found, racy = hunted(Options(ports="same"))
    (sample,) = found.samples
    assert sample.spans_ns == ((0, BUSY_NS + MARGIN_NS), (PERIOD_NS - MARGIN_NS - ALONE_NS, PERIOD_NS - 4))
    tried = [gap for trial in racy.hunts if trial.frames for gap in trial.gaps_ns]
    assert sorted(tried) == [*range(0, BUSY_NS + MARGIN_NS + 1, 4), *range(PERIOD_NS - MARGIN_NS - ALONE_NS, PERIOD_NS, 4)]
    assert (sample.instants, sample.missed, sample.findings) == (len(tried), 0, ())
    assert (sample.alone_ns, sample.bound_ns, sample.worst_ns) == (ALONE_NS, ALONE_NS + 100_000, ALONE_NS + 1)
    assert not catalogue.methods()["hunt"].failed(rows_of(found))


def test_both_ports_are_tried() -> None:
    found, racy = hunted(Options(step=100))
    assert [sample.port for sample in found.samples] == ["same", "other"]
    assert {trial.other_port for trial in racy.hunts if trial.frames} == {False, True}
    assert found.summary.instants == 2 * found.samples[0].instants


def test_the_range_can_be_limited() -> None:
    found, _ = hunted(Options(ports="same", begin=1_000, end=1_100))
    assert found.samples[0].spans_ns == ((1_000, 1_100),)
    with pytest.raises(IrqlabError, match="halts in the whole of that time"):
        hunted(Options(begin=1_000_000, end=2_000_000))


@pytest.mark.parametrize("lose", [False, True])
def test_a_missed_window_is_one_finding_with_the_shortest_lead(lose: bool) -> None:
    window = range(9_000, 9_021, 4)
    found, _ = hunted(Options(begin=8_000, end=10_000), window=window, lose=lose)
    same, other = found.samples
    (finding,) = same.findings
    assert (finding.what, finding.from_ns, finding.to_ns, finding.instants) == ("lost" if lose else "left", 9_000, 9_020, 6)
    assert finding.worst_ns == (None if lose else PERIOD_NS - 9_000)
    assert (finding.at_ns, finding.lead) == (9_000, 2)
    assert (same.missed, other.missed, found.summary.missed) == (6, 0, 6)
    rows = rows_of(found)
    method = catalogue.methods()["hunt"]
    assert method.failed(rows)
    (answer,) = method.verdicts(rows)
    assert answer.endswith("; replay: --ports same --at 9000 --lead 2.")


def test_an_instruction_of_the_kernel_is_followed_by_the_drivers_next_line() -> None:
    finding = Finding("arrivals", "same", "left", 0, 0, 1, 5, 0, 0, before="kmem_cache_free+0x2", arrival_ns=50)
    event, early, late = (trace.Step(at, what, text, 0, line, (), "") for at, what, text, line in STEPS)
    assert hunt_views._before(replace(finding, before="")) == ""
    assert hunt_views._before(replace(finding, before="poll+0x5 (nic.c:9)")) == ", before poll+0x5 (nic.c:9)"
    assert hunt_views._before(finding) == ", before kmem_cache_free+0x2"
    traced = replace(finding, trace=(early, event, late))
    assert hunt_views._before(traced) == ", before kmem_cache_free+0x2 and the driver's enter rx_skb (nic.c:70)"


STEPS = ((50, "event", "a frame comes", ""), (40, "enter", "poll", "d/nic.c:60"), (60, "enter", "rx_skb", "d/nic.c:70"))


def rows_of(found: MethodResult) -> Any:
    return catalogue.rows([document([found], [dut(found.driver, found.nic)])])


def test_a_replay_is_repeated_and_not_cached() -> None:
    found, racy = hunted(Options(ports="same", at=9_000, lead=2, repeat=5), window=range(9_000, 9_001))
    assert found.summary == hunt.Summary(5, 5, replayed=5, testbed={"driver": "racy"})
    tried = [(trial.pairs, trial.first_gap_ns) for trial in racy.hunts if trial.frames]
    # Then once without a further frame, and with one.
    assert tried == [(3, 8_992)] * 6 + [(4, 8_992)]
    (said,) = catalogue.methods()["hunt"].verdicts(rows_of(found))
    assert said == (
        "formula NAPI-TX-OFF: It went wrong in 5 of 5 repetitions (A frame can be left until the next one comes (lost wake-up))."
    )
    with pytest.raises(IrqlabError, match="before --at 4 there are only 1 instants"):
        hunted(Options(ports="same", at=4, lead=2))


def test_a_frame_that_came_out_twice_is_a_missed_instant() -> None:
    class Twice(RacyBench):
        def forwarded(self, spec: Any) -> Any:
            found = super().forwarded(spec)
            return replace(found, second=replace(found.second, repeats=((1, 900),) if spec.frames else ()))

    found = hunt.run(stand_on(Twice(lambda offered: offered)), Workload(), Options(ports="same", step=5_000))
    assert found.summary.missed == 2, "one in each of two trials"
    assert catalogue.methods()["hunt"].failed(rows_of(found))


class Stopped(RacyBench):
    """The user has enough when an instant is tried at the other port."""

    def forwarded(self, spec: Any) -> Any:
        if spec.other_port:
            raise CancelledError("stopped")
        return super().forwarded(spec)


def test_what_was_tried_before_ctrl_c_is_kept_and_marked() -> None:
    stopped = Stopped(lambda offered: offered)
    found = hunt.run(stand_on(stopped), Workload(), Options())
    same, other = found.samples
    assert (same.planned, other.instants, other.planned) == (None, 0, same.instants)
    assert (found.summary.interrupted, found.summary.instants, found.summary.coverage) == (True, same.instants, ())
    (answer,) = catalogue.methods()["hunt"].verdicts(rows_of(found))
    tried = f"{units.whole(same.instants)} of {units.whole(2 * same.instants)} instants"
    assert answer.endswith(f": No frame was lost or left at {tried}; this was interrupted, not everything was tried.")


def test_nothing_is_kept_of_a_hunt_that_is_stopped_at_once() -> None:
    class Early(RacyBench):
        def forwarded(self, spec: Any) -> Any:
            raise CancelledError("stopped")

    with pytest.raises(CancelledError):
        hunt.run(stand_on(Early(lambda offered: offered)), Workload(), Options())


def test_work_that_ends_by_itself_is_observed_and_fails_no_hunt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy(RacyBench):
        """One instant is late, by itself, while the processor works."""

        def forwarded(self, spec: Any) -> Any:
            found = super().forwarded(spec)
            late = [500_000 if gap_ns == 9_000 else ALONE_NS for gap_ns in spec.gaps_ns]
            return replace(found, second=Received(tuple(late))) if spec.frames else found

    told = [
        (9_000, "event", "the second frame arrives"),
        (9_100, "enter", "watchdog, called by a timer"),
        (500_000, "leave", "watchdog"),
    ]
    steps = tuple(trace.Step(at_ns, what, text, 0, "", (), "") for at_ns, what, text in told)
    monkeypatch.setattr(hunt, "trace_of", lambda *_: steps)
    found = hunt.run(stand_on(Busy(lambda offered: offered)), Workload(), Options(ports="same", begin=8_000, end=10_000))
    (sample,) = found.samples
    (one,) = sample.observations
    assert (one.what, one.at_ns, one.by_itself_ns) == ("held", 9_000, 500_000)
    assert (sample.findings, sample.missed, sample.held, found.summary.held) == ((), 0, 1, 1)
    rows, method = rows_of(found), catalogue.methods()["hunt"]
    assert not method.failed(rows)
    (answer,) = method.verdicts(rows)
    assert answer.replace("\u202f", " ").endswith(
        "instants; at 1 a frame waited for up to 500 µs behind work that ends by itself (watchdog 491 µs), which is no finding."
    )


def test_a_lost_frame_that_came_alone_is_an_error() -> None:
    class Deaf(RacyBench):
        def forwarded(self, spec: Any) -> Any:
            found = super().forwarded(spec)
            return replace(found, first=Received((None, *found.first.latencies_ns[1:])))

    with pytest.raises(IrqlabError, match="1 of 16 frames that came alone"):
        hunt.run(stand_on(Deaf(lambda offered: offered)), Workload(), Options())


def test_a_result_survives_the_cache() -> None:
    trial = HuntTrial(2, 8, 4)
    result = HuntResult(trial, Received((1, None), 1, (2, 3), ((0, 9),)), Received((None, 4)), ((0, 5), (6, 7)), ["a"])
    assert trial.restore(trial.store(result)) == result


def test_it_has_a_page(tmp_path: Any) -> None:
    found, _ = hunted(Options(), window=range(9_000, 9_021, 4))
    page = tmp_path / "page.html"
    report.write_html([document([found], [dut(found.driver, found.nic)])], page)
    text = page.read_text()
    assert "A frame can be left until the next one comes (lost wake-up)" in text
    assert "Left at 9000 ns, arrivals, same port" in text


def test_packets_are_followed_by_their_address() -> None:
    trial = HuntTrial(1, 0, 0, transmits=True, failing=Failing(3, 0))
    entries = [[3, 9, 7, True], [1, 10, 7, False], [0, 11, 99, False], [2, 20, 8, False], [0, 30, 7, False], [1, 40, 7, False]]
    assert _transmitted(trial, entries) == (Transmitted(10, 20), Transmitted(20, None), Transmitted(40, None))


def test_calls_are_counted_by_pair() -> None:
    trial = HuntTrial(2, 0, 0, period_ns=100, failing=Failing(1, 0, at_ns=10))
    at = [SETTLE_NS + ns for ns in (9, 10, 99, 109, 150, 260)]
    assert _calls(trial, [[1, ns, 0, False] for ns in at] + [[0, at[1], 0, False]]) == (2, 1)


def test_pairs_in_which_a_call_failed() -> None:
    trial = HuntTrial(3, 0, 0, period_ns=100, failing=Failing(1, 0, at_ns=10))
    at = [SETTLE_NS + ns for ns in (9, 110, 250)]
    assert _failed(trial, [[1, ns, 0, ns == at[1]] for ns in at]) == (False, True, False)
    assert _failed(replace(trial, failing=None), []) == ()


def test_calls_are_counted_until_failures_end() -> None:
    trial = HuntTrial(2, 0, 0, period_ns=100, failing=Failing(1, 0, at_ns=10, until_ns=50))
    at = [SETTLE_NS + ns for ns in (9, 10, 49, 50, 99, 149, 150)]
    assert _calls(trial, [[1, ns, 0, False] for ns in at]) == (2, 1)


def test_a_message_is_a_finding_with_few_pairs() -> None:
    class Warns(RacyBench):
        """Warns if the second frame comes after 9,004 ns."""

        def forwarded(self, spec: Any) -> Any:
            if spec.frames and 9_004 in spec.gaps_ns and not spec.other_port:
                raise KernelProblemError("WARNING: CPU: 0")
            return super().forwarded(spec)

    found = hunt.run(stand_on(Warns(lambda offered: offered)), Workload(), Options(ports="same", begin=8_000, end=10_000))
    (finding,) = found.samples[0].findings
    assert (finding.what, finding.at_ns, finding.lead, finding.said) == ("message", 9_004, 0, "WARNING: CPU: 0")
    assert catalogue.methods()["hunt"].failed(rows_of(found))


def test_the_step_grows_with_the_limit_of_instants() -> None:
    found, _ = hunted(Options(ports="same", instants=100))
    (sample,) = found.samples
    assert 50 < sample.instants <= 101
    assert sample.step_ns > 4


def test_streams_events_and_steps() -> None:
    trial = HuntTrial(2, 8, 4, frames=0, interrupt=True, check=True, failing=Failing(0, 3, 5, 7), steps=(Step(1, "/a", "b"),))
    assert list(trial._streams()) == ["first", "check"]
    spurious, ended, failing = trial._events()
    assert spurious == {"do": {"kind": "interrupt", "port": 0}, "first_ns": SETTLE_NS + 8, "every_ns": PERIOD_NS + 4, "count": 2}
    assert failing["do"] == {"kind": "fail", "function": 0, "after": 7, "value": 3}
    assert (failing["first_ns"], failing["every_ns"]) == (SETTLE_NS + 5, PERIOD_NS)
    assert ended["do"] == failing["do"] | {"after": NEVER}
    assert (ended["first_ns"], ended["every_ns"]) == (SETTLE_NS + PERIOD_NS - CHECK_ROOM_NS, PERIOD_NS)
    until = replace(trial, failing=Failing(0, 3, 5, 7, until_ns=50))
    assert [event["first_ns"] - SETTLE_NS for event in until._events()] == [8, 50, 5]
    assert not trial.is_alone
    assert not trial.records_halts
    alone = replace(trial, interrupt=False)
    assert alone.is_alone
    assert not alone.records_halts, "where calls fail, no instant is chosen"
    assert replace(alone, failing=None).records_halts
    assert ALONE_PAIRS > 1


def test_a_hunt_with_two_processors_has_a_dut_of_its_own() -> None:
    with pytest.raises(IrqlabError, match="nothing else can be hunted"):
        hunted(Options(what="processors,arrivals"))


def failing_step(step: Step, **answers: Any) -> DutError:
    with pytest.raises(DutError) as raised:
        step.do(FakeDut(answers))  # type: ignore[arg-type]
    return raised.value


@pytest.mark.parametrize(
    ("said", "kind"), [("netlink error: Operation not supported\n", NotSupportedError), ("netlink error: busy\n", DutError)]
)
def test_a_program_that_fails_for_lack_of_support_is_told_from_others(said: str, kind: type[DutError]) -> None:
    error = failing_step(Step(0, argv=("ethtool", "-r", "eth0")), attempt={"code": 1, "out": "", "err": said})
    assert (type(error), str(error)) == (kind, f"ethtool -r eth0: {said.strip()}")


@pytest.mark.parametrize(("refusal", "kind"), [(UnsupportedError("no"), NotSupportedError), (TesterError("no"), DutError)])
def test_a_file_that_cannot_be_written_for_lack_of_support_is_told_from_others(refusal: Exception, kind: type[DutError]) -> None:
    def write(*_: str) -> None:
        raise refusal

    error = failing_step(Step(0, "/a", "b"), write=write)
    assert (type(error), str(error)) == (kind, "/a: b: no")
