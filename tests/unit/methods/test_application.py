# SPDX-License-Identifier: GPL-2.0-or-later
"""Application trials, the cliff and the budget on a DUT that is a formula."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from irqlab.config.addresses import dut_ip
from irqlab.config.costs import Costs
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import application as method
from irqlab.methods import budget, cliff
from irqlab.methods.options import numbers, pps, rates
from irqlab.reproduce.salah2009 import rows
from irqlab.trials import application
from irqlab.trials.application import ApplicationResult, ApplicationTrial, Places, Tuning
from tests.unit.fakes import FakeBench, latency, stand_on

CAPACITY_PPS = 40_000.0
PACKET_S = 1 / CAPACITY_PPS
PLACES = Places(sent=10, nic=1, backlog=2, socket=3, received=4, elsewhere=0, application=0)


def formula(spec: ApplicationTrial) -> ApplicationResult:
    """A DUT whose packets all cost the same; beyond its capacity the application receives less and less."""
    offered = spec.load.rate_pps
    received = min(offered, CAPACITY_PPS**2 / offered)
    sent = round(offered)
    return ApplicationResult(
        spec=spec, offered_pps=offered, application_pps=received, returned_pps=0.0, loss_ratio=1 - received / offered,
        places=replace(PLACES, sent=sent), nic_missed=0, latency=None,
        interrupts_per_s=0.0, cpu_available=max(0.0, 1 - offered * PACKET_S),
        ksoftirqd_wakeups_per_s=0.0, ksoftirqd_share=0.0, time_squeezes=0, switches=None, rate_estimates_pps=(),
        polled=round(offered / 4) if spec.tuning.polls else None,
        instructions_per_datagram=5000.0, instructions=0, kernel_log=(),
    )  # fmt: skip


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ApplicationTrial]:
    """The trials asked of the formula."""
    specs: list[ApplicationTrial] = []

    def run(_testbed: Any, spec: ApplicationTrial) -> ApplicationResult:
        specs.append(spec)
        return formula(spec)

    monkeypatch.setattr(FakeBench, "run", run)
    return specs


def test_hardware_costs_are_charged(made: list[ApplicationTrial]) -> None:
    method.run(stand_on(FakeBench(lambda pps: pps)), Workload(costs=Costs(irq=5)), [1000.0])
    assert [spec.costs for spec in made] == [Costs(irq=5)] * 2


def test_the_sign_of_the_cliff_is_a_known_one() -> None:
    with pytest.raises(IrqlabError, match="--cliff-sign latency: allowed are cpu, throughput, loss"):
        method.Options(cliff_sign="latency")


def test_a_cliff_without_its_sign() -> None:
    none = cliff.External({"cpu": 1.0, "throughput": 2.0, "loss": None}, ())
    assert (none.cliff_pps, none.by("throughput")) == (1.0, 2.0)
    with pytest.raises(IrqlabError, match="no cliff found: no offered load is lost in part"):
        none.by("loss")


def test_the_signs_are_found_to_one_percent(made: list[ApplicationTrial]) -> None:
    found = cliff.external(stand_on(FakeBench(lambda pps: pps)), Workload(), Tuning())
    expected = {
        "cpu": cliff.SYSTEM_CPU_FULL * CAPACITY_PPS,
        "throughput": CAPACITY_PPS / cliff.FLATTENED**0.5,
        "loss": CAPACITY_PPS / (1 - cliff.LOSS) ** 0.5,
    }
    for sign, found_pps in found.signs_pps.items():
        assert found_pps is not None
        assert expected[sign] <= found_pps <= expected[sign] * (1 + cliff.PRECISION)
    assert found.cliff_pps == found.signs_pps[cliff.CHOSEN]
    rates = [t.offered_pps for t in found.curve]
    assert rates == sorted(rates)
    assert len(made) == len(set(made)), "no trial is made twice"


def test_a_dut_without_a_cliff_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBench, "run", lambda _, spec: replace(formula(spec), cpu_available=1.0))
    with pytest.raises(IrqlabError, match="no measurable CPU time"):
        cliff.external(stand_on(FakeBench(lambda pps: pps)), Workload(), Tuning())


def test_on_a_real_device_the_cliff_is_found_below_the_line_rate(made: list[ApplicationTrial]) -> None:
    """It counts no instructions, so nothing is profiled, and the first sweep covers all loads that can be offered."""
    real = FakeBench(lambda pps: pps, ceiling=3 * CAPACITY_PPS, config=TestbedConfig("d", mips=0))
    (found,) = cliff.METHOD.run(stand_on(real), Workload(), None)  # type: ignore[misc]
    assert found.summary.cliff_pps == pytest.approx(cliff.SYSTEM_CPU_FULL * CAPACITY_PPS, rel=cliff.PRECISION)
    assert found.summary.internal_pps is None
    assert max(trial.load.rate_pps for trial in made) <= 3 * CAPACITY_PPS
    assert len(cliff.Line.of(SimpleNamespace(summary=found.summary))) == len(cliff.SIGNS)  # type: ignore[arg-type]
    assert cliff.costs(found.summary) == ""
    busy = FakeBench(lambda pps: pps, ceiling=200 * CAPACITY_PPS, config=TestbedConfig("d", mips=0))
    with pytest.raises(IrqlabError, match=r"no CPU time is left even at 80000 frames/s"):
        cliff.METHOD.run(stand_on(busy), Workload(), None)  # type: ignore[misc]
    slow = FakeBench(lambda pps: pps, ceiling=CAPACITY_PPS / 2, config=TestbedConfig("d", mips=0))
    with pytest.raises(IrqlabError, match="no cliff found: no offered load uses all CPU time"):
        cliff.METHOD.run(stand_on(slow), Workload(), None)  # type: ignore[misc]


def test_on_a_real_device_no_load_is_above_the_line_rate(made: list[ApplicationTrial]) -> None:
    real = FakeBench(lambda pps: pps, ceiling=1.6 * CAPACITY_PPS, config=TestbedConfig("d", mips=0))
    assert method.METHOD.run is not None
    (found,) = method.METHOD.run(stand_on(real), Workload(), method.Options(load="0.5,1.5,3", no_echo=True))
    assert [round(sample.offered_pps / CAPACITY_PPS, 1) for sample in found.samples] == [0.5, 1.5]


def test_the_closed_form() -> None:
    # Interrupts that cost nothing leave 1/mu; a cost as high as the packet's gives r/2 (sqrt(5) - 1).
    assert cliff.closed_form_pps(1e-6, 10_000) == pytest.approx(100_000, rel=1e-6)
    assert cliff.closed_form_pps(10_000, 10_000) == pytest.approx(61_803, rel=1e-4)


def test_the_command_writes_the_cliff() -> None:
    assert cliff.command(25_259.6) == "echo 25260 > /sys/class/net/eth0/irqmod/rx_cliff_pps"


def test_a_budget_is_recommended_for_a_goal() -> None:
    trials = [budget.Sample(2, 100.0, 90, 50.0), budget.Sample(64, 150.0, 70, 99.5), budget.Sample(300, 120.0, 100, 100.0)]
    best = {goal: budget.recommend(trials, goal).budget for goal in budget.GOALS}
    assert best == {"application": 64, "latency": 64, "forwarding": 300}
    # The default is kept where it is as good.
    trials[2] = budget.Sample(300, 149.0, 100, 100.0)
    assert budget.recommend(trials, "application").budget == 300


def test_budgets_that_make_no_difference_are_not_recommended() -> None:
    alike = [budget.Sample(size, 150.0, 70, pps) for size, pps in ((2, 54.6), (64, 54.7), (300, 54.6))]
    assert not budget.differs(alike, "forwarding")
    assert budget.differs([*alike, budget.Sample(12, 150.0, 70, 60.0)], "forwarding")


def test_a_small_budget_lowers_the_weight_of_our_drivers_only() -> None:
    assert budget.tuning(Tuning(), 2, ours=True).schemes.weight == 2
    assert budget.tuning(Tuning(), 300, ours=True).schemes.weight == 64
    assert not budget.tuning(Tuning(), 2, ours=False).schemes.asked


def test_points_hold_what_was_measured(made: list[ApplicationTrial]) -> None:
    result = method.run(stand_on(FakeBench(lambda pps: pps)), Workload(), [10_000.0, 80_000.0])
    assert [sample.application_pps for sample in result.samples] == [10_000, 20_000]
    assert {spec.echo for spec in made} == {False, True}
    json.dumps(result.to_json(), allow_nan=False)


def test_results_survive_the_cache() -> None:
    spec = ApplicationTrial(Load(1000.0), rows.hybrid(20_000).tuning, rate_after_ns=(5,))
    result = replace(formula(spec), rate_estimates_pps=((5, 990),), latency=latency(count=1), kernel_log=("a",))
    assert spec.restore(json.loads(json.dumps(spec.store(result)))) == result


def test_snmp_is_read_by_protocol() -> None:
    text = "Udp: InDatagrams RcvbufErrors\nUdp: 7 3\nIcmp: InEchos\nIcmp: 5\n"
    assert application.parse_snmp(text) == {"Udp": {"InDatagrams": 7, "RcvbufErrors": 3}, "Icmp": {"InEchos": 5}}


def test_sleeps_of_a_thread() -> None:
    assert (
        application.voluntary_switches("Name:\tksoftirqd/0\nvoluntary_ctxt_switches:\t92\nnonvoluntary_ctxt_switches:\t4\n") == 92
    )
    assert application.voluntary_switches("Name:\tx\n") == 0


def test_numbers_of_the_command_line() -> None:
    assert numbers("--load", "2x, 0.5,2", 100) == [0.5, 2.0]
    for bad in ("", "0", "-1", "1,,2", "fast", "101", "nan", "inf"):
        with pytest.raises(IrqlabError, match=r"--load .*allowed are"):
            numbers("--load", bad, 100)


def test_rates_may_be_in_thousands() -> None:
    assert rates("40k, 1500") == (1500.0, 40_000.0)
    assert pps("2.5k") == 2500.0
    assert pps(100_000.0) == 100_000.0, "a default"
    for bad in ("", "k", "40K", "2x"):
        with pytest.raises(IrqlabError, match=r"--rate .*allowed are"):
            rates(bad)
        with pytest.raises(typer.BadParameter, match="allowed are frames/s"):
            pps(bad)


def test_schemes_of_the_paper_have_its_budgets() -> None:
    de, napi, small, hybrid = rows.of_paper(25_000.4)
    assert (napi.tuning.budget, napi.tuning.schemes.weight) == (300, 64)
    assert (small.tuning.budget, small.tuning.schemes.weight) == (2, 2)
    assert (hybrid.tuning.budget, hybrid.tuning.schemes.cliff_pps, hybrid.tuning.schemes.epsilon_permille) == (2, 25_000, 150)
    assert de.tuning.schemes.rx == "de"


def test_data_of_the_paper_say_where_they_are_from() -> None:
    from irqlab.reproduce import reference

    assert "Salah" in reference.source("salah2009_points")
    assert reference.by("salah2009_points", "quantity")["cliff"]["value"] == "100"


def test_two_interfaces_get_equal_shares_and_their_frames_come_in_turn() -> None:
    spec = ApplicationTrial(Load(4000.0), interfaces=2)
    first, second = (application._stream(spec, spec.load, port) for port in (0, 1))
    assert [one["arrivals"]["rate_pps"] for one in (first, second)] == [2000.0, 2000.0]
    assert [(one["from"], one["to"], one["dst_ip"]) for one in (first, second)] == [(0, 0, dut_ip(0)), (1, 1, dut_ip(1))]
    assert ("phase_ns" in first, second["phase_ns"]) == (False, 250_000)
    one = application._stream(replace(spec, interfaces=1), spec.load, 0)
    assert one["arrivals"]["rate_pps"] == 4000.0
