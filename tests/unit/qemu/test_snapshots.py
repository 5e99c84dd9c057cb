# SPDX-License-Identifier: GPL-2.0-or-later
"""The snapshot store."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from irqlab.errors import IrqlabError
from irqlab.qemu import snapshots


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    return tmp_path / "snapshots"


class Taker:
    def __init__(self) -> None:
        self.taken = 0

    def __call__(self, state: Path) -> dict[str, int]:
        self.taken += 1
        time.sleep(0.05)
        state.write_text("state")
        return {"answer": 42}


def test_taken_once_even_by_many_threads() -> None:
    taker = Taker()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: snapshots.get("k", taker), range(8)))
    assert taker.taken == 1
    assert {(s.state.read_text(), s.facts["answer"]) for s in found} == {("state", 42)}


def test_touch_marks_a_snapshot_as_used_and_reports_a_missing_one(cache: Path) -> None:
    found = snapshots.get("k", Taker())
    os.utime(cache / "k", (0, 0))
    assert snapshots.touch(found)
    snapshots.make_room(cache, keep_bytes=0)
    assert found.state.exists()
    os.utime(cache / "k", (0, 0))
    snapshots.make_room(cache, keep_bytes=0)
    assert not snapshots.touch(found)


def test_a_failed_snapshot_leaves_no_files(cache: Path) -> None:
    def fail(state: Path) -> dict[str, int]:
        state.write_text("half")
        raise IrqlabError("no")

    with pytest.raises(IrqlabError, match="no"):
        snapshots.get("k", fail)
    assert list(cache.iterdir()) == []


def test_a_damaged_snapshot_is_removed_and_reported() -> None:
    snapshots.get("k", Taker()).state.with_name("facts.json").write_text("{")
    with pytest.raises(IrqlabError, match="damaged"):
        snapshots.get("k", Taker())
    assert snapshots.get("k", Taker()).facts == {"answer": 42}


def test_the_least_recently_used_snapshots_are_removed_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age, name in enumerate(("new", "old", "oldest")):
        snapshots.get(name, Taker())
        then = time.time() - 10_000 * (age + 1)
        os.utime(cache / name, (then, then))
    monkeypatch.setattr(snapshots, "KEEP_BYTES", 50)
    snapshots.get("another", Taker())
    assert sorted(d.name for d in cache.iterdir()) == ["another", "new", "old"]


def test_a_snapshot_in_use_is_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots.get("fresh", Taker())
    monkeypatch.setattr(snapshots, "KEEP_BYTES", 0)
    snapshots.get("another", Taker())
    assert (cache / "fresh").is_dir()
