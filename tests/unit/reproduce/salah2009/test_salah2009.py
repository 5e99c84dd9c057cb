# SPDX-License-Identifier: GPL-2.0-or-later
"""salah2009 on schemes that are formulas: what is measured, and the claims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import cliff
from irqlab.methods.cliff import External, Internal
from irqlab.methods.receiving import spec_of
from irqlab.reproduce import find, trial_rows
from irqlab.reproduce.claims import Finding
from irqlab.reproduce.salah2009 import cliffs, experiments, findings, loads, measure, overload, ping, rows, switching
from irqlab.reproduce.salah2009.loads import PLAN, Cliffs, EchoingRow, Offer, ReceivingRow
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.reproduce.salah2009.overload import Shares
from irqlab.reproduce.salah2009.rows import Row
from irqlab.reproduce.salah2009.switching import EstimateRow, SettlingRow, SwitchRow
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import Batch, Done
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult, ApplicationTrial, Tuning
from tests.unit.fake_session import FakeSession
from tests.unit.fakes import FakeBench, latency
from tests.unit.methods.test_application import formula
from tests.unit.paper_tables import salah

AT = Cliffs(25_000.0, 16_000.0)
LATENCY = latency(count=9, mean_ns=50.5, p50_ns=50, p90_ns=90, p99_ns=99, p999_ns=999, max_ns=9999)


def measured(spec: ApplicationTrial) -> ApplicationResult:
    """A DUT that is a formula, and that has seen 40 frames for each that is counted."""
    made = formula(spec)
    places = replace(made.places, sent=1000, nic=100, backlog=50, socket=200, received=640, elsewhere=10, application=30)
    return replace(
        made, places=places, latency=LATENCY if spec.echo or spec.kind == "ping" else None, returned_pps=made.offered_pps / 2,
        switches=4, nic_missed=75, interrupts_per_s=123.0, ksoftirqd_share=0.25, time_squeezes=3,
        rate_estimates_pps=tuple((after, round(made.offered_pps * 0.9)) for after in spec.rate_after_ns),
    )  # fmt: skip


def bench(driver: str = "irqmod_i8255x", scheme: str | None = "napi") -> FakeBench:
    """Runs application trials by the formula."""
    names = {"rx_scheme": scheme}
    found = FakeBench(lambda pps: pps, driver=driver, names=names, answer=lambda spec: measured(spec))
    found.inside = SimpleNamespace(modules=())
    return found


def session(quick: bool = True) -> tuple[Any, FakeBench]:
    """A session on the formula, and its testbed."""
    testbed = bench()
    found = FakeSession(lambda *_, **__: testbed, quick=quick)
    return found, found.testbed()


def curve(row: Any, offer: Offer) -> list[Done]:
    """A row on the formula."""
    of, testbed = session()
    return [({"driver": "d", **c}, r) for c, r in trial_rows.run(of, "", [Batch("", testbed, loads.curve(row, AT, offer))])]


# Measured, on the formula.


def test_a_row_is_offered_every_load_receiving_and_echoing() -> None:
    asked = loads.curve(rows.napi(2), AT, Offer((0.5, 2.0), (0.9,), (1000.0,), loads.QUICK_PLAN))
    assert [(s.load.rate_pps, s.echo, s.duration_ns) for _, s in asked] == [
        (12_500.0, False, 60_000_000), (50_000.0, False, 60_000_000), (14_400.0, True, 60_000_000),
        (1000.0, True, loads.LOW_DURATION_NS),
    ]  # fmt: skip
    assert all(spec.tuning.budget == 2 for _, spec in asked)
    assert [columns["load_of_cliff"] for columns, _ in asked[:2]] == [0.5, 2.0]
    assert [columns["load_of_echo_cliff"] for columns, _ in asked[2:]] == [0.9, None]


def test_the_best_setting_is_that_with_which_most_is_received_at_the_loads_compared() -> None:
    found = curve(rows.de(), Offer((0.5, 1.0, 2.0, 4.0), ()))
    assert loads.score(rows.de(), found) == pytest.approx(25_000 + 40_000**2 / 50_000 + 40_000**2 / 100_000)


def test_rows_of_the_tables_are_shares_of_what_was_sent() -> None:
    found = curve(rows.of_today(True)[rows.DEFERRED][2], Offer((2.0,), (0.5,)))
    (row,) = loads.receiving_table("t", found)
    assert row == ReceivingRow(
        "d", rows.DEFERRED, "2 polls, 50 µs", 2.0, 50_000.0, 32_000.0, pytest.approx(0.36), 0.1, 0.05, 0.2, 0.01, 123.0, 0.0, 0.0,
        0.25, 3, 4,
    )  # fmt: skip
    assert row.name == "deferred NAPI (2 polls, 50 µs)"
    (echo,) = loads.echoing_table("t", found)
    assert (echo.load_of_echo_cliff, echo.offered_pps, echo.returned_pps, echo.lost_application) == (0.5, 8000, 4000, 0.03)
    assert (echo.mean_ns, echo.p50_ns, echo.p90_ns, echo.p99_ns, echo.p999_ns, echo.max_ns) == (50.5, 50, 90, 99, 999, 9999)
    (none,) = loads.echoing_table("t", [(c, replace(r, latency=latency(count=0))) for c, r in found])
    assert (none.mean_ns, none.max_ns) == (None, None)


def test_the_cliff_is_found_both_ways_with_disable_enable(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def internal(_: Any, __: Workload, tuning: Any, rate_pps: float) -> Internal:
        asked.update(tuning=tuning, rate=rate_pps)
        return Internal(rate_pps, 7000.0, 40_000.0, 500.0, 1.0)

    monkeypatch.setattr(cliff, "internal", internal)
    found = cliffs.find(TrialRunner(bench()), rows.de(), quick=False)
    at = cliffs.cliffs_of(found)
    assert at.receiving_pps == pytest.approx(0.99 * 40_000, rel=0.01)
    assert asked["rate"] == cliff.PROFILED_LOAD * at.receiving_pps
    assert asked["tuning"].schemes.rx == "de"


def test_signs_and_closed_form_stand_beside_the_chosen_cliff() -> None:
    sweep = tuple(measured(spec_of(PLAN, rate, rows.de().tuning, echo=rate > 30_000)) for rate in (10_000.0, 50_000.0))
    outside = External({"cpu": 25_000.0, "throughput": 40_000.0, "loss": None}, sweep)
    inside = Internal(12_500.0, 7000.0, 40_000.0, 500.0, 1.0)
    found = (outside, replace(outside, signs_pps={"cpu": 16_000.0}), inside)
    table = cliffs.table(found)
    assert [(r.application, r.found, r.cliff_pps, r.chosen, r.to_chosen) for r in table] == [
        ("receives", "cpu", 25_000, True, 1.0), ("receives", "throughput", 40_000, False, 1.6),
        ("receives", "loss", None, False, None), ("echoes", "cpu", 16_000, True, 1.0),
        ("receives", "internal", inside.cliff_pps, False, inside.cliff_pps / 25_000),
    ]  # fmt: skip
    (costs,) = cliffs.internal_table(found)
    assert (costs.rate_pps, costs.closed_form_pps, costs.external_pps) == (12_500.0, inside.cliff_pps, 25_000.0)
    assert (costs.interrupt_ns, costs.kernel_ns, costs.application_ns, costs.interrupts_per_packet) == (7000, 40_000, 500, 1)
    rows_ = cliffs.curve_table(found).rows
    assert [(r.application, r.offered_pps, r.p99_ns) for r in rows_] == [
        ("receives", 10_000, None), ("receives", 50_000, 99), ("echoes", 10_000, None), ("echoes", 50_000, 99),
    ]  # fmt: skip
    assert rows_[0].cpu_used == pytest.approx(0.25)


def test_pings_are_offered_at_the_papers_rates() -> None:
    of, testbed = session(quick=False)
    table = ping.measure(of, testbed, [rows.de()])
    assert {(spec.kind, spec.duration_ns) for spec in testbed.specs} == {("ping", 500_000_000)}
    row = table.rows[0]
    assert (row.scheme, row.offered_pps, row.answered_pps, row.mean_ns, row.p99_ns) == ("DE", 10.0, 5.0, 50.5, 99)
    assert len(table.rows) == len(ping.RATES_PPS)


def test_switches_are_counted_over_warm_up_and_window() -> None:
    of, testbed = session()
    table = switching.at_the_cliff(of, testbed, 25_000.0)
    assert [(row.arrivals, row.epsilon) for row in table] == [
        (arrivals, epsilon) for arrivals in ("constant", "poisson", "bursts") for epsilon in (0.0, 0.15)
    ]
    assert {row.switches_per_s for row in table} == {4 / 0.25}
    bursts = next(spec for spec in testbed.specs if spec.load.arrivals == "bursts")
    assert (bursts.load.rate_pps, bursts.load.on_ns, bursts.load.off_ns) == (50_000.0, 10_000_000, 10_000_000)


def test_an_estimate_is_held_against_what_is_offered() -> None:
    table = switching.estimates(*session(), 25_000.0)
    row = table.rows[-1]
    assert (row.load_of_cliff, row.offered_pps, row.estimate_pps, row.error) == (4.0, 100_000, 90_000, pytest.approx(-0.1))
    assert (row.taken_pps, row.missed_pps) == (900 / 0.25, 75 / 0.25)
    assert row.read_in_window
    assert table.rows[0].offered_pps == switching.LOWEST_PPS


def test_settling_is_the_shortest_burst_after_which_hybrid_had_switched(monkeypatch: pytest.MonkeyPatch) -> None:
    of, testbed = session(quick=False)

    def run(spec: ApplicationTrial) -> ApplicationResult:
        windows = (spec.load.end_ns - spec.load.begin_ns) // switching.WINDOW_NS
        enough = windows >= 3 and spec.load.rate_pps > 40_000
        return replace(measured(spec), switches=1 if enough else 0)

    monkeypatch.setattr(testbed, "run", run)
    table = switching.settling(of, testbed, 25_000.0)
    assert [(row.step_of_cliff, row.windows) for row in table] == [(1.5, None), (2.0, 3), (3.0, 3), (4.0, 3)]


def test_shares_of_a_profile_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = (
        ("hardirq", "driver", 100), ("softirq", "IP stack", 500), ("process", "user space", 150), ("process", "x", 200),
        ("idle", "x", 50),
    )  # fmt: skip
    samples = [{"context": context, "owner": owner, "instructions": count} for context, owner, count in counts]
    monkeypatch.setattr(overload, "symbols", lambda _: None)
    monkeypatch.setattr(overload, "addresses", lambda _: {})
    monkeypatch.setattr(overload.tree, "section", lambda *_: {"samples": samples})
    of, testbed = session(quick=False)
    monkeypatch.setattr(testbed, "profile", lambda spec, *_: (measured(spec), {}), raising=False)
    result, shares = overload.profile(TrialRunner(testbed), rows.de(), 2.0, 25_000.0, PLAN)
    assert result.offered_pps == 50_000
    assert shares == Shares(0.1, 0.5, 0.25, 0.15)
    row, higher = overload.profiles(of, testbed, [rows.de()], 25_000.0)
    assert (row.load_of_cliff, row.scheme, row.taken_pps) == (2.0, "DE", 900 / 0.25)
    assert (higher.load_of_cliff, higher.offered_pps) == (4.0, 100_000)
    assert (row.hardirq, row.softirq, row.process_kernel, row.user) == (0.1, 0.5, 0.25, 0.15)


def test_starvation_is_measured_over_seconds_at_four_times_the_cliff() -> None:
    of, testbed = session(quick=False)
    (row,) = overload.starvation(of, testbed, [rows.de()], 25_000.0)
    assert (testbed.specs[-1].load.rate_pps, testbed.specs[-1].duration_ns) == (100_000.0, 2_100_000_000)
    assert (row.window_s, row.application_pps, row.share_received) == (2.1, 16_000, 0.16)
    assert (row.lost_nic, row.lost_socket) == (0.1, 0.2)


def test_everything_is_measured_on_the_papers_driver_and_todays_schemes_on_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cliff, "internal", lambda *_: Internal(12_500.0, 7000.0, 40_000.0, 500.0, 1.0))
    shares = Shares(0.1, 0.5, 0.25, 0.15)
    monkeypatch.setattr(
        overload,
        "profile",
        lambda runner, row, load, cliff_pps, workload: (measured(spec_of(workload, load * cliff_pps, row.tuning)), shares),
    )
    ours = bench()
    config = SimpleNamespace(nic=None, dut=_Dut())
    made = lambda *_, driver=None, **__: bench(driver, None) if driver else ours  # noqa: E731
    asked = FakeSession(made, quick=True, long=False, config=config)
    tables = measure.measure(asked)  # type: ignore[arg-type]
    assert (tables.experiments, tables.cliff_conditions) == (None, None)
    assert tables.driver == "irqmod_i8255x"
    assert {row.driver for row in tables.application} == {"irqmod_i8255x"}
    asked.quick = False
    full = measure.measure(asked)  # type: ignore[arg-type]
    assert {row.driver for row in full.application} == {"irqmod_i8255x", *measure.INTREE}
    papers = [rows.DE, rows.NAPI, rows.NAPI_2, rows.HYBRID, rows.ADAPTIVE]
    for found, schemes in ((tables, papers), (full, [*papers, *rows.TODAYS])):
        assert [row.scheme for row in found.application if (row.driver, row.load_of_cliff) == (found.driver, 1.0)] == schemes
    assert [row.scheme for row in tables.budget if row.load_of_cliff == 2.0] == [
        "NAPI (2)", "NAPI (6)", "NAPI (300)", "NAPI (2, weight 64)",
    ]  # fmt: skip
    assert [(row.scheme, row.load_of_cliff) for row in tables.overload][:2] == [(rows.DE, 4.0), (rows.NAPI, 4.0)]
    assert len(tables.starvation.rows) == 5
    assert tables.switches.row is SwitchRow
    assert tables.estimator.row is EstimateRow
    assert tables.settling.row is SettlingRow


@dataclass(frozen=True)
class _Dut:
    ring: int | None = 64
    module_parameters: str = "x"


def test_of_todays_schemes_the_setting_with_which_most_is_received_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "INTREE", ())
    ours = bench()

    def run(spec: ApplicationTrial) -> ApplicationResult:
        best = spec.tuning.busy_poll_us == 50 or spec.tuning.gro_flush_timeout_ns == 200_000
        return replace(measured(spec), application_pps=9000.0 if best else 8000.0)

    monkeypatch.setattr(ours, "run", run)
    asked = FakeSession(lambda *_, **__: ours, config=SimpleNamespace(nic=None, dut=_Dut()))
    best, sweeps = measure._today(asked, AT)  # type: ignore[arg-type]
    chosen = [rows.THREADED, "deferred NAPI, 2 polls, 200 µs", "busy polling, 50 µs", rows.DIM, rows.POLL]
    assert list(dict.fromkeys(rows.Row(c["scheme"], c["setting"], Tuning()).name for c, _ in best)) == chosen
    assert len(sweeps) == (len(rows.DEFERRALS) + len(rows.BUSY_POLLS_US)) * len((*loads.SWEPT, *loads.SWEPT_ECHO))


def test_a_driver_without_schemes_is_refused() -> None:
    asked = FakeSession(lambda *_, **__: bench("8139cp", None))
    with pytest.raises(IrqlabError, match="8139cp has none that can be set"):
        measure.measure(asked)  # type: ignore[arg-type]


def test_in_tree_drivers_have_no_schemes_to_set() -> None:
    theirs = rows.of_today(ours=False)
    assert list(theirs) == [rows.NAPI, rows.THREADED, rows.DEFERRED, rows.BUSY]
    assert not any(row.tuning.schemes.asked for settings in theirs.values() for row in settings)
    assert len({row.name for settings in theirs.values() for row in settings}) == sum(len(s) for s in theirs.values())


def test_the_papers_rows_are_what_they_are_called() -> None:
    de, napi, small, hybrid, adaptive = rows.competing(25_000.4)
    assert [row.tuning.schemes.rx for row in (de, napi, small, hybrid, adaptive)] == ["de", "napi", "napi", "hybrid", "adaptive"]
    assert (napi.tuning.budget, napi.tuning.schemes.weight) == (300, 64)
    assert (small.tuning.budget, small.tuning.schemes.weight) == (2, 2)
    assert (hybrid.tuning.budget, hybrid.tuning.schemes.cliff_pps, hybrid.tuning.schemes.epsilon_permille) == (2, 25_000, 150)
    alone = rows.budget_alone(2)
    assert (alone.tuning.budget, alone.tuning.schemes.weight, alone.scheme) == (2, 64, "NAPI (2, weight 64)")
    assert Row("s", "x", de.tuning).name == "s, x"


# Claims.


def _finding(words: str, agrees: bool = True, **tables: Any) -> Finding:
    return next(f for f in find("salah2009").findings(Tables(**{**vars(salah(agrees)), **tables})) if words in f.claim)


def test_the_papers_points_are_multiples_of_its_cliff() -> None:
    assert findings.of_cliff("hybrid_interrupts_fall_to_zero_at") == 1.3
    assert findings.of_cliff("interrupt_rate_turns_at") == 0.5
    assert findings.of_cliff("ksoftirqd_awakened_at_budget_300") == 3.0


def _interrupts(by_load: dict[float, float]) -> Table[ReceivingRow]:
    """Hybrid with so many interrupts a frame at a load."""
    found = [
        replace(row, interrupts_per_s=by_load.get(row.load_of_cliff, 1.0) * row.offered_pps) if row.scheme == rows.HYBRID else row
        for row in salah(True).application
    ]
    return Table("a", ReceivingRow, tuple(found))


def test_interrupts_that_fall_to_zero_are_said_to() -> None:
    gone = _finding("Hybrid's interrupts fall", application=_interrupts({1.5: 0.01, 2.0: 0.0, 3.0: 0.0, 4.0: 0.0}))
    assert gone.agrees
    assert gone.found == "they are at most 1.0 % of the frames from 1.5 times the cliff on."
    late = _finding("Hybrid's interrupts fall", application=_interrupts({2.0: 0.87, 3.0: 0.0, 4.0: 0.0}))
    assert not late.agrees
    assert "from 3 times the cliff on. Below that NAPI interrupts: at 2 times" in late.found
    assert "(0.87 interrupts a frame)" in late.found
    back = _finding("Hybrid's interrupts fall", application=_interrupts({1.5: 0.0, 2.0: 0.0, 3.0: 0.5, 4.0: 0.2}))
    assert not back.agrees
    assert back.found == "at 4 times the cliff there are 0.20 a frame."


def test_an_estimator_that_is_right_is_said_to_be() -> None:
    right = _finding("Hybrid's estimate")
    assert right.found == "1.0 % at worst between 12.5 and 100.0 kpps, though the NIC refuses up to 50.0 % of the frames."
    assert _finding("Hybrid's estimate", False).found == "off at 4 times the cliff (-60 %)."


def test_steps_after_which_hybrid_is_late_are_named() -> None:
    assert (
        _finding("after every step").found == "windows after a step from nothing: to 2 times the cliff 2, to 4 times the cliff 1."
    )
    assert "to 4 times the cliff more than 4" in _finding("after every step", False).found


def test_adaptive_is_held_against_the_best_of_all() -> None:
    assert (
        "behind at 1.5 times the cliff (0.250 against 25.0 kpps, NAPI (300))" in _finding("adaptive receives within", False).found
    )
    assert _finding("adaptive receives within").found == "at worst at 0.1 times the cliff (2.50 against 2.50 kpps, DE)."
    assert "later at 10 % (90.0 µs against 60.0 µs, DE)" in _finding("adaptive's p99", False).found


# Figures that are level.


def _receiving(words: str, pps: dict[tuple[str, float], float], lost: dict[tuple[str, float], float] | None = None) -> Finding:
    """With such rates, by scheme and load; all others receive 10 kpps and lose nothing below the cliff, and half beyond."""
    found = [
        replace(
            r,
            application_pps=pps.get((r.scheme, r.load_of_cliff), 10_000.0),
            loss_ratio=(lost or {}).get((r.scheme, r.load_of_cliff), 0.5 if r.load_of_cliff > 1 else 0.0),
        )
        for r in salah(True).application
    ]
    return _finding(words, application=Table("a", ReceivingRow, tuple(found)))


def test_two_percent_are_no_difference() -> None:
    words = "hybrid outperforms NAPI"
    assert not _receiving(words, {}).agrees
    assert not _receiving(words, {(rows.HYBRID, 2.0): 10_190.0}).agrees
    assert _receiving(words, {(rows.HYBRID, 2.0): 10_210.0}).agrees
    assert not _receiving(words, {(rows.HYBRID, 2.0): 10_210.0, (rows.HYBRID, 1.5): 9_790.0}).agrees


def test_what_is_better_beyond_the_papers_loads_does_not_count() -> None:
    said = _receiving("hybrid outperforms NAPI", {(rows.HYBRID, 4.0): 20_000.0})
    assert not said.agrees
    assert "Beyond the paper's loads: at 3 times the cliff" in said.found
    starving = _receiving("hybrid outperforms DE", {(rows.DE, 3.0): 0.0, (rows.DE, 4.0): 0.0})
    assert not starving.agrees
    assert not any("starve" in finding.claim for finding in find("salah2009").findings(salah(True)) if finding.of_paper)


def test_more_throughput_is_not_less_loss() -> None:
    words = "DE gives more throughput and less loss"
    more = {(rows.DE, 1.5): 11_000.0, (rows.DE, 2.0): 11_000.0}
    assert _receiving(words, more, {(rows.DE, 1.5): 0.4, (rows.DE, 2.0): 0.4}).agrees
    assert not _receiving(words, more, {(rows.DE, 1.5): 0.4, (rows.DE, 2.0): 0.6}).agrees


def test_what_is_level_below_the_cliff_cannot_approach_beyond_it() -> None:
    def approaches(below: float, beyond: float) -> Finding:
        found = [
            replace(r, mean_ns={rows.HYBRID: below if (r.load_of_echo_cliff or 9) < 1 else beyond}.get(r.scheme, 90_000.0))
            for r in salah(True).round_trip
        ]
        return _finding("round trip approaches NAPI's", round_trip=Table("r", EchoingRow, tuple(found)))

    assert approaches(60_000.0, 90_000.0).agrees
    assert approaches(60_000.0, 80_000.0).agrees is False, "15 % would do for anything"
    assert approaches(89_500.0, 90_000.0).agrees is None


def test_least_is_less_than_with_any_other_epsilon() -> None:
    def switches(by: dict[float, float]) -> Finding:
        table = [SwitchRow("poisson", e, 1e4, 1e4, 1, count) for e, count in by.items()]
        return _finding("switches least", switches=Table("w", SwitchRow, tuple(table)))

    assert switches({0.0: 22.9, 0.15: 0.0, 0.3: 2.0}).agrees
    assert not switches({0.0: 22.9, 0.15: 0.0, 0.3: 0.0}).agrees, "a tie"
    assert switches({0.0: 22.9, 0.15: 0.0}).agrees is None, "as in a quick look"


def _trips(mine: dict[float, float]) -> Finding:
    """Hybrid's and DE's round trips at a share of the echo's cliff, NAPI's are 60 µs."""
    found = [
        replace(r, mean_ns=60_000.0 if r.scheme == rows.NAPI else mine.get(r.load_of_echo_cliff or 0.0, 60_000.0))
        for r in salah(True).round_trip
    ]
    return _finding("hybrid and DE outperform NAPI", round_trip=Table("r", EchoingRow, tuple(found)))


def test_a_scheme_outperforms_another_if_it_is_better_somewhere_and_worse_nowhere() -> None:
    assert not _trips({}).agrees
    assert not _trips({0.9: 59_000.0}).agrees
    assert _trips({0.9: 58_000.0}).agrees
    assert not _trips({0.9: 58_000.0, 0.1: 62_000.0}).agrees
    assert not _trips({1.25: 50_000.0}).agrees, "beyond the cliff it does not count"


# Experiments.


def _changes(made: list[tuple[Any, dict[str, Any]]], name: str) -> list[Any]:
    return [changes[name] for _, changes in made if name in changes]


def test_experiments_switch_one_thing_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "patched_driver", lambda _: "/built/irqmod_i8255x.ko")
    asked = FakeSession(lambda *_, **__: bench())
    table = experiments.measure(asked, 25_000.0)  # type: ignore[arg-type]
    by = table.by(lambda r: (r.experiment, r.setting))
    assert list(by) == [
        (experiments.POISSON, "constant"), (experiments.POISSON, "poisson"), (experiments.FORWARDING, ""),
        (experiments.INTERFACES, ""), (experiments.OTHERS, "irqmod_rtl8139cp"), (experiments.OTHERS, "irqmod_lan78xx"),
        (experiments.LOW_RATES, experiments.NO_MEMORY), (experiments.LOW_RATES, experiments.BOARD),
        (experiments.REFILL, experiments.EVERY_PASS), (experiments.REFILL, experiments.AFTER_64),
    ]  # fmt: skip
    assert _changes(asked.made, "driver") == ["irqmod_rtl8139cp", "irqmod_lan78xx", "/built/irqmod_i8255x.ko"]
    assert _changes(asked.made, "mips") == [1000]
    (memory,) = _changes(asked.made, "memory")
    assert memory is not None
    assert {row.load_of_cliff for row in by[experiments.FORWARDING, ""]} == {None}
    poisson = [row.load_of_cliff for row in by[experiments.POISSON, "poisson"] if row.scheme == rows.DE]
    assert poisson == list(experiments.POISSON_LOADS)
    router = by[experiments.FORWARDING, ""][0]
    assert (router.offered_pps, router.application_pps) == (60_000, 30_000), "a router's frames come back"


def test_a_driver_that_is_not_ours_is_not_patched() -> None:
    asked = FakeSession(config=SimpleNamespace(driver="e1000", kernel=None))
    with pytest.raises(IrqlabError, match="e1000: only a driver of ours"):
        experiments.patched_driver(asked)  # type: ignore[arg-type]


def test_the_closed_form_is_held_against_the_cliff_of_the_same_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    def internal(_: Any, workload: Workload, __: Any, rate_pps: float) -> Internal:
        return Internal(rate_pps, workload.costs.irq if workload.costs else 5000.0, 15_000.0, 0.0, 1.0)

    monkeypatch.setattr(cliff, "internal", internal)
    asked = FakeSession(lambda *_, **__: bench())
    table = experiments.cliffs(asked)  # type: ignore[arg-type]
    assert [row.condition for row in table] == list(experiments.CLIFF_CONDITIONS)
    assert _changes(asked.made, "cost_model") == [True, True]
    first, dear = table.rows[0], table.rows[2]
    assert (first.interrupt_share, dear.interrupt_share) == (0.25, 20 / 35)
    assert first.cpu_pps is not None
    assert first.closed_form_error == pytest.approx(first.closed_form_pps / first.cpu_pps - 1)
    assert first.closed_form_pps == cliff.closed_form_pps(5000.0, 15_000.0)
