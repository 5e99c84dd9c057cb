# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that are kept for further trials, with machines that are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from irqlab.qemu import machine, pool
from irqlab.qemu.machine import MachineConfig
from irqlab.qemu.pool import Pool
from irqlab.qemu.rpc import ConnectionLostError, TesterError

A, B, C = Path("/a/state"), Path("/b/state"), Path("/c/state")


@dataclass(frozen=True)
class FakeConfig:
    """What the pool looks at."""

    memory: str = ""


CONFIG = cast(MachineConfig, FakeConfig())
WITH_MEMORY = cast(MachineConfig, FakeConfig("ram=1"))


@dataclass
class FakeMachine:
    """Notes what is done to it."""

    config: MachineConfig
    snapshot: Path
    done: list[str] = field(default_factory=list)
    fails: Exception | None = None
    """What waiting for the rewound machine raises."""
    ended: bool = False
    idle: bool = False

    @property
    def rpc(self) -> FakeMachine:
        return self

    def rewind(self, snapshot: Path) -> None:
        assert snapshot == self.snapshot
        self.done.append("rewind")

    def rewound(self) -> None:
        if self.fails is not None:
            raise self.fails
        self.done.append("rewound")

    def take(self) -> None:
        self.idle = False

    def release(self) -> None:
        self.idle = True

    def close(self) -> None:
        self.done.append("close")


@dataclass
class Stand:
    """A pool, and the machines that it has started."""

    pool: Pool
    started: list[FakeMachine]

    def use(self, snapshot: Path, config: MachineConfig = CONFIG) -> FakeMachine:
        with self.pool.machine(config, snapshot) as used:
            return cast(FakeMachine, used)


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    started: list[FakeMachine] = []

    def start(config: MachineConfig, snapshot: Path) -> Any:
        started.append(FakeMachine(config, snapshot))
        return started[-1]

    monkeypatch.setattr(machine, "start", start)
    monkeypatch.setattr(pool, "max_idle", lambda _memory_bytes, _cores: 2)
    monkeypatch.delenv("IRQLAB_FRESH", raising=False)
    return Stand(Pool(), started)


def test_a_machine_serves_the_next_trial_from_the_same_snapshot(stand: Stand) -> None:
    first = stand.use(A)
    assert first.done == ["rewind"], "told at once, so that it is done while nobody waits"
    assert stand.use(A) is first
    assert stand.use(B) is not first
    assert first.done == ["rewind", "rewound", "rewind"]


def test_a_machine_with_another_memory_is_another_machine(stand: Stand) -> None:
    plain, slow = stand.use(A), stand.use(A, WITH_MEMORY)
    assert plain is not slow
    assert (stand.use(A), stand.use(A, WITH_MEMORY)) == (plain, slow)


def test_a_machine_serves_one_trial_at_a_time(stand: Stand) -> None:
    with stand.pool.machine(CONFIG, A) as one, stand.pool.machine(CONFIG, A) as other:
        assert one is not other


def test_a_machine_ends_with_the_work_of_who_uses_it(stand: Stand) -> None:
    for _ in range(2):
        with stand.pool.machine(CONFIG, A) as used:
            assert not cast(FakeMachine, used).idle
        assert cast(FakeMachine, used).idle
    assert len(stand.started) == 1


def test_the_least_recently_used_machines_are_ended(stand: Stand) -> None:
    a, b = stand.use(A), stand.use(B)
    assert stand.use(A) is a
    stand.use(C)
    assert "close" in b.done
    assert "close" not in a.done
    assert stand.use(A) is a


def test_a_machine_whose_trial_failed_is_not_used_again(stand: Stand) -> None:
    with pytest.raises(TesterError), stand.pool.machine(CONFIG, A):
        raise TesterError("no answer")
    assert stand.started[0].done == ["close"]
    assert stand.use(A) is stand.started[1]


def test_a_machine_that_has_died_is_replaced(stand: Stand) -> None:
    stand.use(A).fails = ConnectionLostError("gone")
    assert stand.use(A) is stand.started[1]
    assert stand.started[0].done == ["rewind", "close"]
    assert stand.use(A) is stand.started[1], "the next one is kept again"


def test_a_machine_that_was_killed_after_it_had_answered_is_replaced(stand: Stand) -> None:
    stand.use(A).ended = True
    assert stand.use(A) is stand.started[1]
    assert stand.started[0].done == ["rewind", "rewound", "close"]


def test_where_machines_cannot_be_rewound_none_is_kept(stand: Stand) -> None:
    stand.use(A).fails = TesterError("rewind: no")
    assert stand.use(A).done == ["close"]
    assert stand.use(A).done == ["close"]
    assert len(stand.started) == 3
    assert stand.use(B).done == ["rewind"], "others are"


@pytest.mark.parametrize(("value", "kept"), [("1", False), ("0", True), ("", True)])
def test_the_environment_has_a_new_process_for_every_trial(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, value: str, kept: bool
) -> None:
    monkeypatch.setenv("IRQLAB_FRESH", value)
    assert stand.use(A).done == (["rewind"] if kept else ["close"])


def test_closing_ends_the_machines_of_a_snapshot_or_all(stand: Stand) -> None:
    a, b = stand.use(A), stand.use(B)
    stand.pool.close(A)
    assert (a.done[-1], b.done[-1]) == ("close", "rewind")
    stand.pool.close()
    assert b.done[-1] == "close"
    assert stand.use(B) is not b


@pytest.mark.parametrize(
    ("memory_gib", "cores", "machines"),
    [(1, 2, 1), (2, 2, 1), (8, 2, 6), (16, 2, 8), (512, 2, 8), (512, 64, 64), (16, 64, 12)],
)
def test_how_many_are_kept_depends_on_memory_and_cores(memory_gib: int, cores: int, machines: int) -> None:
    assert pool.max_idle(memory_gib << 30, cores) == machines
