# SPDX-License-Identifier: GPL-2.0-or-later
"""What methods ask of a testbed that is a formula, and what they make of the answers."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.calibrate import cells, fit
from irqlab.calibrate import method as calibration
from irqlab.calibrate.cells import Board, Cell, Measured
from irqlab.compare import matrix
from irqlab.config.costs import Costs
from irqlab.config.schemes import Schemes, combine
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import application, budget, cliff, iperf, profile, receiving, rrul
from irqlab.profile import devices, line_tables
from irqlab.profile.symbols import Symbols
from irqlab.reproduce.salah2009 import overload, rows
from irqlab.runner.runner import TrialRunner
from irqlab.setup.nics import Nic
from irqlab.trials.application import ApplicationTrial, Tuning
from irqlab.trials.iperf import FOUR, IperfResult, IperfTrial
from irqlab.trials.peers import Account, RoundTrips
from irqlab.trials.rrul import Flow, ProbeLatency, RrulResult, RrulTrial
from tests.unit.fake_dut import FakeDut
from tests.unit.fakes import FakeBench, latency, stand_on
from tests.unit.methods.test_application import CAPACITY_PPS, formula
from tests.unit.profile.test_profile import KALLSYMS, MODULES

WORKLOAD = Workload(size=128, duration_ns=100_000_000, warmup_ns=7_000_000, seed=3)


class Bed(FakeBench):
    """Applications on a DUT that is a formula, with a driver of ours or of others."""

    def __init__(self, ours: bool = True, rx: str | None = None) -> None:
        config = TestbedConfig("d", dut=DutConfig(schemes=Schemes(rx=rx)))
        names = {"rx_scheme": "de" if ours else None, "tx_scheme": None, "variant": None}
        super().__init__(lambda pps: pps, label="the driver", config=config, names=names)
        self.modules = [SimpleNamespace(name="8139cp")]

    def forwarded(self, spec: Any) -> Any:
        return formula(spec) if isinstance(spec, ApplicationTrial) else super().forwarded(spec)


# Applications.


@pytest.mark.parametrize(
    ("ours", "asked", "tuned"),
    [(True, None, Tuning(Schemes(rx="napi"))), (True, "de", Tuning()), (False, None, Tuning()), (False, "de", Tuning())],
)
def test_a_scheme_is_chosen_only_for_our_drivers_and_where_none_was_asked_for(ours, asked, tuned) -> None:
    assert receiving.usual_tuning(stand_on(Bed(ours, asked)), "napi") == tuned


def test_loads_are_given_or_shares_of_the_cliff() -> None:
    bed = Bed()
    (found,) = application.METHOD.run(stand_on(bed), WORKLOAD, application.Options(rate="1000,3000"))  # type: ignore[misc]
    # Trials run side by side: they may be asked for in any order.
    asked = sorted((one.echo, one.load.rate_pps) for one in bed.specs)
    assert asked == [(False, 1000), (False, 3000), (True, 1000), (True, 3000)]
    assert {(one.load.size, one.duration_ns, one.warmup_ns, one.seed) for one in bed.specs} == {(128, 100_000_000, 7_000_000, 3)}
    assert [one.echo_offered_pps for one in found.samples] == [1000, 3000]
    assert (found.method, found.summary.best_application_pps) == ("application", 3000)
    bed = Bed()
    options = application.Options(load="0.5,2x", no_echo=True)
    (found,) = application.METHOD.run(stand_on(bed), WORKLOAD, options)  # type: ignore[misc]
    first, second = (one.offered_pps for one in found.samples)
    assert second == 4 * first
    assert first == pytest.approx(0.5 * 0.99 * CAPACITY_PPS, rel=0.01)
    assert not any(one.echo for one in bed.specs)
    assert found.samples[0].echo_offered_pps is None
    assert application.Options().shares() == application.SHARES
    assert application.Options().rates() is None


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"load": "1", "rate": "1"}, "--load.*--rate"),
        ({"load": "101"}, "--load 101: allowed are .* up to 100"),
        ({"rate": "0"}, "--rate 0: allowed are"),
    ],
)
def test_bad_loads_are_rejected(bad, why) -> None:
    with pytest.raises(IrqlabError, match=why):
        application.Options(**bad)


ASKED = {"nodes": [], "io": []}
"""Parent, address, context, instructions, entries."""
LOADED = [
    (-1, 0xFFFFFFFF81003000, "hardirq", 2_000_000, 2_100),
    (-1, 0xFFFFFFFF81003B00, "softirq", 3_000_000, 900),
    (-1, 0xFFFFFFFF81001010, "process", 500_000, 10),
    (-1, 0x400000, "process", 9_000_000, 1),
]
SILENT = [
    (-1, 0xFFFFFFFF81003000, "hardirq", 100_000, 100),
    (-1, 0xFFFFFFFF81003B00, "softirq", 200_000, 100),
    (-1, 0xFFFFFFFF81001010, "process", 300_000, 10),
    (-1, 0x400000, "process", 8_000_000, 1),
]


@pytest.fixture
def profiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was profiled: (trial, addresses)."""
    asked: list[Any] = []
    known = Symbols.parse(KALLSYMS, MODULES)

    def answer(runner: TrialRunner, spec: Any, where: Any, lines: Any = None) -> Any:
        assert lines is None
        asked.append((spec, where))
        nodes = LOADED if not isinstance(spec, ApplicationTrial) or spec.load.rate_pps > 1 else SILENT
        return runner.bench.run(spec), {**ASKED, "nodes": nodes, "instructions": sum(n[3] for n in nodes), "lost": 3}

    monkeypatch.setattr(TrialRunner, "profile", answer)
    monkeypatch.setattr(cliff, "symbols", lambda _: known)
    monkeypatch.setattr(profile, "symbols", lambda _: known)
    monkeypatch.setattr(devices.Devices, "of", lambda _: devices.Devices([]))
    return asked


def test_costs_of_the_closed_form_are_what_a_load_adds(profiled) -> None:
    bed = Bed()
    found = cliff.internal(stand_on(bed), WORKLOAD, Tuning(), 10_000.0)
    assert [spec.load.rate_pps for spec, _ in profiled] == [10_000.0, 1.0]
    assert profiled[0][1]["softirq"] == [0xFFFFFFFF81003B00]
    assert profiled[1][1] == profiled[0][1]
    # A window of 0.1 s: 1,000 packets; an instruction is 4 ns. The soaker, in user space, ran 9,999 packets' time less.
    assert found.rate_pps == 10_000.0
    assert found.interrupt_ns == pytest.approx(1_900_000 * 4 / 1000)
    assert found.kernel_ns == pytest.approx((2_800_000 + 200_000) * 4 / 1000)
    soaked = (0.75 - (1 - 1 / CAPACITY_PPS)) * 100_000_000 / 4
    assert found.application_ns == pytest.approx((1_000_000 - soaked) * 4 / 1000)
    assert found.interrupts_per_packet == pytest.approx(2.0)
    assert found.packet_ns == found.kernel_ns + found.application_ns
    assert found.cliff_pps == cliff.closed_form_pps(found.interrupt_ns, found.packet_ns)


def test_a_context_that_was_never_entered_costs_nothing(profiled, monkeypatch) -> None:
    monkeypatch.setitem(globals(), "LOADED", LOADED[-1:])
    monkeypatch.setitem(globals(), "SILENT", SILENT[-1:])
    found = cliff.internal(stand_on(Bed()), WORKLOAD, Tuning(), 10_000.0)
    assert (found.interrupt_ns, found.kernel_ns, found.interrupts_per_packet) == (0, 0, 0)


def test_a_cliff_is_determined_both_ways(profiled) -> None:
    bed = Bed()
    (found,) = cliff.METHOD.run(stand_on(bed), WORKLOAD, None)  # type: ignore[misc]
    summary = found.summary
    assert {spec.tuning.schemes.rx for spec in bed.specs} == {"de"}
    assert (found.method, found.rx_scheme, summary.chosen) == ("cliff", "de", "cpu")
    assert summary.cliff_pps == summary.signs_pps["cpu"] == pytest.approx(0.99 * CAPACITY_PPS, rel=0.01)
    assert summary.profiled_pps == summary.cliff_pps / 2 == profiled[0][0].load.rate_pps
    inside = cliff.internal(stand_on(bed), WORKLOAD, Tuning(Schemes(rx="de")), summary.profiled_pps)
    assert (summary.internal_pps, summary.interrupt_ns, summary.packet_ns) == (
        inside.cliff_pps, inside.interrupt_ns, inside.packet_ns,
    )  # fmt: skip
    assert (summary.application_ns, summary.interrupts_per_packet) == (inside.application_ns, inside.interrupts_per_packet)
    assert summary.command == cliff.command(summary.cliff_pps)
    assert [one.offered_pps for one in found.samples] == sorted(one.offered_pps for one in found.samples)
    (other,) = cliff.METHOD.run(stand_on(Bed(ours=False)), WORKLOAD, None)  # type: ignore[misc]
    assert other.rx_scheme is None


@pytest.mark.parametrize(("ours", "weights"), [(True, [2, 4, 6, 12, 24, 64, 64, 64]), (False, [None] * 8)])
def test_budgets_are_tried_at_a_load_for_each_goal(monkeypatch, ours, weights) -> None:
    bed = Bed(ours)

    def run(self: Bed, spec: Any) -> Any:
        returned = 123.0 if spec.kind == "forward" else 1.0
        return replace(formula(spec), latency=latency(p99_ns=7) if spec.echo else None, returned_pps=returned)

    monkeypatch.setattr(Bed, "forwarded", run)
    found = budget.sweep(stand_on(bed), WORKLOAD, 10_000.0, 6_000.0)
    assert [one.budget for one in found] == list(budget.BUDGETS)
    assert {(one.application_pps, one.p99_ns, one.forwarded_pps) for one in found} == {(20_000.0, 7, 123.0)}
    assert sorted((one.load.rate_pps, one.kind, one.echo) for one in bed.specs[:3]) == [
        (3_000.0, "udp", True), (20_000.0, "udp", False), (40_000.0, "forward", False),
    ]  # fmt: skip
    assert [bed.specs[n].tuning.schemes.weight for n in range(0, 24, 3)] == weights
    assert [bed.specs[n].tuning.budget for n in range(0, 24, 3)] == list(budget.BUDGETS)
    monkeypatch.setattr(Bed, "forwarded", lambda self, spec: formula(spec))
    assert budget.sweep(stand_on(bed), WORKLOAD, 1.0, 1.0, budgets=(5,)) == [budget.Sample(5, 2.0, 0, 0.0)]


def test_the_best_budget_is_recommended_with_both_cliffs() -> None:
    bed = Bed()
    (found,) = budget.METHOD.run(stand_on(bed), WORKLOAD, budget.Options("latency"))  # type: ignore[misc]
    assert (found.method, found.summary.goal, found.summary.budget) == ("budget", "latency", 300)
    assert found.summary.cliff_pps == found.summary.echo_cliff_pps == pytest.approx(0.99 * CAPACITY_PPS, rel=0.01)
    searched = [spec for spec in bed.specs if spec.tuning.budget is None]
    assert {spec.tuning.schemes.rx for spec in searched} == {"napi"}
    assert {spec.echo for spec in searched} == {True, False}
    assert {spec.load.rate_pps for spec in bed.specs if spec.kind == "forward"} == {4 * found.summary.cliff_pps}
    with pytest.raises(IrqlabError, match=r"--goal speed: allowed are application, latency, forwarding$"):
        budget.Options("speed")


# Profiles.


def test_a_profile_is_of_a_share_of_the_throughput(profiled) -> None:
    bed = Bed()
    bed.forwards = lambda pps: min(pps, 20_000.0)
    (found,) = profile.METHOD.run(stand_on(bed), WORKLOAD, profile.Options(load="1.5x"))  # type: ignore[misc]
    ((spec, where),) = profiled
    assert spec.loads[0].rate_pps == found.summary.rate_pps == pytest.approx(30_000, rel=0.01)
    assert where["switch"] == [0xFFFFFFFF81003D00]
    assert (found.summary.load, found.summary.per, found.summary.frames) == (
        1.5,
        "forwarded",
        found.trials[0].total("received_in_window"),
    )
    assert found.total_throughput_pps == pytest.approx(20_000, rel=0.01)
    assert found.instructions_per_frame == 4000.0
    summary = found.summary
    assert (summary.instructions, summary.residual) == (14_500_000, found.trials[0].instructions - 14_500_000)
    assert (summary.stacks_lost, summary.interrupts, summary.softirqs) == (3, 2100, 900)
    assert summary.by_owner["user space"] == 9_000_000
    assert summary.by_context == {"process": 9_500_000, "softirq": 3_000_000, "hardirq": 2_000_000}
    assert [sample.function for sample in found.samples] == ["(user space)", "__do_softirq", "irq_entries_start", "ip_rcv"]
    assert summary.stacks[0] == [-1, 2, 2_000_000, 2_100]
    assert (summary.nic_reads, summary.nic_writes, summary.io) == (0, 0, [])
    found = profile.run(stand_on(bed), WORKLOAD)
    assert found.summary.load == profile.DEFAULT_LOAD


def test_a_profile_s_rate_may_be_given(profiled) -> None:
    bed = Bed()
    (found,) = profile.METHOD.run(stand_on(bed), WORKLOAD, profile.Options(rate=5_000.0))  # type: ignore[misc]
    assert (found.summary.load, found.summary.rate_pps, len(bed.specs)) == (None, 5_000.0, 1)
    assert found.total_throughput_pps is None


def test_without_a_frame_forwarded_costs_are_per_frame_offered(profiled) -> None:
    bed = Bed()
    bed.forwards = lambda pps: 0.0
    found = profile.run(stand_on(bed), WORKLOAD, rate_pps=5_000.0)
    assert (found.summary.per, found.summary.frames) == ("offered", 500)
    with pytest.raises(IrqlabError, match="the driver was offered no frame at 1 frames/s"):
        profile.run(stand_on(bed), WORKLOAD, rate_pps=1.0)


def iperf_result(spec: IperfTrial, per_byte: float | None = 2.0) -> IperfResult:
    account = Account(1000, 8000.0, None, None, None, None)
    return IperfResult(
        name=spec.name, test={"parallel": 1}, bps=8000.0, dut=account, tester=account, retransmits=None, loss_ratio=None,
        jitter_ns=None, window_ns=400_000_000, window_bps=8000.0, instructions=29_200, instructions_per_byte=per_byte,
        idle_ratio=0.25, soaked_ratio=None, counted_ns=5, cpu_ticks={}, interrupts={}, interfaces={}, kernel_log=[], spec=spec,
    )  # fmt: skip


def test_an_iperf3_test_is_profiled_per_full_frame(profiled, monkeypatch) -> None:
    monkeypatch.setattr(Bed, "forwarded", lambda _, spec: iperf_result(spec))
    (found,) = profile.METHOD.run(stand_on(Bed()), WORKLOAD, profile.Options(iperf="tcp-rx"))  # type: ignore[misc]
    ((spec, where),) = profiled
    assert (spec, where["idle"]) == (IperfTrial(dut_sends=False, seconds=1), [0xFFFFFFFF81003C00])
    summary = found.summary
    assert (summary.frames, summary.rate_pps, summary.load, summary.per) == (10, 25.0, None, "received")
    assert summary.iperf == iperf.sample_of(iperf_result(spec))
    assert (summary.residual, summary.instructions) == (29_200 - 14_500_000, 14_500_000)
    assert found.method == "profile"
    monkeypatch.setattr(Bed, "forwarded", lambda _, spec: iperf_result(spec, None))
    with pytest.raises(IrqlabError, match=r"the driver: no payload arrived in the window of TCP Rx; choose a higher --mips"):
        profile.METHOD.run(stand_on(Bed()), WORKLOAD, profile.Options(iperf="tcp-rx"))  # type: ignore[misc]


def test_lines_of_memory_are_asked_for_and_kept(profiled, monkeypatch) -> None:
    bed, asked = Bed(), []
    known = Symbols.parse(KALLSYMS, MODULES)
    bed.caches = SimpleNamespace(hardware="a board")
    monkeypatch.setattr(profile, "symbols", lambda testbed: known if testbed is bed else None)
    monkeypatch.setattr(profile.lines, "asked", lambda *told: asked.append(told) or "lines, please")
    found = {
        "levels": ["L1I", "L1D"], "line_bytes": [64, 64], "intervals": 7, "functions": [], "fields": [], "objects": {"o": 3},
        "window_code_lines": {"m": 4}, "lacking": ["nothing"],
    }  # fmt: skip

    def answer(runner: TrialRunner, spec: Any, where: Any, lines: Any = None) -> Any:
        assert lines == "lines, please"
        nodes = [*LOADED, (-1, 0xFFFFFFFFC0000000, "softirq", 4_000, 1)]
        io = [(4, "mmio", 0x1008, 3, 5), (4, "port", 0, 7, 11), (2, "port", 0, 13, 17)]
        return runner.bench.run(spec), {"nodes": nodes, "io": io, "instructions": 14_504_000, "lost": 3, "lines": found}

    regions = devices.Devices([devices.Region(0x1000, 0x1FFF, "eth0")])
    monkeypatch.setattr(devices.Devices, "of", lambda testbed: regions if testbed is bed else None)
    monkeypatch.setattr(TrialRunner, "profile", answer)
    (forwarding,) = profile.METHOD.run(stand_on(bed), WORKLOAD, profile.Options(rate=5_000.0, memory=True))  # type: ignore[misc]
    monkeypatch.setattr(Bed, "forwarded", lambda _, spec: iperf_result(spec))
    (receiving,) = profile.METHOD.run(stand_on(bed), WORKLOAD, profile.Options(iperf="tcp-rx", memory=True))  # type: ignore[misc]
    assert asked == [(bed, known)] * 2
    for row in (forwarding, receiving):
        assert row.method == "profile"
        assert row.summary.memory == profile.LinesOfMemory(hardware="a board", **found)
        # Of the NIC's registers and of ports that the driver accesses.
        assert (row.summary.nic_reads, row.summary.nic_writes) == (3 + 7, 5 + 11)
        assert row.summary.by_owner["driver"] == 4_000
        assert [one.register for one in row.summary.io if one.device == "eth0"] == [8]


def test_symbols_are_read_once(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    dut = FakeDut({"run": KALLSYMS}, **{"/proc/modules": MODULES})
    opened = []

    @contextmanager
    def start(pooled: bool) -> Any:
        opened.append(pooled)
        yield dut

    (tmp_path / "snapshot").mkdir()
    bed: Any = SimpleNamespace(open=start, prepared=SimpleNamespace(state=tmp_path / "snapshot/state"))
    for _ in range(2):
        known = profile.symbols(bed)
        assert (known.at(0xFFFFFFFFC00000FF).name, known.at(0xFFFFFFFFC0001000).name) == ("cp_rx_poll", "(no symbol)")
    assert opened == [True]
    assert [(asked[0], asked[-1]) for asked in dut.asked] == [("run", "/proc/kallsyms"), ("read", "/proc/modules")]
    (tmp_path / "snapshot/symbols").unlink()
    dut.files.clear()
    assert profile.symbols(bed).at(0xFFFFFFFFC0001000).name == "cp_interrupt", "without the modules' sizes"


# iperf3 and rrul.


def test_iperf3_tests_are_run_in_their_order(monkeypatch) -> None:
    monkeypatch.setattr(Bed, "forwarded", lambda _, spec: iperf_result(spec))
    bed, said = Bed(), []
    runner = TrialRunner(bed, progress=said.append)
    (found,) = iperf.METHOD.run(runner, WORKLOAD, iperf.Options(four=True, duration=3))  # type: ignore[misc]
    assert bed.specs == [replace(one, seconds=3) for one in FOUR]
    assert found.samples == [iperf.sample_of(iperf_result(one)) for one in bed.specs]
    assert (found.method, found.summary) == ("iperf", iperf.NoSummary())
    assert said[0] == "TCP Rx: 0.0 Mbit/s, 25% idle"


@pytest.mark.parametrize(
    ("options", "test"),
    [
        ({}, IperfTrial()),
        ({"reverse": True}, IperfTrial(dut_sends=False)),
        ({"dut_serves": True}, IperfTrial(dut_sends=False, dut_serves=True)),
        ({"dut_serves": True, "reverse": True}, IperfTrial(dut_serves=True)),
        (
            {"udp": True, "rate_bps": 5, "duration": 6, "parallel": 7, "window": 3000, "soak": True},
            IperfTrial(udp=True, rate_bps=5, seconds=6, parallel=7, window_bytes=3000, soak=True),
        ),
    ],
)
def test_options_of_iperf3(options, test) -> None:
    assert iperf.Options(**options).trials() == [test]


@pytest.mark.parametrize("more", [{"udp": True}, {"reverse": True}])
def test_four_tests_are_both_protocols_and_directions(more) -> None:
    with pytest.raises(IrqlabError, match="--all"):
        iperf.Options(four=True, **more)
    with pytest.raises(IrqlabError, match="--duration 0"):
        iperf.Options(duration=0)


def test_rrul_s_samples_are_flows_then_probes(monkeypatch, tmp_path) -> None:
    trips = RoundTrips(1, 1, 1.0, 2_000_000, 3, 4, 5, 6)
    loaded = ProbeLatency(**{field.name: getattr(trips, field.name) for field in fields(trips)}, off_wire=trips, lost=0)
    account = Account(1, 2.0, 3, None, None, None)
    wanted = RrulTrial("rrul_be", flows=2, seconds=3, idle_s=4, interval_ns=200_000_000, window_bytes=5000)

    def run(bed: Any, spec: Any) -> RrulResult:
        return RrulResult(
            spec=spec, flows=(Flow("up", 0, "BE", 5.0, None, [1]), Flow("down", 0, "BE", 6.0, 1, [2])),
            probes={"icmp": [(1, 2, 0)], "udp_be1": [(3, None, None)]}, began_ns=7, up_bps=8e6, down_bps=9e6,
            dut={"up": account, "down": account}, latency={"udp_be1": {"base": loaded, "load": loaded}},
            received_by_dscp={"up BE": {"0": 7}},
            window_ns=10,
            instructions=11, idle_ratio=0.5, counted_ns=12, cpu_ticks={}, interrupts={}, kernel_log=[],
        )  # fmt: skip

    monkeypatch.setattr(Bed, "forwarded", run)
    bed, said = Bed(), []
    runner = TrialRunner(bed, progress=said.append)
    options = rrul.Options(test="rrul_be", flows=2, duration=3, idle=4, interval=200, window=5000)
    (found,) = rrul.METHOD.run(runner, WORKLOAD, options)  # type: ignore[misc]
    assert bed.specs == [wanted]
    assert [(s.flow, s.number, s.bps, s.retransmits, s.series) for s in found.samples[:2]] == [
        ("up", 0, 5.0, None, [1]), ("down", 0, 6.0, 1, [2]),
    ]  # fmt: skip
    assert [(s.probe, s.rtts) for s in found.samples[2:]] == [("icmp", [(1, 2, 0)]), ("udp_be1", [(3, None, None)])]
    assert (found.method, found.summary.began_ns, found.summary.up_bps, found.summary.test["flows"]) == ("rrul", 7, 8e6, 2)
    assert said == ["8.0 Mbit/s up, 9.0 down, UDP BE1 p50 2.00 ms (alone 2.00)"]
    with pytest.raises(IrqlabError, match=r"--flent a.json: the file name must end in .flent.gz"):
        rrul.Options(flent=Path("a.json"))
    with pytest.raises(IrqlabError, match="--flows 0"):
        rrul.Options(flows=0)
    with pytest.raises(IrqlabError, match="--test rrul_x: allowed are rrul, rrul_be"):
        rrul.Options(test="rrul_x")
    with pytest.raises(IrqlabError, match=r"--interval 0.05: allowed are 0.1 to 1000"):
        rrul.Options(interval=0.05)


# Calibration.


class Costing(Bed):
    """Frames take the time of their instructions, and of the costs: one interrupt each and a charge per byte."""

    def __init__(self, config: TestbedConfig) -> None:
        super().__init__()
        self.config = config

    def forwarded(self, spec: Any) -> Any:
        size, costs = spec.loads[0].size, spec.costs or Costs()
        top_pps = 1e9 / (20_000 + costs.irq + 2 * size * costs.byte) / (2 if spec.bidirectional else 1)
        found = FakeBench(lambda pps: min(pps, top_pps)).forwarded(spec)
        frames = found.frames_forwarded
        return replace(found, cost_events={"irq": frames, "byte": 2 * size * frames} if spec.count_events else None)


@pytest.fixture
def board(monkeypatch) -> Any:
    made: dict[str, Costing] = {}

    def resolve(config: TestbedConfig) -> Costing:
        return made.setdefault(f"{config.dut.schemes.variant or config.dut.schemes.rx}", Costing(config))

    monkeypatch.setattr(cells.Testbed, "resolve", resolve)
    said: list[str] = []
    base = TestbedConfig("d", dut=DutConfig(ring=64))
    return SimpleNamespace(
        of=lambda workload=WORKLOAD: Board(base, workload, threading.Semaphore(2), said.append), made=made, said=said
    )


def test_a_variant_s_testbed_is_made_once_and_has_the_cost_model(board) -> None:
    one = board.of()
    assert one.testbed("NAPI") is one.testbed("NAPI")
    assert one.testbed("NAPI").config == TestbedConfig(
        "d", dut=DutConfig(ring=64, schemes=combine(["NAPI"], None, None)[0]), cost_model=True
    )
    assert one.testbed("napi/off").config.dut.schemes == combine(None, "napi", "off")[0]
    assert one.testbed("").config.dut.schemes == combine(None, None, None)[0]
    assert one.base.cost_model is False
    with pytest.raises(IrqlabError, match=r"variant 'FAST': allowed are ORIGINAL, .* and RX/TX such as napi/off"):
        one.check([Cell("NAPI", 64), Cell("FAST", 64)])


def test_a_cell_without_costs_counts_its_events_in_a_trial_of_its_own(board) -> None:
    (found,) = board.of().measure([Cell("NAPI", 64)], Costs())
    asked = board.made["NAPI"].specs
    assert (found.cell, found.costs) == (Cell("NAPI", 64), Costs())
    assert found.throughput_pps == pytest.approx(50_000, rel=0.004)
    assert found.events == {"irq": 1.0, "byte": 128.0}
    gentle, first, *_, last = asked
    assert gentle.loads[0].rate_pps == cells.GENTLE_PPS
    assert first.loads[0].rate_pps == 250e6 / 4000, "the rate at which its instructions use the whole CPU"
    assert [spec.count_events for spec in asked] == [False] * (len(asked) - 1) + [True]
    assert last.loads[0].rate_pps == pytest.approx(0.9 * 50_000, rel=0.004)
    assert {(spec.loads[0].size, spec.costs, spec.above_line_rate, spec.seed) for spec in asked} == {(64, None, True, 3)}
    assert board.said == ["NAPI 64: 50.0 kpps at none"]


def test_a_cell_with_costs_counts_on_the_way(board) -> None:
    costs = Costs(irq=5_000)
    one = board.of(replace(WORKLOAD, bidirectional=True))
    both = [Cell("NAPI", 64), Cell("NAPI", 128)]
    found = one.measure(both, costs, {both[0]: 39_000.0})
    assert [m.cell for m in found] == both
    asked = board.made["NAPI"].specs
    assert {(spec.count_events, spec.costs) for spec in asked} == {(True, costs)}
    assert found[0].throughput_pps == pytest.approx(40_000, rel=0.01), "both directions together"
    mine = [spec.loads[0].rate_pps for spec in asked if spec.loads[0].size == 64]
    assert mine[0] == 19_500.0, "each direction's half of the guess"
    assert found[0].events["irq"] == 1.0


def test_costs_are_found_that_explain_a_board(board) -> None:
    """A board whose interrupts take 5 us and whose bytes take 20 ns more than the DUT's."""
    true = {Cell("NAPI", size): 1e9 / (20_000 + 5_000 + 2 * size * 20.0) for size in (64, 128, 256, 512, 1024)}
    found = calibration.run(board.of(), true, list(true), ("irq", "byte"))
    assert found.fit.costs.irq == pytest.approx(5_000, rel=0.03)
    assert found.fit.costs.byte == pytest.approx(20, rel=0.03)
    assert found.fit.terms == ("irq", "byte")
    assert [row.cell for row in found.charged.rows] == sorted(true)
    assert all(row.fitted for row in (*found.charged.rows, *found.bare.rows))
    assert found.charged.fitted_error < 0.005 < found.bare.fitted_error
    assert found.charged.predicted_error is None
    assert set(found.worth) == {"irq", "byte"}
    assert 1 <= found.rounds <= calibration.ROUNDS
    charged = {str(spec.costs) for spec in board.made["NAPI"].specs if spec.costs}
    assert len(charged) == found.rounds
    assert str(found.fit.costs) in charged
    stated = found.to_json()
    assert stated["rounds"] == found.rounds
    assert stated["cells"][0] == {
        "variant": "NAPI", "frame_bytes": 64, "board_pps": round(true[Cell("NAPI", 64)], 1),
        "lab_pps": round(found.charged.rows[0].lab_pps, 1), "lab_pps_without_costs": round(found.bare.rows[0].lab_pps, 1),
        "fitted": True,
    }  # fmt: skip
    assert stated["mean_error"] == round(found.charged.fitted_error, 5)
    assert stated["mean_error_without_costs"] == round(found.bare.fitted_error, 5)
    assert stated["left_out_error"] == round(found.fit.left_out_error, 5)
    assert stated["left_out_error_without"] == {name: round(error, 5) for name, error in found.worth.items()}
    assert stated["standard_errors_ns"] == {name: round(error, 3) for name, error in found.fit.standard_errors_ns.items()}
    once = calibration.run(board.of(), true, list(true), ("irq", "byte"), rounds=1)
    assert once.rounds == 1


def test_cells_that_are_not_fitted_are_predicted(board) -> None:
    true = {Cell("NAPI", size): 1e9 / (20_000 + 5_000 + 2 * size * 20.0) for size in (64, 128, 256, 512, 1024)}
    fit_to = [cell for cell in true if cell.frame_bytes != 256]
    found = calibration.run(board.of(), true, fit_to, ("irq", "byte"))
    assert [row.cell.frame_bytes for row in found.charged.rows if not row.fitted] == [256]
    assert [row.cell for row in found.bare.rows] == [row.cell for row in found.charged.rows]
    assert found.charged.predicted_error < 0.005 < found.bare.predicted_error
    assert {row["frame_bytes"]: row["fitted"] for row in found.to_json()["cells"]}[256] is False
    assert [one["name"] for one in found.to_json()["skill"]][:2] == ["lab with the costs", "lab without costs"]


def test_a_dut_slower_than_the_board_gets_no_costs(board) -> None:
    true = {Cell("NAPI", size): 51_000.0 for size in (64, 128, 256, 512)}
    found = calibration.run(board.of(), true, list(true), ("irq", "byte"))
    assert (found.rounds, str(found.fit.costs)) == (0, "none")
    assert found.charged == found.bare


def test_samples_of_a_fit_are_times_per_frame() -> None:
    cell, costs = Cell("NAPI", 64), Costs(irq=3)
    measured = Measured(cell, costs, 40_000.0, {"irq": 2.0})
    assert calibration.samples({cell: 50_000.0}, [measured]) == [fit.Sample(20_000.0, 25_000.0, {"irq": 2.0}, costs, "NAPI")]


# Matrix.


def test_a_cell_of_a_matrix_is_the_search_then_the_metrics() -> None:
    bed = Bed()
    bed.forwards = lambda pps: min(pps, 20_000.0)
    known, metrics = matrix.measure(stand_on(bed), WORKLOAD, profiled=False)
    assert (known.method, metrics.method) == ("throughput", "metrics")
    assert metrics.total_throughput_pps == known.total_throughput_pps == pytest.approx(20_000, rel=0.01)
    assert metrics.summary.profile is None


def test_drivers_of_a_matrix_have_the_schemes_they_can(monkeypatch) -> None:
    common = TestbedConfig("x", dut=DutConfig(ring=64))

    @dataclass(frozen=True)
    class Resolved:
        config: TestbedConfig
        has_schemes: bool
        nic: Any

    def resolve(config: TestbedConfig) -> Any:
        usb = "high" if config.driver.endswith("usb") else ""
        return Resolved(config, config.driver.startswith("irqmod"), Nic("x", 0, 0, 0, "x", usb_speed=usb))

    monkeypatch.setattr(matrix.Testbed, "resolve", resolve)
    found = matrix.testbeds(["irqmod_a", "8139cp"], ["NAPI", "napi+off", "NAPI"], common)
    assert [(bed.config.driver, bed.config.dut.schemes.variant, bed.config.dut.schemes.rx) for bed in found] == [
        ("irqmod_a", "NAPI", "napi"), ("irqmod_a", None, "napi"), ("8139cp", None, None),
    ]  # fmt: skip
    assert {bed.config.dut.ring for bed in found} == {64}
    assert len(matrix.testbeds(["irqmod_a"], ["all"], common)) == len(matrix.COMBINATIONS)
    assert len(matrix.testbeds(["irqmod_usb"], ["all"], common)) == len(matrix.USB_COMBINATIONS)
    assert [bed.config.driver for bed in matrix.testbeds(["irqmod_a"], [], common)] == ["irqmod_a"]
    monkeypatch.setattr(matrix.sides, "parse", lambda text, _: matrix.sides.Side(text))
    with pytest.raises(IrqlabError, match=r"a\.json: a matrix takes only drivers"):
        matrix._config("a.json", common)


# A profile under overload.


def test_shares_of_a_profile_are_of_all_instructions(profiled, monkeypatch) -> None:
    monkeypatch.setattr(overload, "symbols", lambda bed: Symbols.parse(KALLSYMS, MODULES) if bed else None)
    bed = Bed()
    bed.modules = [SimpleNamespace(name="8139cp")]
    row = rows.de()
    found, shares = overload.profile(stand_on(bed), row, 2.0, 10_000.0, WORKLOAD)
    ((spec, where),) = profiled
    assert (spec.load.rate_pps, spec.tuning, where["softirq"]) == (20_000.0, row.tuning, [0xFFFFFFFF81003B00])
    assert found.offered_pps == 20_000.0
    assert (shares.hardirq, shares.softirq) == (2 / 14.5, 3 / 14.5)
    assert (shares.process_kernel, shares.user) == (0.5 / 14.5, 9 / 14.5)
    monkeypatch.setitem(globals(), "LOADED", [(-1, 0xFFFFFFFF81001010, "idle", 7, 1)])
    _, shares = overload.profile(stand_on(bed), row, 2.0, 10_000.0, WORKLOAD)
    assert shares == overload.Shares(0, 0, 1, 0)
    monkeypatch.setitem(globals(), "LOADED", [(-1, 0xFFFFFFFF81001010, "process", 7, 1)])
    _, shares = overload.profile(stand_on(bed), row, 2.0, 10_000.0, WORKLOAD)
    assert shares == overload.Shares(0, 0, 1, 0)


# Files.


def test_files_are_of_the_last_row(monkeypatch, tmp_path) -> None:
    drawn, written = [], []
    monkeypatch.setattr(profile.flamegraph, "file", lambda data: drawn.append(data) or "<svg/>")
    found: Any = [
        SimpleNamespace(data={"driver": name, "rx_scheme": None, "tx_scheme": None, "variant": None, "mips": mips})
        for name, mips in (("a", 7), ("b", 8), ("c", 9))
    ]
    options = profile.Options(flamegraph=tmp_path / "a.svg")
    profile.METHOD.write(found, options)
    assert (drawn, (tmp_path / "a.svg").read_text()) == ([found[2].data], "<svg/>")
    profile.METHOD.write([], options)
    profile.METHOD.write(found, profile.Options())
    assert len(drawn) == 1
    monkeypatch.setattr(rrul.flent, "write", lambda *told: written.append(told))
    into = tmp_path / "a.flent.gz"
    rrul.METHOD.write(found, rrul.Options(flent=into))
    rrul.METHOD.write([], rrul.Options(flent=into))
    rrul.METHOD.write(found, rrul.Options())
    assert written == [(found[2].data, "c 9 MIPS", into)]
    asked = []
    line = line_tables.FieldLine("skb", 1, "len", 0.5, 2.0, 3.0, 0.25, None, None, "f g")
    monkeypatch.setattr(line_tables, "field_lines", lambda data: asked.append(data) or [line])
    options = profile.Options(memory=True, fields=tmp_path / "a.csv")
    profile.METHOD.write(found, options)
    profile.METHOD.write([], options)
    assert asked == [found[2].data]
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == ["skb,1,len,0.5,2.0,3.0,0.25,,,f g"]
