# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures that are computed from what a trial counted: each has one value that is right, and every count here is another."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from irqlab.config.schemes import Schemes
from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.dut.counters import Counters
from irqlab.methods import application as receiving
from irqlab.methods import cliff, metrics, profile, throughput
from irqlab.methods.metrics import Metric
from irqlab.methods.receiving import Sample, spec_of
from irqlab.present.parts import Numbers
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials import application
from irqlab.trials.application import ApplicationTrial, Places, Tuning
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from irqlab.trials.record import Answer, Stream
from irqlab.units import NONE
from tests.data.formulas import Formula, plateau, rows_of
from tests.unit import fakes
from tests.unit.fakes import LATENCY, FakeBench, answer, port, stand_on
from tests.unit.fakes import latency as latency_of
from tests.unit.methods.test_application import CAPACITY_PPS, formula

# Forwarding.


def stream(load: int = 0, **changed: Any) -> Stream:
    counted = {"sent": 1000, "received": 900, "received_in_window": 800, "lost": 100}
    return fakes.stream({"load": load, "to": 1, **counted, **changed})


def forwarded(*streams: Stream, **changed: Any) -> ForwardingResult:
    """A trial of half a second."""
    made = ForwardingResult(
        spec=ForwardingTrial((Load(2000.0),), duration_ns=500_000_000),
        streams=list(streams or (stream(),)),
        ports=[port(refused=7, received=40), port(refused=11, received=1960)],
        instructions=1_600_000,
        idle_ns=125_000_000,
        counters=Counters(interrupts={"eth0": 300, "eth1": 200}),
        link_wait_ns=5,
        kernel_log=[],
    )
    return replace(made, **changed)


def test_rates_are_of_the_window() -> None:
    trial = forwarded()
    assert trial.window_s == 0.5
    assert trial.offered_pps == 2000.0
    assert trial.forwarded_pps == 1600.0, "what came out in the window, not what came out"
    assert trial.loss_ratio == 0.1
    assert trial.instructions_per_frame == 2000.0
    assert trial.to_json()["idle_ratio"] == 0.25


def test_counts_add_up_over_streams_or_over_those_of_a_load() -> None:
    trial = forwarded(stream(0), stream(1, sent=50, lost=5), stream(1, sent=7))
    assert trial.total("sent") == 1057
    assert trial.total("sent", load=0) == 1000
    assert trial.total("sent", load=1) == 57


def test_one_late_frame_is_not_keeping_up() -> None:
    assert forwarded().kept_up
    assert not forwarded(stream(), stream(late=1)).kept_up


def test_interrupts_are_divided_by_the_frames_of_the_whole_trial() -> None:
    trial = forwarded()
    assert trial.frames_forwarded == 2000
    assert trial.interrupts_per_frame() == 0.25


def test_nothing_is_divided_by_nothing() -> None:
    trial = forwarded(stream(sent=0, received=0, received_in_window=0, lost=0), ports=[port()])
    assert (trial.loss_ratio, trial.instructions_per_frame, trial.interrupts_per_frame()) == (0.0, None, None)
    assert trial.caused_per_frame("rx") is None


def test_drops_have_their_places() -> None:
    interfaces = {
        "eth0": {"rx_missed_errors": 1, "rx_fifo_errors": 2, "rx_over_errors": 4, "rx_dropped": 8, "tx_dropped": 16},
        "eth1": {"rx_missed_errors": 32, "rx_fifo_errors": 64, "rx_over_errors": 128, "rx_dropped": 256, "tx_dropped": 512},
    }
    counters = Counters(interfaces=interfaces, backlog_drops=1024, qdisc_drops=2048)
    assert forwarded(counters=counters).drops() == {
        "nic": 18, "nic_counted": 231, "rx_dropped": 264, "backlog": 1024, "qdisc": 2048, "tx_dropped": 528,
    }  # fmt: skip
    assert forwarded(counters=Counters(interfaces={"eth0": {}})).drops() == {
        "nic": 18, "nic_counted": 0, "rx_dropped": 0, "backlog": 0, "qdisc": 0, "tx_dropped": 0,
    }  # fmt: skip


def test_a_trial_as_json_states_every_count() -> None:
    counters = Counters(
        interrupts={"eth0": 500}, softirqs={"NET_RX": 3}, cpu_ticks={"idle": 4}, interfaces={"eth0": {"rx_dropped": 5}},
        time_squeezes=6, driver={"eth0": {"rx_interrupts": 1000, "tx_interrupts": 200, "never": 0}},
    )  # fmt: skip
    found = forwarded(counters=counters, kernel_log=["a line"]).to_json()
    spec = found.pop("spec")
    assert (found.pop("streams"), found.pop("ports")) == (
        [msgspec.to_builtins(stream())],
        [msgspec.to_builtins(one) for one in forwarded().ports],
    )
    assert found.pop("drops")["rx_dropped"] == 5
    assert found == {
        "offered_pps": 2000.0, "forwarded_pps": 1600.0, "loss_ratio": 0.1, "kept_up": True, "instructions": 1_600_000,
        "instructions_per_frame": 2000.0, "idle_ratio": 0.25, "interrupts": {"eth0": 500}, "interrupts_per_frame": 0.25,
        "rx_interrupts_per_frame": 0.5, "tx_interrupts_per_frame": 0.1, "softirqs": {"NET_RX": 3}, "cpu_ticks": {"idle": 4},
        "time_squeezes": 6, "interfaces": {"eth0": {"rx_dropped": 5}},
        "driver_counters": {"eth0": {"rx_interrupts": 1000, "tx_interrupts": 200}}, "link_wait_ns": 5, "kernel_log": ["a line"],
    }  # fmt: skip
    assert (spec["duration_ns"], spec["warmup_ns"]) == (500_000_000, 50_000_000)
    assert not {"capture", "costs", "count_events"} & set(spec)


# Side by side.


def with_latency(**ns: int) -> Stream:
    return stream(latency={**LATENCY, "count": 5, **ns})


def test_of_two_directions_the_longer_latency_counts() -> None:
    short = with_latency(p50_ns=10, p90_ns=20, p99_ns=30, p999_ns=45, max_ns=50)
    long = with_latency(p50_ns=11, p90_ns=22, p99_ns=33, p999_ns=44, max_ns=55)
    known = MethodResult("throughput", "d", "n", 64, True, 250, total_throughput_pps=4000.0)
    overload = forwarded(stream(received_in_window=400), instructions=8_000_000)
    seen: Any = SimpleNamespace(frames=200, nic_reads=100, nic_writes=300, memory=UNSET)
    low = forwarded(stream(received_in_window=160))
    assert metrics.metrics(known, low, forwarded(short, long), overload, seen) == {
        "throughput_pps": 4000.0, "latency_p50_ns": 11, "latency_p90_ns": 22, "latency_p99_ns": 33, "latency_p999_ns": 45,
        "latency_max_ns": 55, "instructions_per_frame": 10_000.0, "interrupts_per_frame": 0.25, "nic_accesses_per_frame": 2.0,
        "nic_reads_per_frame": 0.5, "overload_forwarded_pps": 800.0, "overload_instructions_per_frame": 20_000.0,
    }  # fmt: skip
    empty = with_latency(count=0, max_ns=99)
    unknown = metrics.metrics(known, low, forwarded(empty), overload, None)
    assert [unknown[name] for name in ("latency_max_ns", "nic_reads_per_frame", "nic_accesses_per_frame")] == [None] * 3
    assert metrics.metrics(known, low, forwarded(empty, short), overload, None)["latency_max_ns"] == 50


@pytest.mark.parametrize(("levels", "l2"), [(["L1I", "L1D"], None), (["L1I", "L1D", "L2", "L3"], 1.1)])
def test_lines_of_memory_are_per_frame(levels, l2) -> None:
    known = MethodResult("throughput", "d", "n", 64, True, 250, total_throughput_pps=4000.0)

    def function(n: int) -> Any:
        return SimpleNamespace(
            new_code_lines=300 * n, new_data_lines=200 * n, code_misses=[60, 50 * n, 1][: len(levels) - 1],
            data_misses=[40, 5 * n, 2][: len(levels) - 1],
        )  # fmt: skip

    memory = SimpleNamespace(levels=levels, functions=[function(1), function(3)])
    seen: Any = SimpleNamespace(frames=200, nic_reads=100, nic_writes=300, memory=memory)
    found = metrics.metrics(known, forwarded(memory=fakes.memory(L1D=1600)), forwarded(), None, seen)
    assert (found["code_lines_per_frame"], found["data_lines_per_frame"]) == (6.0, 4.0)
    # A model that takes time counts the fills itself.
    assert (found["l1i_fills_per_frame"], found["l1d_fills_per_frame"], found.get("l2_fills_per_frame")) == (0.6, 2.0, l2)
    found = metrics.metrics(known, forwarded(), forwarded(), None, seen)
    assert found["l1d_fills_per_frame"] == 0.4


def test_the_loads_are_shares_of_a_rate_on_the_grid() -> None:
    testbed = FakeBench(lambda offered: min(offered, 50_000.0))
    known = MethodResult(
        "throughput", "d", "n", 64, False, 250, total_throughput_pps=50_000.0, per_interface_throughput_mbps=33.0,
        line_rate_limited=True, summary=SimpleNamespace(rate_pps_per_direction=50_000.0),
    )  # fmt: skip
    found = metrics.run(stand_on(testbed), Workload(), known, profiled=False)
    assert [spec.loads[0].rate_pps for spec in testbed.specs] == [10_000.0, 45_000.0, 100_000.0]
    assert (found.method, found.summary.base_pps, found.summary.profile) == ("metrics", 50_000.0, None)
    assert (found.summary.cost_pps, found.summary.below_pps, found.summary.overload_pps) == (10_000.0, 45_000.0, 100_000.0)
    assert found.summary.timed == found.trials[1].streams[0].latency.count
    assert (found.total_throughput_pps, found.per_interface_throughput_mbps, found.line_rate_limited) == (50_000.0, 33.0, True)
    assert found.summary.metrics["overload_forwarded_pps"] == found.trials[2].forwarded_pps == pytest.approx(49_750)
    assert found.instructions_per_frame == found.summary.metrics["instructions_per_frame"] == 4000.0
    metrics.run(stand_on(testbed), Workload(), known, base_pps=1000.0, profiled=False)
    assert [spec.loads[0].rate_pps for spec in testbed.specs[3:]] == [200.0, 900.0, 2000.0]


def test_base_rates_are_the_next_ones_below_on_a_coarse_grid() -> None:
    assert metrics.base_rates(54_800.0) == (50_000.0, 40_000.0)
    assert metrics.base_rates(50_000.0) == (50_000.0, 40_000.0)
    assert metrics.BELOW * metrics.base_at(40_000.0) == pytest.approx(40_000.0)
    assert metrics.base_rates(49_999.9) == (40_000.0, 31_500.0)
    assert metrics.base_rates(1_100.0) == (1_000.0, 800.0)
    assert metrics.base_rates(0.99) == (0.8, 0.63)
    for number in range(1, 2000):
        high, low = metrics.base_rates(number * 97.0)
        assert low < high <= number * 97.0 < high * 1.3


def test_the_trial_at_the_low_load_may_be_profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    testbed = FakeBench(lambda offered: min(offered, 50_000.0))
    known = MethodResult("throughput", "d", "n", 64, False, 250, total_throughput_pps=50_000.0)
    seen: Any = SimpleNamespace(frames=200, nic_reads=100, nic_writes=300, memory=UNSET)
    low, asked, said = forwarded(), [], []

    def run(*told: Any, **more: Any) -> MethodResult:
        asked.append((told, more))
        return MethodResult("profile", "d", "n", 64, False, 250, samples=["a"], summary=seen, trials=[low])

    monkeypatch.setattr(metrics.profiling, "run", run)
    runner = TrialRunner(testbed, progress=said.append)
    found = metrics.run(runner, Workload(), known, base_pps=1000.0)
    assert asked == [((runner, Workload()), {"rate_pps": 200.0, "memory": False})]
    assert (found.samples, found.summary.profile, found.trials[0], found.summary.base_pps) == (["a"], seen, low, 1000.0)
    assert found.summary.metrics["nic_reads_per_frame"] == 0.5
    assert said == ["0.9 kpps forwarded", "2.0 kpps offered, 2.0 forwarded"]
    metrics.run(runner, Workload(), known, base_pps=1000.0, profiled=False)
    assert said[2:] == ["0.2 kpps forwarded", "0.9 kpps forwarded", "2.0 kpps offered, 2.0 forwarded"]


def test_figures_are_written_in_their_unit() -> None:
    kpps, plain = Metric("a", "A", "kpps", 1, "search", 0), Metric("b", "B", "", -1, "below", 0)
    assert metrics.text(kpps, None) == NONE
    assert metrics.text(kpps, 54_321.0).startswith("54.3")
    assert metrics.text(plain, 100.0) == "100"
    assert metrics.text(plain, 99.94) == "99.9"
    assert metrics.text(plain, 99.999) == "100"


def test_shades_go_from_the_worst_to_the_best() -> None:
    more, less = metrics._shades([1.0, 10.0, 100.0], +1), metrics._shades([1.0, 10.0, 100.0], -1)
    assert [more(v) for v in (1.0, 10.0, 100.0)] == pytest.approx([0.08, 0.34, 0.6])
    assert [less(v) for v in (1.0, 10.0, 100.0)] == pytest.approx([0.6, 0.34, 0.08])
    small = metrics._shades([0.01, 0.1, 0.001], +1)
    assert [small(v) for v in (0.001, 0.01, 0.1)] == pytest.approx([0.08, 0.34, 0.6])
    assert metrics._shades([5.0, 5.0], +1)(5.0) == 0.3
    assert metrics._shades([], +1)(5.0) == 0.3


def test_cells_hold_the_values_that_ensembles_are_ranked_by() -> None:
    rows = rows_of(
        [
            (bed, metrics.run(stand_on(bed), Workload(), throughput.run(stand_on(bed), Workload()), profiled=False))
            for bed in (Formula(plateau(20_000.0)), Formula(plateau(30_000.0), driver="sample8255x"))
        ]
    )
    (section,) = metrics.METHOD.sections(rows, Numbers())
    tables = section.groups[0].tables
    assert len(tables) == len(metrics.DRAWN) + 1
    assert [cell.value for cell in tables[0].rows[1]] == [None, rows[1].summary.metrics["throughput_pps"]]
    assert [cell.shade for cell in (line[1] for line in tables[0].rows)] == pytest.approx([0.08, 0.6])
    assert tables[-1].rows[0][2].value == rows[0].summary.metrics["throughput_pps"]
    (alone,) = metrics.METHOD.sections(rows[:1], Numbers())
    assert [table.caption for table in alone.groups[0].tables] == ["All metrics, side by side"]
    assert metrics.METHOD.sections([], Numbers()) == []
    other = replace(rows[1], data={**rows[1].data, "frame_bytes": 512})
    (section,) = metrics.METHOD.sections([rows[0], other], Numbers())
    assert [[cell.text == NONE for cell in line[1:]] for line in section.groups[0].tables[0].rows] == [
        [False, True],
        [True, False],
    ]


# A receiving application.


@pytest.mark.parametrize(("sent", "polled", "ratio"), [(0, 0, 0.0), (1, 1, 1.0), (8, 2, 0.25), (8, None, None)])
def test_polled_frames_are_a_share_of_those_sent(sent, polled, ratio) -> None:
    made = formula(spec_of(Workload(), 1000.0, Tuning(), echo=True))
    made = replace(made, polled=polled, places=replace(made.places, sent=sent))
    made = replace(made, places=replace(made.places, nic=sent))
    assert Sample.of(made, None).polled_ratio == ratio
    (line,) = receiving.Line.of(SimpleNamespace(samples=[Sample.of(made, None)]))  # type: ignore[arg-type]
    assert line.lost_nic == min(1, sent)
    assert made.spec.histogram is True
    assert spec_of(Workload(), 1000.0, Tuning()).histogram is False


def reading(scale: int, echoed: int = 0) -> application._Reading:
    counters = Counters(
        interrupts={"eth0": 70 * scale, "eth0+eth1": 30 * scale, "eth1": 999 * scale}, backlog_drops=20 * scale,
        time_squeezes=4 * scale, interfaces={
            "eth0": {"rx_packets": 900 * scale, "rx_missed_errors": 60 * scale},
            "eth1": {"rx_packets": 70 * scale, "rx_missed_errors": 5 * scale},
        },
        driver={},
    )  # fmt: skip
    receiver = {"datagrams": 500 * scale, "echoed": echoed}
    snmp = {"Udp": {"RcvbufErrors": 300 * scale}}
    switches: dict[str, int | None] = {"eth0": 8 * scale, "eth1": scale}
    return application._Reading(counters, snmp, receiver, 12 * scale, 11 * scale, 25 * scale, 50_000_000 * scale, switches)


ANSWER = Answer.of(
    answer(
        [{"sent": 800, "received_in_window": 440, "latency": {**LATENCY, "count": 3}}],
        [port(sent=1000, received=620), port(sent=100, received=640)],
        watched=[[1_000, 13_500], [100, 500]],
        instructions=77,
    )
)


def measured(spec: ApplicationTrial, echoed: int = 0) -> application.ApplicationResult:
    conditions: Any = SimpleNamespace(mips=250, instruction_ns=None, processors=1)
    interfaces = ("eth0", "eth1")[: spec.interfaces]
    return application._result(conditions, spec, interfaces, ANSWER, ((5, 990),), reading(1), reading(2, echoed), ["log"])


def test_an_application_s_figures() -> None:
    """In a window of 200 ms and a load of 250 ms: 12,500 units of 1,000 instructions of 50,000,000 are a quarter."""
    found = measured(ApplicationTrial(Load(4000.0)))
    assert found.cpu_available == 0.25
    assert found.cpu_used == 0.75
    assert (found.offered_pps, found.application_pps, found.returned_pps) == (4000.0, 2000.0, 2200.0)
    assert found.places == Places(sent=1000, nic=100, backlog=20, socket=300, received=500, elsewhere=80, application=0)
    assert found.loss_ratio == 0.5
    assert (found.nic_missed, found.time_squeezes, found.switches) == (60, 4, 8)
    assert found.interrupts_per_s == 400.0
    assert (found.ksoftirqd_wakeups_per_s, found.ksoftirqd_share) == (100.0, pytest.approx(0.2))
    assert (found.latency, found.instructions, found.rate_estimates_pps, found.kernel_log) == (None, 77, ((5, 990),), ("log",))
    assert found.instructions_per_datagram == 37_500_000 / 400
    assert found.polled is None, "the receiver does not poll"
    for tuning in (Tuning(busy_poll_us=0), Tuning(prefer_busy_poll=True)):
        assert measured(ApplicationTrial(Load(4000.0), tuning)).polled == 11


def test_figures_of_two_interfaces_are_added_up() -> None:
    found = measured(ApplicationTrial(Load(4000.0), interfaces=2))
    assert found.places == Places(sent=1100, nic=130, backlog=20, socket=300, received=500, elsewhere=150, application=0)
    assert (found.nic_missed, found.switches) == (65, 9)
    assert found.interrupts_per_s == 4 * (70 + 30 + 999)


def test_what_is_not_sent_back_and_what_has_no_receiver() -> None:
    echo = measured(ApplicationTrial(Load(4000.0), echo=True), echoed=470)
    assert (echo.places.application, echo.latency) == (30, latency_of(count=3))
    ping = measured(ApplicationTrial(Load(4000.0), kind="ping"))
    assert ping.instructions_per_datagram == 37_500_000 / 440
    assert (ping.places, ping.application_pps) == (Places(1000, 100, 20, 0, 620, 260, 0), 2200.0)
    through = measured(ApplicationTrial(Load(4000.0), kind="forward"))
    assert through.places == Places(1000, 100, 20, 0, 640, 240, 0)
    assert through.latency == latency_of(count=3)
    screened = measured(ApplicationTrial(Load(4000.0), kind="screen"))
    assert screened.places == Places(1000, 100, 20, 12, 640, 228, 0)


# The cliff.


def test_the_cliff_is_narrowed_down_to_one_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBench, "run", lambda _, spec: formula(spec))
    found = cliff.external(stand_on(FakeBench(lambda pps: pps)), Workload(), Tuning(schemes=Schemes(rx="de")))
    assert found.cliff_pps == pytest.approx(0.99 * CAPACITY_PPS, rel=0.01)
    assert found.cliff_pps >= 0.99 * CAPACITY_PPS
    loads = [trial.offered_pps for trial in found.curve]
    below = max(pps for pps in loads if pps < found.cliff_pps)
    assert found.cliff_pps <= below * 1.01


# A profile.


def test_the_residual_is_what_the_instruction_counter_has_more(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    testbed = FakeBench(lambda offered: offered)

    def counted(spec: ForwardingTrial, *_: Any) -> tuple[ForwardingResult, dict[str, Any]]:
        trial = testbed.run(spec)
        return trial, {"instructions": trial.instructions - 123}

    def fill(_result: Any, _testbed: Any, _answer: Any, _known: Any, residual: int, offered: Any) -> None:
        kept.update(residual=residual, offered=offered)

    monkeypatch.setattr(testbed, "profile", counted, raising=False)
    monkeypatch.setattr(profile, "symbols", lambda _: None)
    monkeypatch.setattr(profile, "addresses", lambda _: {})
    monkeypatch.setattr(profile, "_fill", fill)
    found = profile.run(stand_on(testbed), Workload(duration_ns=10**9), rate_pps=1000.0)
    assert kept["residual"] == 123
    assert kept["offered"] == profile.Offered(load=None, rate_pps=1000.0, frames=995, per="forwarded")
    assert found.instructions_per_frame == 4000.0
    testbed.forwards = lambda _: 0.0
    profile.run(stand_on(testbed), Workload(duration_ns=10**9), rate_pps=1000.0)
    assert (kept["offered"].frames, kept["offered"].per) == (1000, "offered")
