# SPDX-License-Identifier: GPL-2.0-or-later
"""The 8139cp article: its data, its measures, what is measured on fakes, and its claims."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from irqlab.config import hardware as boards
from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.dut.counters import Counters
from irqlab.methods import profile
from irqlab.reproduce import find, reference
from irqlab.reproduce.claims import PRINT, Finding
from irqlab.reproduce.rtl8139cp import configurations, measure, periods, trials
from irqlab.reproduce.rtl8139cp.configurations import ALONE, MEASURES, NAMES
from irqlab.reproduce.rtl8139cp.measure import (
    PAPER_NAMES,
    SIZES,
    AblationRow,
    CapabilityRow,
    Counted,
    ProfileRow,
    ReceiveRow,
    Tables,
)
from irqlab.reproduce.rtl8139cp.trials import GENTLE_PPS, Loaded
from irqlab.reproduce.table import Table
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.setup import drivers
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from tests.unit.fake_session import FakeSession
from tests.unit.fakes import LATENCY, FakeBench, changed, port, stand_on
from tests.unit.paper_tables import ablation_row, capability_row, chip_rows, profile_rows, receive_row, rtl8139cp


def test_the_articles_tables_are_there() -> None:
    assert find("rtl8139cp").driver == "irqmod_rtl8139cp"
    for name in PAPER_NAMES.values():
        assert tuple(int(row["frame_bytes"]) for row in reference.records(name)) == SIZES
        assert "8139cp" in reference.source(name) or "same source" in reference.source(name)


def test_every_measure_that_is_left_out_is_one_the_driver_knows() -> None:
    text = (drivers.home() / "irqmod/instruments/rx_timer.c").read_text()
    known = re.findall(r'\[WITHOUT_\w+\] = "(\w+)"', text)
    assert known[0] == "nothing"
    assert set(ALONE) - {"period"} == set(known[1:]) - {"retry"}


def test_configurations_differ_in_receiving_alone() -> None:
    session: Any = FakeSession()
    for name in NAMES:
        configurations.bed_of(session, name)
    for name in MEASURES:
        configurations.ablated(session, name)
    (before, in_tree), (after, _), (napi, _), *others = session.made
    assert in_tree == {"driver": "8139cp"}
    assert (before.rx, after.rx, napi.rx) == (None, "timer", "napi")
    assert (after.tx, napi.tx, after.rx_usecs) == ("interrupt", "interrupt", 1000)
    assert [(one.timer_without, one.timer_refill, one.rx_usecs) for one, _ in others] == [
        (None, None, 1000), ("irq_off", None, 1000), (None, None, 10_000), ("top_half", None, 1000), ("backlog", None, 1000),
        ("refill", None, 1000), ("backlog", "poll", 1000),
    ]  # fmt: skip


# Measured, on fakes.


def _trial(received: int = 500, sent: int = 1000, mean_ns: float = 2e6, count: int = 1) -> ForwardingResult:
    made = FakeBench(lambda pps: pps).run(ForwardingTrial((Load(1000.0),), duration_ns=100_000_000, warmup_ns=25_000_000))
    latency = {**LATENCY, "count": count, "mean_ns": mean_ns, "p50_ns": 1500, "p99_ns": 2500, "max_ns": 3500}
    counted = {"sent": sent, "received": received, "received_in_window": received, "lost": 0}
    stream = changed(made.streams[0], **counted, latency=latency)
    return replace(made, streams=[stream], instructions=4000 * received, ports=[port(received=received)])


LOADED = Loaded.of(_trial(), _trial(received=800))
FOUND = MethodResult("throughput", "d", "n", 64, False, 250, total_throughput_pps=40_000.0)


def _profile(trial: ForwardingResult, **entries: int) -> MethodResult:
    parts = [(name, part) for name, count in entries.items() for part in (count - 1, 1)]  # in two contexts
    samples = [profile.Sample(name, None, "o", "softirq", 1, count) for name, count in parts]
    summary = profile.Summary(
        load=None, rate_pps=1e3, frames=500, per="forwarded", instructions=15_000, residual=0, stacks_lost=0, interrupts=0,
        softirqs=0, by_owner={"driver": 5000, "IP stack": 10_000}, by_context={"softirq": 15_000}, stacks=[],
    )  # fmt: skip
    return MethodResult("profile", "d", "n", 64, False, 250, samples=list(samples), summary=summary, trials=[trial])


def _counted(monkeypatch: pytest.MonkeyPatch, result: MethodResult, rate_pps: float | None = None) -> tuple[Counted, float]:
    asked = {}

    stand, workload = stand_on(FakeBench(lambda pps: pps)), Workload(size=64)

    def run(runner: Any, offered: Workload, rate_pps: float) -> MethodResult:
        assert (runner, offered) == (stand, workload)
        asked["rate"] = rate_pps
        return result

    monkeypatch.setattr(measure.profiling, "run", run)
    found = measure.counted(stand, workload, rate_pps)
    return found, asked["rate"]


def test_polls_of_our_driver_are_counted_in_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = Counters(driver={"eth0": {"rx_polls": 100, "rx_polls_done": 40, "rx_interrupts": 50}, "eth1": {"rx_polls": 9}})
    result = _profile(replace(_trial(), counters=counters), irqmod_poll=80, rx_timer_poll=60, cp_rx_poll=1)
    found, rate = _counted(monkeypatch, result)
    assert found.wire_pps == rate == pytest.approx(148_809.5, abs=0.1)
    assert (found.sent, found.received, found.pps) == (1000, 500, 5000.0)
    assert found.polls == 80 + 1 + 60 / 2, "a timer polls both interfaces"
    assert found.polls_done == 111 - 60 * 0.8, "the window is 80 % of the time in which frames are offered"
    assert found.rx_interrupts == 50 * 0.8
    assert found.by_owner == {"driver": 10, "IP stack": 20}
    assert found.by_context == {"softirq": 30}


def test_polls_of_the_kernels_driver_are_done_when_napi_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _profile(
        replace(_trial(), counters=Counters(interrupts={"eth0": 90, "eth1": 7})), cp_rx_poll=70, napi_complete_done=30
    )
    found, rate = _counted(monkeypatch, result, 1000.0)
    assert rate == 1000.0
    assert (found.polls, found.polls_done, found.rx_interrupts) == (70, 30, 90 * 0.8)


def test_a_run_is_scaled_to_a_million_frames_and_stands_beside_the_articles() -> None:
    counted = Counted(2000, 500, 25_000.04, 250.0, 100.0, 80.0, {}, {}, 148_809.52)
    session = FakeSession(answer=lambda what, key: replace(counted, polls=0.0) if key[1] == "napi" else counted)
    table = measure.receive(session, (60,))  # type: ignore[arg-type]
    before, after, napi = table
    assert before == ReceiveRow(60, "before", 25_000.0, 490_000, 250_000, 254_560, 40_000, 21, 50_000, 10, 2.0, 148_809.5)
    assert (after.article_ipps, after.article_rxint) == (553_500, 17)
    assert (napi.article_ipps, napi.frames_per_poll) == (None, None)


def test_a_gain_is_the_timers_over_napis() -> None:
    pps = {"before": 50_000.0, "after": 60_000.0, "napi": 80_000.0}

    def answer(_: str, key: Any) -> MethodResult:
        limited = key[0] == 1024 or (key[0] == 512 and key[1] != "after")
        return MethodResult("throughput", "d", "n", 64, False, 250, total_throughput_pps=pps[key[1]], line_rate_limited=limited)

    rows = measure.capability(FakeSession(answer=answer), (60, 512, 1024)).rows  # type: ignore[arg-type]
    assert rows[0] == CapabilityRow(60, 50_000, 60_000, 80_000, 20.0, -25.0, 12.96, False)
    assert [row.capped for row in rows] == [False, False, True], "capped where the wire limits all three"
    assert [row.article_percent for row in rows] == [12.96, 30.29, 3.68]


def test_frames_per_poll_are_told_at_both_rates() -> None:
    counted = Counted(1000, 900, 990.04, 300.0, 0.0, 450.0, {}, {}, 1.0)
    table = measure.polls(FakeSession(answer=lambda *_: counted))  # type: ignore[arg-type]
    assert [(row.configuration, row.rate, row.offered_pps) for row in table][:2] == [
        ("before", "low", 1000),
        ("before", "high", 40_000),
    ]
    assert (table.rows[0].received_pps, table.rows[0].frames_per_poll, table.rows[0].rx_interrupts_per_frame) == (990.0, 3.0, 0.5)


def test_frames_held_are_arrivals_times_the_time_in_the_dut() -> None:
    gentle, full = _trial(), _trial(received=800)
    lost = gentle.loss_ratio
    assert Loaded.of(gentle, full) == Loaded(lost, 8000.0, 4000.0, 1.5, 2.5, 3.5, 10.0)
    assert Loaded.of(replace(_trial(count=0), idle_ns=0), full) == Loaded(lost, 8000.0, 4000.0, None, None, None, None)


def test_a_period_is_loaded_gently_and_fully() -> None:
    table = measure.period(FakeSession(answer=lambda *_: LOADED), (100, 4000))  # type: ignore[arg-type]
    assert [(row.configuration, row.period_us) for row in table] == [
        ("before", None),
        ("napi", None),
        ("after", 100),
        ("after", 4000),
    ]
    assert {(row.latency_p50_us, row.latency_p99_us, row.latency_max_us, row.held_frames) for row in table} == {
        (1.5, 2.5, 3.5, 10.0)
    }
    assert {row.full_rate_forwarded_pps for row in table} == {8000.0}
    assert [row.ring_limit_pps for row in table] == [None, None, 640_000.0, 16_000.0]


def test_a_measure_earns_what_all_forward_more_than_without_it() -> None:
    pps = {"all": 40_000.0, "irq_off": 50_000.0, "period": 5_000.0, "top_half": 0.0}

    def answer(what: str, key: Any) -> Any:
        if what.endswith("throughput"):
            return MethodResult("throughput", "d", "n", 64, False, 250, total_throughput_pps=pps.get(key[0], 40_000.0))
        return LOADED

    by = {row.without: row for row in measure.ablation(FakeSession(answer=answer))}  # type: ignore[arg-type]
    assert list(by) == list(MEASURES)
    earned = {name: by[name].earns_percent for name in ("all", "irq_off", "period", "top_half", "refill")}
    assert earned == {"all": None, "irq_off": -20.0, "period": 700.0, "top_half": None, "refill": 0.0}
    whole = by["all"]
    assert (whole.full_rate_forwarded_pps, whole.full_rate_instructions_per_frame) == (8000.0, 4000.0)
    assert (whole.latency_p50_us, whole.latency_max_us, whole.held_frames) == (1.5, 3.5, 10.0)


def test_a_search_of_a_slow_timer_waits_for_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = []
    monkeypatch.setattr(trials.throughput, "run", lambda runner, workload: specs.append(runner.spec(workload, 1.0)))
    session = FakeSession(lambda *_, **__: FakeBench(lambda pps: pps))
    for patient in (False, True):
        trials.search(stand_on(session.testbeds()), Workload(size=64), patient)
        assert specs[-1].late_ns == (12_000_000 if patient else 2_000_000)
    asked: list[Any] = []
    made = FakeSession(answer=lambda what, key: asked.append(what) or FOUND if "throughput" in what else LOADED)
    measure.ablation(made)  # type: ignore[arg-type]
    searches = {key[0]: job.work.keywords["patient"] for what, key, job, _ in made.jobs if what.endswith("throughput")}
    assert searches == {name: name == "period" for name in MEASURES}


def test_instructions_are_told_by_owner_and_by_context() -> None:
    counted = Counted(1, 1, 1.0, 1.0, 1.0, 1.0, {"driver": 10.123}, {"softirq": 30.0}, 1.0)
    table = measure.profile(FakeSession(answer=lambda *_: counted))  # type: ignore[arg-type]
    assert table.rows[:2] == (ProfileRow("before", "owner", "driver", 10.12), ProfileRow("before", "context", "softirq", 30.0))
    assert len(table.rows) == 2 * len(NAMES)


# The whole range of periods.


def _throughputs(pps: dict[str, float]) -> Any:
    """Answers with the throughput of a configuration, by its name and refill."""

    def answer(_: str, key: Any) -> MethodResult:
        one = key[1]
        found = pps[f"{one.configuration} {one.refill}".strip()]
        return MethodResult("throughput", "d", "n", 64, False, 250, total_throughput_pps=found, instructions_per_frame=4000.04)

    return answer


RANGED = {
    "kernel's driver": 50_000.0, "our NAPI": 80_000.0, "timer behind the softirq": 40_000.0, "timer at once": 60_000.0,
}  # fmt: skip


def test_every_period_is_compared_with_the_same_chips_other_drivers() -> None:
    session = FakeSession(answer=_throughputs(RANGED))
    table = periods.chips(session)  # type: ignore[arg-type]
    assert {(row.configuration, row.refill, row.gain_percent, row.gain_over_own_napi_percent) for row in table} == {
        ("kernel's driver", "", 0.0, -37.5), ("our NAPI", "", 60.0, 0.0),
        ("timer", "behind the softirq", -20.0, -50.0), ("timer", "at once", 20.0, -25.0),
    }  # fmt: skip
    assert len(table.rows) == 2 * (2 + 2 * len(periods.PERIODS_US))
    drivers_of = [changes["driver"] for _, changes in session.made]
    assert (drivers_of[0], drivers_of.count("e100"), drivers_of.count("8139cp")) == ("8139cp", 1, 1)


def test_refill_rules_are_the_drivers() -> None:
    text = (drivers.home() / "irqmod/instruments/rx_timer.c").read_text()
    assert set(periods.RULES.values()) == set(re.findall(r'\[REFILL_\w+\] = "(\w+)"', text))
    soon = periods.timer_schemes(400, periods.AT_ONCE)
    assert (soon.timer_without, soon.timer_refill, soon.rx_usecs) == ("refill", None, 400)
    assert periods.timer_schemes(400, periods.HALF).timer_refill == "half"


def test_a_refill_rule_gains_on_the_deferred_one() -> None:
    def answer(what: str, key: Any) -> Any:
        if what.endswith("throughput"):
            pps = 50_000.0 if key[1] == periods.DEFERRED else 55_000.0
            return MethodResult("throughput", "d", "n", 64, False, 250, total_throughput_pps=pps)
        return LOADED

    table = periods.rules(FakeSession(answer=answer))  # type: ignore[arg-type]
    assert [(row.period_us, row.gain_percent) for row in table][:4] == [(400, 0.0), (400, 10.0), (400, 10.0), (400, 10.0)]
    assert {(row.full_rate_forwarded_pps, row.latency_p50_us) for row in table} == {(8000.0, 1.5)}


def test_stated_hardware_has_its_speed_and_its_memory() -> None:
    session = FakeSession(answer=_throughputs(RANGED))
    board = boards.load("pentium3")
    table = periods.hardware(session, board)  # type: ignore[arg-type]
    assert {(row.hardware, row.instructions_per_frame) for row in table} == {("pentium3", 4000.0)}
    assert all(changes["memory"] is board.memory and changes["mips"] == 1000 for _, changes in session.made)
    assert [row.gain_percent for row in table][:3] == [0.0, 60.0, -20.0]


# Claims.


def test_the_best_period_is_held_against_the_articles_words() -> None:
    for gain, agrees in ((20.0, True), (14.0, False), (26.0, False)):
        found = _finding("With a suitable period", chips=Table("", periods.ChipRow, chip_rows(gain, -10.0, (100, 400))))
        assert found.agrees == agrees
        assert found.found.startswith(f"most with 0.1 ms, refilled behind the softirq: {gain:+.1f} %")
        assert f"refilled at once: 0.1 ms {gain:+.1f} %, 0.4 ms {gain - 1:+.1f} %." in found.found


def test_the_first_table_has_the_rates_of_a_gigabit_nic() -> None:
    table = measure.provenance()
    assert [row.frame_bytes for row in table if row.article_ipps == row.howto_ipps] == [1024]
    found = _finding("was measured with 8139cp", provenance=table)
    assert not found.agrees
    assert "and its 119,061 packets/s of 1024 bytes" in found.found
    assert "and 3 counts of interrupts and polls" in found.found


def _findings(**tables: Any) -> list[Finding]:
    return find("rtl8139cp").findings(Tables(**{**vars(rtl8139cp(True)), **tables}))


def _finding(words: str, **tables: Any) -> Finding:
    return next(finding for finding in _findings(**tables) if words in finding.claim)


def test_gains_are_held_against_the_articles_tables() -> None:
    def gains(first: float, second: float) -> Finding:
        rows = (capability_row(60, first), capability_row(128, second), capability_row(1440, 9.0, capped=True))
        return _finding("The timer receives more than NAPI, by", capability=Table("", CapabilityRow, rows))

    said = gains(7.0, 50.0)
    assert said.agrees, "+13.0 and +26.3 % in the article"
    assert said.found.startswith("throughput (the article): 60 bytes +7.0 % (+13.0 %), against our driver with NAPI")
    assert "1440" not in said.found, "the wire is the limit"
    assert not gains(6.0, 26.0).agrees
    assert not gains(13.0, 53.0).agrees
    assert not gains(-13.0, 26.0).agrees


def test_what_follows_from_arithmetic_counts_for_nothing() -> None:
    for words in ("Fewer polls empty the ring", "NAPI saves interrupts only", MEASURES["period"]):
        found = _finding(words)
        assert (found.agrees, found.verdict, found.holds) == (True, "by definition", False)
        assert "arithmetic" in found.counts_as.lower()


def test_what_the_article_prints_is_none_of_its_claims() -> None:
    found = [finding for finding in find("rtl8139cp").findings(rtl8139cp(False)) if finding.source == PRINT]
    assert [finding.verdict for finding in found] == ["inconsistent"] * 3
    assert not any(finding.of_paper for finding in found)


def test_rates_beyond_the_wire_are_said_to_be() -> None:
    rows = (receive_row("before", 60, 1e4, 9, 148_809.5), receive_row("before", 1440, 1e4, 9, 8e6))
    found = _finding("on a 100 Mbit/s wire", receive=Table("", ReceiveRow, rows))
    assert not found.agrees
    assert "490,000 frames/s of 60 bytes" in found.claim
    assert "carries 148,810 frames/s of 60 bytes; the article's rates are beyond the wire at 1 of 2 sizes" in found.found
    assert _finding("on a 100 Mbit/s wire", receive=Table("", ReceiveRow, rows[1:])).agrees


def test_measures_are_told_by_what_they_earn() -> None:
    rows = (
        ablation_row("all", None), ablation_row("irq_off", 30.0, 10.0, 38_000.0), ablation_row("backlog", -12.0),
        ablation_row("refill", 0.2),
    )  # fmt: skip
    table = Table("", AblationRow, rows)
    assert _finding(MEASURES["irq_off"], ablation=table).found == (
        "it earns 30.0 % of throughput. Without it the wire's full rate ends in receive livelock."
    )
    assert _finding(MEASURES["backlog"], ablation=table).found == "it costs 12.0 % of throughput."
    assert _finding(MEASURES["refill"], ablation=table).found == "it makes next to no difference: 0.2 % of throughput."
    assert [finding.agrees for finding in _findings(ablation=table) if finding.source == "The article's measures"] == [
        True,
        False,
        False,
    ]


def test_what_costs_what_is_said_with_the_owners_that_differ() -> None:
    rows = profile_rows({"before": 4000.0, "after": 3500.0, "napi": 3000.0})
    found = _finding("costs the processor less", profile=Table("", ProfileRow, rows))
    assert not found.agrees
    assert "4,100 instructions with 8139cp, 3,600 with the timer and 3,100 with our driver's NAPI" in found.found
    assert "between the last two: IP stack +500, driver +0" in found.found
    assert not [f for f in _findings(profile=Table("", ProfileRow, rows[:3])) if "costs the processor" in f.claim]


def test_trials_are_at_a_gentle_rate_and_at_the_wires() -> None:
    testbed = FakeBench(lambda pps: min(pps, 40_000.0))
    said: list[str] = []
    stand = TrialRunner(testbed, progress=said.append)
    found = trials.loaded(stand, Workload(size=64))
    assert [spec.loads[0].rate_pps for spec in testbed.specs] == [GENTLE_PPS, pytest.approx(148_809.5, abs=0.1)]
    assert (found.loss_ratio, found.full_rate_forwarded_pps) == (0.0, 39_800.0)
    assert said == ["5.0 kpps forwarded", "39.8 kpps forwarded"]


def test_a_search_keeps_the_runner_s_bench_slots_and_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, Workload]] = []
    monkeypatch.setattr(trials.throughput, "run", lambda *told: asked.append(told))
    stand = stand_on(FakeBench(lambda pps: pps))
    trials.search(stand, Workload(size=64))
    ((patient, workload),) = asked
    assert (patient.bench, patient.slots, patient.progress) == (stand.bench, stand.slots, stand.progress)
    assert workload == Workload(size=64)
    assert patient.spec(workload, 5.0).loads[0].rate_pps == 5.0
