# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials on a testbed without QEMU: what is kept, what is run again, and what becomes of errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import pytest

from irqlab.config import hardware
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.dut.agent import DutError, NotSupportedError
from irqlab.dut.counters import Counters
from irqlab.errors import IrqlabError
from irqlab.qemu import snapshots
from irqlab.qemu.failure import MachineError
from irqlab.qemu.rpc import ConnectionLostError, TesterError, UnsupportedError
from irqlab.qemu.snapshots import Snapshot
from irqlab.qemu.watchdog import NoAnswerError
from irqlab.trials import cache as trialcache
from irqlab.trials import initial
from irqlab.trials import testbed as module
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.iperf import IperfTrial
from irqlab.trials.rrul import RrulTrial
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Conditions, Trial


@dataclass(frozen=True)
class Counted(Trial["CountedResult"]):
    """A trial that counts how often it was measured."""

    value: int = 1
    file: str | None = None

    measured: ClassVar[list[int]] = []

    @property
    def cacheable(self) -> bool:
        return self.file is None

    def measure(self, dut: Any, conditions: Conditions) -> CountedResult:
        self.measured.append(self.value)
        return CountedResult(self, self.value * 2 + 0.1, conditions.link_wait_ns)


@dataclass(frozen=True)
class CountedResult:
    spec: Counted
    twice: float
    link_wait_ns: int


Counted.result_type = CountedResult


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    monkeypatch.setattr(trialcache, "code_fingerprint", lambda name: name)  # this module is none of the lab's
    Counted.measured.clear()


class Rpc:
    """The tester of a DUT that is not there."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def call(self, op: str, **arguments: Any) -> Any:
        self.calls.append((op, arguments))
        return {"nodes": [1]} if op == "profile_result" else {}


def bed(tmp_path: Path, cached: bool = True, driver: bytes = b"a", **dut: Any) -> Testbed:
    """A testbed whose DUT was prepared before."""
    config = TestbedConfig("x", cached=cached, dut=DutConfig(**dut))
    machine = SimpleNamespace(mips=250, memory_bytes=1, quantum_ns=0, key=lambda: "machine")
    nic = SimpleNamespace(model="rtl8139", line_rate_bps=100_000_000, rewinds=True)
    loaded = SimpleNamespace(name="8139cp", sha256=driver.hex(), vermagic="v")
    made = Testbed(config, machine, [loaded], nic)  # type: ignore[arg-type, list-item]
    facts = {"running": {"schemes": None}, "link_wait_ns": 77, "counters": asdict(Counters())}
    made.__dict__["prepared"] = Snapshot(tmp_path / "state", facts)
    return made


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every machine that was started."""
    machines: list[Any] = []

    @contextmanager
    def start(config: Any, state: Path, profile: bool = False, to_save: bool = False) -> Iterator[Any]:
        one = SimpleNamespace(
            rpc=Rpc(),
            profile=profile,
            state=state,
            failure=lambda what: MachineError(f"{what}: it died of age"),
            config=SimpleNamespace(functional=False),
        )
        machines.append(one)
        yield one

    monkeypatch.setattr(initial, "start", start)
    monkeypatch.setattr(initial.POOL, "machine", start)
    monkeypatch.setattr(snapshots, "touch", lambda _: True)
    return machines


def test_a_trial_is_run_once(tmp_path: Path, started: list[Any]) -> None:
    first = bed(tmp_path).run(Counted(3))
    again = bed(tmp_path).run(Counted(3))
    assert first == again == CountedResult(Counted(3), 6.1, 77)
    assert Counted.measured == [3]
    assert len(started) == 1


@pytest.mark.parametrize(
    "other",
    [{"driver": b"b"}, {"ring": 64}, {"schemes": Schemes(rx="napi")}, {"cached": False}],
)
def test_another_testbed_is_another_trial(tmp_path: Path, other: dict[str, Any]) -> None:
    bed(tmp_path).run(Counted())
    bed(tmp_path, **other).run(Counted())
    assert len(Counted.measured) == 2


def test_another_memory_is_another_trial_from_the_same_snapshot(tmp_path: Path) -> None:
    plain, slow = bed(tmp_path), bed(tmp_path)
    board = hardware.load("mpc8250-memory").memory
    assert board is not None
    slow.config = replace(slow.config, memory=board)
    slower = bed(tmp_path)
    slower.config = replace(slow.config, memory=replace(board, latency_ns=200.0))
    assert plain.parts == slow.parts == slower.parts
    for one in (plain, slow, slower, plain, slow):
        one.run(Counted())
    assert len(Counted.measured) == 3


def test_another_trial_is_another_result(tmp_path: Path) -> None:
    assert [bed(tmp_path).run(Counted(n)).twice for n in (1, 2, 1)] == [2.1, 4.1, 2.1]
    assert Counted.measured == [1, 2]


def test_trials_of_the_cache_are_not_run_elsewhere(tmp_path: Path, started: list[Any]) -> None:
    asked: list[Any] = []

    class Elsewhere:
        def measure(self, key: str, given: Any, trial: Any, addresses: Any, lines: Any) -> Any:
            asked.append((key, given.state, given.conditions.link_wait_ns, trial, addresses, lines))
            return CountedResult(trial, 9.5, 1), None if addresses is None else {"nodes": []}

    plain, moved = bed(tmp_path), bed(tmp_path)
    moved.elsewhere = Elsewhere()
    for _ in range(2):
        assert moved.run(Counted()).twice == 9.5
    assert plain.run(Counted()).twice == 9.5
    assert moved.run(Counted(), cached=False).twice == 9.5
    assert moved.profile(Counted(), {"functions": [1]})[1] == {"nodes": []}
    keys = [key for key, *_ in asked]
    assert (keys[0], len(set(keys))) == (keys[1], 2)
    assert asked[0][1:] == (tmp_path / "state", 77, Counted(), None, None)
    assert (started, Counted.measured) == ([], [])


def test_a_trial_that_must_not_come_from_the_cache_runs(tmp_path: Path) -> None:
    one = bed(tmp_path)
    one.run(Counted())
    one.run(Counted(), cached=False)
    assert len(Counted.measured) == 2


def test_a_trial_that_writes_a_file_is_run_each_time(tmp_path: Path) -> None:
    for _ in range(2):
        bed(tmp_path).run(Counted(file="x.pcapng"))
    assert len(Counted.measured) == 2
    assert not ForwardingTrial(loads=(), capture="x.pcapng").cacheable


def test_a_profiled_trial_is_kept_apart(tmp_path: Path, started: list[Any]) -> None:
    addresses = {"functions": [1]}
    bed(tmp_path).run(Counted())
    for _ in range(2):
        result, profile = bed(tmp_path).profile(Counted(), addresses)
        assert (result.twice, profile) == (2.1, {"nodes": [1]})
    assert [one.profile for one in started] == [False, True]
    assert started[1].rpc.calls == [("profile", {"addresses": addresses}), ("profile_result", {})]
    bed(tmp_path).profile(Counted(), {"functions": [2]})
    assert len(started) == 3


def sample(kind: Any, trial: Any) -> Any:
    """A value of that type, whatever it is; the trial, of the trial's."""
    simple = {Any: 7, int: 7, float: 1.5, str: "a", bool: True, type(None): None, type(trial): trial}
    if kind in simple:
        return simple[kind]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{entry.name: sample(hints[entry.name], trial) for entry in fields(kind)})
    origin, inner = get_origin(kind), get_args(kind)
    if origin is dict:
        return {"a": sample(inner[1], trial)}
    if origin is list:
        return [sample(inner[0], trial)]
    if origin is tuple:
        return tuple(sample(one, trial) for one in inner if one is not ...)
    return sample(inner[0], trial)  # of a union


@pytest.mark.parametrize("trial", [IperfTrial(seconds=1), RrulTrial()])
def test_iperf_and_rrul_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: Any) -> None:
    measured: list[Any] = []

    def measure(self: Any, dut: Any, conditions: Conditions) -> Any:
        measured.append(self)
        return sample(self.result_type, self)

    monkeypatch.setattr(type(trial), "measure", measure)
    first, second = (bed(tmp_path).run(trial) for _ in range(2))
    assert measured == [trial]
    assert first == second
    assert first.spec is trial
    bed(tmp_path).run(replace(trial, seconds=7))
    assert len(measured) == 2


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ConnectionLostError("x"), MachineError, "the DUT went away: it died of age"),
        (TesterError("start: no"), DutError, "start: no"),
        (UnsupportedError("start: no"), NotSupportedError, "start: no"),
        (NoAnswerError("no answer for 15 s", 9), MachineError, "the DUT hangs: no answer for 15 s; it is in f at 9"),
        (IrqlabError("other"), IrqlabError, "other"),
    ],
)
def test_errors_say_what_became_of_the_dut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[IrqlabError], said: str
) -> None:
    monkeypatch.setattr(initial.LabDut, "whereabouts", lambda _, hung: f"it is in f at {hung.rsp}")
    with pytest.raises(kind, match=f"^{said}$"), bed(tmp_path).open():
        raise error


def test_a_snapshot_that_went_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Any]) -> None:
    taken = Snapshot(tmp_path / "again", bed(tmp_path).prepared.facts)
    monkeypatch.setattr(snapshots, "touch", lambda _: False)
    monkeypatch.setattr(snapshots, "get", lambda key, take, room_bytes: taken)
    with bed(tmp_path).open():
        pass
    assert started[0].state == tmp_path / "again"


def test_the_key_of_a_snapshot_is_all_that_prepares_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> list[str]:
        beds = (bed(tmp_path), bed(tmp_path, driver=b"b"), bed(tmp_path, ring=64))
        return [snapshots.key_of(one.parts) for one in beds]

    before = keys()
    assert len(set(before)) == 3
    assert keys() == before
    monkeypatch.setattr(module, "code_fingerprint", lambda name: f"other {name}")
    assert not set(keys()) & set(before)


def test_the_machine_s_own_code_is_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bed(tmp_path)._machine_key
    monkeypatch.setattr(module, "code_fingerprint", lambda name: name)
    assert bed(tmp_path)._machine_key != before
