# SPDX-License-Identifier: GPL-2.0-or-later
"""Live measurements without ports: verdicts on trials, calibrations, the journal, files side by side."""

from __future__ import annotations

import json
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from irqlab import units
from irqlab.calibrate.cells import Cell, read_live
from irqlab.cli import live_schemes
from irqlab.cli.live import Common, Files, rate
from irqlab.compare import beside
from irqlab.config.ensemble import Ensemble
from irqlab.config.schemes import COMBINATIONS, Schemes
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.live import calibration, dut, judge, prepare
from irqlab.live.calibration import Calibration
from irqlab.live.config import LiveConfig
from irqlab.live.ports import LiveError
from irqlab.live.testbed import LiveTestbed, Settings, what_helps
from irqlab.methods import burst, loss, metrics, throughput
from irqlab.present.tables import Table
from irqlab.qemu.cancellation import CancelledError, workers
from irqlab.qemu.rpc import TesterError
from irqlab.runner.jobs import UserInterruptError
from irqlab.runner.measure import Outcome
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from tests.data.samples import sample
from tests.own_cache import own_cache
from tests.unit.fakes import FakeBench, changed, live

PORTS = ("p0", "p1")


def _stream(**changes: int) -> dict[str, Any]:
    return {"intended": 1000, "sent": 1000, "lost": 0, "late": 0, **changes}


def _thread(**changes: int) -> dict[str, Any]:
    zero = ("involuntary_switches", "waited_for_cpu_ns", "steal_ticks", "longest_gap_ns", "stalls", "stalled_ns")
    return {**dict.fromkeys(zero, 0), **changes}


def _report(dropped: int = 0, interface: dict[str, int] | None = None, **changes: Any) -> dict[str, Any]:
    port = {"dropped": dropped, "interface": interface or {}, "time_stamps": "kernel"}
    empty = {"dropped": 0, "interface": {}, "time_stamps": "kernel"}
    times = {"p50_ns": 1, "p99_ns": 2, "max_ns": 3}
    base = {"ports": [empty, port], "sending": _thread(), "receiving": _thread(), "lateness": times, "handover": times}
    return {**base, "stuck": False, **changes}


def test_losses_of_the_device_are_believed() -> None:
    found = judge.judged([_stream(lost=10)], _report())
    assert found["doubts"] == found["stalls"] == []
    assert found["own_loss"] == 0
    assert found["time_stamps"] == ["kernel"]
    assert judge.judged([_stream(lost=10)], _report(dropped=9))["doubts"] == []


@pytest.mark.parametrize(
    "report",
    [
        _report(dropped=10),
        _report(interface={"rx_missed_errors": 10}),
        _report(interface={"tx_dropped": 10}),
        _report(dropped=4, interface={"rx_dropped": 4, "tx_errors": 6}),
    ],
)
def test_losses_that_may_be_the_testers_own_are_not(report: dict[str, Any]) -> None:
    assert "10 frames were lost, and the tester's own ports may have lost" in judge.doubts([_stream(lost=10)], report)[0]
    assert judge.doubts([_stream()], report) == []


def test_what_a_virtual_port_drops_on_the_way_out_is_the_devices_loss() -> None:
    report = _report(interface={"tx_dropped": 10})
    report["ports"][1]["driver"] = "veth"
    assert judge.own_loss(report) == 0
    report["ports"][1]["driver"] = "igb"
    assert judge.own_loss(report) == 10


@dataclass
class LiveFake(FakeBench):
    """A device behind a tester that sends no more than `sends_pps`, and loses a frame in every third trial."""

    sends_pps: float = float("inf")
    unlucky: bool = False

    def forwarded(self, spec: ForwardingTrial) -> ForwardingResult:
        found = super().forwarded(spec)
        slow = spec.loads[0].rate_pps > self.sends_pps
        if self.unlucky and len(self.specs) % 3 == 0:
            found = replace(found, streams=[changed(s, lost=s.lost + 1, received=s.received - 1) for s in found.streams])
        return replace(found, live=live(unreached="too slow" if slow else ""))


def test_a_search_says_whether_the_tester_is_the_limit() -> None:
    workload = Workload()
    free = throughput.run(TrialRunner(LiveFake(lambda pps: min(pps, 30_000.0))), workload)
    assert free.tester_limited is False
    slow = throughput.run(TrialRunner(LiveFake(lambda pps: pps, sends_pps=20_000.0)), workload)
    assert slow.tester_limited is True
    assert slow.total_throughput_pps == pytest.approx(20_000, rel=0.01)
    known = LiveFake(lambda pps: pps, ceiling=20_000.0)
    capped = throughput.run(TrialRunner(known), workload)  # type: ignore[arg-type]
    assert capped.tester_limited is True
    assert max(spec.loads[0].rate_pps for spec in known.specs) == 20_000
    with pytest.raises(IrqlabError, match="the tester itself is too slow"):
        throughput.run(TrialRunner(LiveFake(lambda pps: pps, sends_pps=1.0)), workload)


def test_with_noise_most_trials_decide() -> None:
    testbed = LiveFake(lambda pps: min(pps, 30_000.0), unlucky=True)
    found = throughput.run(TrialRunner(testbed), Workload(trials_per_load=3))  # type: ignore[arg-type]
    assert found.total_throughput_pps == pytest.approx(30_000, rel=0.01)
    loads = [spec.loads[0].rate_pps for spec in testbed.specs]
    assert loads.count(found.summary.rate_pps_per_direction) >= 2


def test_loads_beyond_the_tester_are_left_out() -> None:
    known = LiveFake(lambda pps: min(pps, 10_000.0), ceiling=16_000.0)
    found = loss.run(TrialRunner(known), Workload())  # type: ignore[arg-type]
    assert [sample.load for sample in found.samples] == [0.25, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5]
    with pytest.raises(IrqlabError, match="at line rate"):
        burst.run(TrialRunner(known), Workload())  # type: ignore[arg-type]


def test_what_was_not_sent_is_unreached_not_lost() -> None:
    assert judge.unreached([_stream(sent=995)]) == ""
    assert judge.unreached([_stream(sent=994)]) == "the tester sent 994 of 1000 frames"
    assert judge.doubts([_stream(sent=500)], _report()) == []
    stalled = _report(sending=_thread(stalls=1, longest_gap_ns=20_000_000, stalled_ns=20_000_000))
    assert "the host stopped it" in judge.doubts([_stream(sent=500)], stalled)[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stalls": 2, "longest_gap_ns": 5_000_000}, "2 stalls, the longest of 5.0 ms"),
        ({"waited_for_cpu_ns": 1_500_000, "involuntary_switches": 3}, "1.5 ms without its processor, 3 involuntary switches"),
        ({"steal_ticks": 4}, "4 ticks stolen"),
    ],
)
def test_stalls_are_named(changes: dict[str, int], said: str) -> None:
    report = _report(receiving=_thread(**changes))
    (found,) = judge.stalls(report)
    assert found.startswith("receiving: ")
    assert said in found
    late = [_stream(late=1)]
    assert "came late" in judge.doubts(late, report)[0]
    assert judge.doubts(late, _report()) == []


def _calibration(**changes: Any) -> Calibration:
    base: dict[str, Any] = {"ports": PORTS, "kind": "af_xdp", "drivers": ("veth", "veth"), "rates_pps": {64: 1e6, 1518: 5e5}}
    return Calibration(**{**base, "latency_p50_ns": {64: 2000.0}, "latency_p99_ns": {64: 9000.0}, **changes})


def test_between_two_sizes_the_time_per_frame_is_linear() -> None:
    known = _calibration()
    assert known.rate_pps(64, False) == pytest.approx(1e6)
    assert known.rate_pps(1518, False) == pytest.approx(5e5)
    assert known.rate_pps(791, False) == pytest.approx(1e9 / 1500)
    assert known.rate_pps(64, True) == pytest.approx(5e5)  # only one direction was measured
    assert _calibration(bidirectional=True).rate_pps(64, True) == pytest.approx(1e6)
    assert _calibration(rates_pps={512: 7e5}).rate_pps(64, False) == pytest.approx(7e5)
    assert 5e5 < known.rate_pps("imix", False) < 1e6


def test_a_calibration_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    config = LiveConfig(PORTS, kind="af_xdp")
    with pytest.raises(IrqlabError, match="irqlab live calibrate p0 p1 --kind af_xdp"):
        calibration.read(config)
    calibration.keep(_calibration(), calibration.place(config))
    assert calibration.read(config) == _calibration(made_s=calibration.read(config).made_s)
    with pytest.raises(IrqlabError, match="is for p0 and p1 with --kind af_xdp"):
        calibration.read(LiveConfig(PORTS), calibration.place(config))
    calibration.place(config).write_text("{}")
    with pytest.raises(IrqlabError, match="not a calibration"):
        calibration.read(config)


def test_what_helps_a_tester_without_a_verdict() -> None:
    every = what_helps(LiveConfig(PORTS))
    for option in ("--cpus", "--sleep", "--kind af_xdp", "--line-rate"):
        assert option in every
    chosen = what_helps(LiveConfig(PORTS, kind="af_xdp", sleep=True))
    assert "--sleep" not in chosen
    assert "af_xdp" not in chosen


def test_the_journal_survives_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(own_cache(tmp_path, "live")))
    setting = tmp_path / "setting"
    setting.write_text("old")
    journal = prepare.Journal(PORTS)
    assert not journal.load()
    journal.note(prepare.Undo("here", "the setting", (), str(setting), "old"))
    setting.write_text("new")  # and the crash
    said: list[str] = []
    prepare.restore(PORTS, said.append)
    assert setting.read_text() == "old"
    assert said == ["  undone: the setting"]
    assert not journal.path.exists()
    journal.note(prepare.Undo("here", "what cannot be", ("false",)))
    with pytest.raises(IrqlabError, match="what cannot be"):
        prepare.restore(PORTS, said.append)
    assert journal.load()


def test_a_change_that_was_not_made_is_not_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(own_cache(tmp_path, "live")))
    journal = prepare.Journal(PORTS)
    said: list[str] = []
    here = prepare.Changes(prepare.Here(), journal, said.append)
    with pytest.raises(IrqlabError, match="`false` failed"):
        here.command("what cannot be", ("false",), ("true",))
    (tmp_path / "setting").mkdir()  # as if it could be read, but not written
    monkeypatch.setattr(here.machine, "read", lambda path: "old")
    with pytest.raises(IrqlabError, match="cannot write new"):
        here.file(str(tmp_path / "setting"), "new")
    assert said == []
    assert not journal.undo
    assert not journal.path.exists()


@pytest.mark.parametrize(
    ("clock", "set_", "on", "made"),
    [
        ("/dev/ptp0", "0,0", False, [["--set", "0,1"]]),
        ("/dev/ptp0", "1,0", False, [["--set", "1,1"]]),
        ("/dev/ptp0", "0,1", True, []),
        (None, None, False, []),
    ],
)
def test_a_nic_that_can_stamp_frames_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: str | None, set_: str | None, on: bool, made: list[list[str]]
) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    asked: list[list[str]] = []

    class Here(prepare.Here):
        def run(self, *argv: str) -> str:
            asked.append(list(argv[3:]))
            return json.dumps({"clock": clock, "set": set_, "on": on})

    said: list[str] = []
    journal = prepare.Journal(PORTS)
    prepare._stamp(prepare.Changes(Here(), journal, said.append), "p0")
    assert asked == [[], *made]
    assert said == ([f"  p0: time stamps of {clock}"] if made else [])
    assert [list(one.argv[3:]) for one in journal.undo] == ([["--set", set_]] if made else [])


def test_a_nic_that_refuses_to_stamp_frames_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))

    class Here(prepare.Here):
        def run(self, *argv: str) -> str:
            if "--set" in argv:
                raise prepare.NotMadeError("refused")
            return json.dumps({"clock": "/dev/ptp0", "set": "0,0", "on": False})

    journal = prepare.Journal(PORTS)
    prepare._stamp(prepare.Changes(Here(), journal, print), "p0")
    assert not journal.undo


def test_no_change_without_a_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("not a directory")
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))
    journal = prepare.Journal(PORTS)
    made = tmp_path / "made"
    with pytest.raises(IrqlabError, match="cannot write"):
        prepare.Changes(prepare.Here(), journal, print).command("a file", ("touch", str(made)), ("rm", str(made)))
    assert not made.exists()
    assert not journal.undo


def test_the_order_of_the_ports_does_not_matter_to_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(own_cache(tmp_path, "live")))
    prepare.Journal(("p1", "p0")).note(prepare.Undo("here", "nothing", ("true",)))
    said: list[str] = []
    prepare.restore(("p0", "p1"), said.append)
    assert said == ["  undone: nothing"]


def test_restore_without_the_ports_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(own_cache(tmp_path, "live")))
    ports = ("gone-port-0", "gone-port-1")
    journal = prepare.Journal(ports)
    journal.note(prepare.Undo("here", "gone-port-0: gso off", ("false",)))
    with pytest.raises(IrqlabError, match=r"no interface gone-port-0 and gone-port-1 here.*network namespace.*delete") as raised:
        prepare.restore(ports, lambda _: None)
    assert str(journal.path) in str(raised.value)
    assert journal.load()


def test_the_journal_of_another_user_is_left_to_that_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    prepare.Journal(PORTS).note(prepare.Undo("here", "nothing", ("true",)))
    monkeypatch.setattr("os.access", lambda *_: False)
    said: list[str] = []
    with pytest.raises(IrqlabError, match=r"belongs to the user .*: run this command as that user"):
        prepare.restore(PORTS, said.append)
    assert said == []


class Board:
    """In place of a connection to an agent: files of irqmod, and a shell."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.broken: IrqlabError | None = None

    def guest(self, command: str, limit_ns: int | None = None, watched: bool = True, **arguments: Any) -> Any:
        if command == "exec":
            script = arguments["argv"][-1].replace("/sys/class/net", str(self.home))
            done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
            return {"code": done.returncode, "out": done.stdout, "err": done.stderr}
        raise AssertionError(command)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("gone", [False, True])
def test_schemes_are_put_back_even_if_the_agent_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: bool) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))
    irqmod = tmp_path / "eth0/irqmod"
    irqmod.mkdir(parents=True)
    journal = prepare.Journal(PORTS)
    journal.dut = "user@board"
    journal.note(prepare.Undo("dut", "the address", ("true",)))
    journal.note(dut._scheme_undo("eth0", "napi", "poll"))
    board = Board(tmp_path)
    monkeypatch.setattr(prepare, "Remote", lambda target: board)
    one = dut.LiveDut.__new__(dut.LiveDut)
    one.config, one._journal, one._prepared = LiveConfig(PORTS, dut="user@board"), journal, 1
    one.remote = Board(tmp_path) if gone else board  # type: ignore[assignment]
    if gone:
        assert one.remote is not None
        one.remote.broken = LiveError("gone")
    assert one.put_back() == ""
    assert [(irqmod / f"{way}_scheme").read_text() for way in ("rx", "tx")] == ["napi\n", "poll\n"]
    assert [entry.what for entry in journal.undo] == ["the address"]
    (irqmod / "rx_scheme").unlink()
    (irqmod / "tx_scheme").unlink()
    irqmod.rmdir()
    journal.note(dut._scheme_undo("eth0", "napi", "poll"))
    assert "not put back on the device: eth0: napi/poll; `irqlab live restore p0 p1` does it" in one.put_back()
    assert prepare.Journal(PORTS).load()


def test_schemes_are_set_when_they_change_and_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    made: list[Schemes] = []
    monkeypatch.setattr(dut.schemes, "apply", lambda _dut, wanted, *_: made.append(wanted) or [])
    monkeypatch.setattr(dut.schemes, "read", lambda *_: {"rx": "napi", "tx": "poll"})
    monkeypatch.setattr(dut.napi, "apply", lambda *_: None)
    one = dut.LiveDut.__new__(dut.LiveDut)
    one.config = LiveConfig(PORTS, dut="user@board", dut_ports=("eth0", "eth1"))
    one.remote = Board(tmp_path)  # type: ignore[assignment]
    one._journal, one._schemes, one._prepared = prepare.Journal(PORTS), None, None
    monkeypatch.setattr(one, "driver", lambda: "irqmod_i8255x")
    first, second = Schemes(rx="interrupt", tx="off"), Schemes(rx="napi", tx="poll")
    for wanted in (Schemes(), first, first, second, first):
        one.set_schemes(wanted)
    without_masks = Schemes(tx="off")  # before `interrupt`, with which the `poll` of before is not possible
    assert made == [without_masks, first, second, without_masks, first]
    assert [entry.what for entry in one._journal.undo] == ["eth0: napi/poll", "eth1: napi/poll"]
    other = prepare.Journal(PORTS)
    other.dut = "user@other"
    other.note(prepare.Undo("dut", "the address", ("true",)))
    one._journal, one._schemes, one._prepared, one._schemes_noted = prepare.Journal(PORTS), None, None, False
    with pytest.raises(IrqlabError, match="the ports are prepared for --dut user@other"):
        one.set_schemes(first)


def test_several_schemes_are_chosen_by_name() -> None:
    common = Common(LiveConfig(PORTS, dut="user@board", dut_ports=("eth0", "eth1")), Settings("", None, None), [], Ensemble())
    found = live_schemes.chosen("napi+off, interrupt+interrupt,napi+off", common)
    assert found == {"napi+off": Schemes(rx="napi", tx="off"), "interrupt+interrupt": Schemes(rx="interrupt", tx="interrupt")}
    assert len(live_schemes.chosen("all", common)) == len(COMBINATIONS)
    for text, said in (
        (None, "--schemes is missing"),
        ("NAPI", "--schemes NAPI: allowed are"),
        ("interrupt+poll", "allowed are"),
    ):
        with pytest.raises(IrqlabError, match=said):
            live_schemes.chosen(text, common)
    with pytest.raises(IrqlabError, match="--schemes needs an agent"):
        live_schemes.chosen("napi+off", replace(common, config=LiveConfig(PORTS)))
    with pytest.raises(IrqlabError, match="this command takes --schemes"):
        live_schemes.chosen("napi+off", replace(common, config=replace(common.config, schemes=Schemes(rx="napi"))))


@pytest.mark.parametrize(
    ("files", "kept", "said"),
    [
        (Files(), False, "interrupted; nothing was kept: --json FILE keeps the results so far"),
        (Files(), True, "interrupted; the results so far are kept (3 trials)"),
        (Files(json_file=Path("r.json")), False, "interrupted; the results so far are kept (3 trials)"),
    ],
)
def test_what_is_kept_after_ctrl_c_is_said(capsys: pytest.CaptureFixture[str], files: Files, kept: bool, said: str) -> None:
    outcome = Outcome(error=UserInterruptError("interrupted; the results so far are kept (3 trials)"))
    with pytest.raises(typer.Exit) as raised:
        files.leave(outcome, kept)
    assert raised.value.exit_code == 130
    assert capsys.readouterr().err == f"irqlab: {said}\n"
    files.leave(Outcome(), kept)


def test_what_the_tester_cannot_offer_is_not_a_metric() -> None:
    for ceiling, measured in ((float("inf"), True), (35_000.0, False)):
        runner = TrialRunner(LiveFake(lambda pps: min(pps, 30_000.0), ceiling=ceiling))
        known = throughput.run(runner, Workload())
        found = metrics.run(runner, Workload(), known, profiled=False)
        assert (found.summary.metrics["overload_forwarded_pps"] is not None) is measured
        assert len(found.trials) == 2 + measured
        assert (found.summary.overload_pps is not None) is measured


@pytest.mark.parametrize(("text", "bps"), [("100M", 10**8), ("2.5G", 2.5e9), ("10k", 10**4), ("1000000", 10**6)])
def test_line_rates(text: str, bps: float) -> None:
    assert rate(text) == bps


def test_two_files_side_by_side() -> None:
    one = sample()
    found = beside.tables(one, one, ("board", "lab"))
    assert len(found) == sum(row["complete"] for row in one["measured"]["results"])
    for table in found:
        assert isinstance(table, Table)
        assert [column.text for column in table.columns] == ["", "board", "lab", "Ratio"]
        assert all(row[3].text in ("1", units.NONE) for row in table.rows)
    with pytest.raises(IrqlabError, match="no method"):
        beside.tables(one, {"measured": {"results": []}}, ("board", "lab"))


def test_applications_and_cliffs_side_by_side() -> None:
    same = {"frame_bytes": 64, "bidirectional": False, "complete": True, "total_throughput_pps": None, "samples": []}
    same |= {"interrupts_per_frame": None, "driver": "d", "rx_scheme": None, "tx_scheme": None, "variant": None}

    def document(best: float, cliff: float | None) -> dict[str, Any]:
        rows = [
            {**same, "method": "application", "summary": {"best_application_pps": best}},
            {**same, "method": "cliff", "summary": {"signs_pps": {"cpu": cliff, "loss": None}}},
        ]
        return {"measured": {"results": rows}}

    found = beside.tables(document(1000.0, 2000.0), document(1500.0, 2000.0), ("board", "lab"))
    rows = [[cell.text for cell in row] for table in found if isinstance(table, Table) for row in table.rows]
    assert rows == [
        ["Most that the application received, kpps", "1.00", "1.50", "1.5"],
        ["Cliff by cpu, kpps", "2.00", "2.00", "1"],
    ]


def test_a_boards_cells_come_from_a_live_file(tmp_path: Path) -> None:
    document = sample("throughput")
    rows = [row for row in document["measured"]["results"] if row["method"] == "throughput"]
    document["measured"]["results"] = rows[:1]
    bidirectional = rows[0]["bidirectional"]
    file = tmp_path / "live.json"
    rows[0]["line_rate_limited"] = False
    file.write_text(json.dumps(document))
    (cell, pps), *_ = read_live(file, bidirectional).items()
    assert isinstance(cell, Cell)
    assert pps == rows[0]["total_throughput_pps"]
    with pytest.raises(IrqlabError, match="no throughput in"):
        read_live(file, not bidirectional)
    rows[0]["tester_limited"] = True
    file.write_text(json.dumps(document))
    with pytest.raises(IrqlabError, match="cannot be fitted"):
        read_live(file, bidirectional)


def test_what_needs_the_lab_is_refused_on_real_ports() -> None:
    bench = LiveTestbed.__new__(LiveTestbed)
    with pytest.raises(LiveError, match="only in the lab, not on real ports"):
        bench.lab()
    with pytest.raises(LiveError, match="instructions cannot be counted on real ports"):
        TrialRunner(bench).profile(ForwardingTrial(loads=()), {})


def test_only_a_batch_that_ends_during_a_trial_ends_the_ports() -> None:
    ended = threading.Event()

    class Waiting(LiveTestbed):
        def __init__(self) -> None:
            self.live, self._lock, self._remote = LiveConfig(PORTS), threading.Lock(), None
            self.ports: Any = SimpleNamespace(cancel=ended.set)
            self.dut: Any = SimpleNamespace(set_schemes=lambda _: None)

        def _measure(self, trial: Any) -> Any:
            begun.wait(10)
            assert ended.wait(10)
            raise CancelledError("cancelled")

    testbed, begun = Waiting(), threading.Barrier(2)
    trial = FakeBench(lambda pps: pps)
    with suppress(IrqlabError), workers(1):
        raise IrqlabError("no trial")
    assert not ended.is_set()
    with suppress(IrqlabError), workers(1) as pool:
        future = pool.submit(testbed.run, TrialRunner(trial).spec(Workload(), 1_000.0))  # type: ignore[arg-type]
        begun.wait(10)
        raise IrqlabError("another trial failed")
    assert isinstance(future.exception(), CancelledError)


def test_a_program_that_the_device_lacks_is_named() -> None:
    class Lacking:
        def guest(self, *_: Any, **__: Any) -> Any:
            raise TesterError("exec ethtool: No such file or directory (os error 2)")

    with pytest.raises(prepare.NotMadeError, match="the device cannot run ethtool; if it has none, install it there"):
        prepare.There(Lacking()).run("ethtool", "-i", "eth0")  # type: ignore[arg-type]
