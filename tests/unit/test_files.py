# SPDX-License-Identifier: GPL-2.0-or-later
"""Temporary directories of processes that were killed, and disks without room."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irqlab import files
from irqlab.errors import IrqlabError
from irqlab.files import SCRATCH, YOUNG_S, Scratch

OWNER = "import sys, time; from irqlab.files import Scratch; one = Scratch(); print(one.path, flush=True); time.sleep(600)"


def owned(home: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with a temporary directory."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(home)}
    )
    assert owner.stdout is not None
    return owner, Path(owner.stdout.readline().strip())


def age(path: Path) -> None:
    long_ago = time.time() - 2 * YOUNG_S
    os.utime(path, (long_ago, long_ago))


def test_a_directory_is_removed_once_its_owner_is_dead(tmp_path: Path) -> None:
    owner, path = owned(tmp_path)
    try:
        assert path.is_dir()
        (path / "console.log").write_text("x")
        age(path)
        files.sweep.__wrapped__(tmp_path)
        assert (path / "console.log").is_file()
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        files.sweep.__wrapped__(tmp_path)
        assert not path.exists()
    finally:
        owner.kill()
        owner.wait()


def test_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "irqlab-results"
    target.mkdir()
    (target / "a").touch()
    (tmp_path / f"{SCRATCH}link").symlink_to(target)
    (tmp_path / f"{SCRATCH}file").touch()
    young = tmp_path / f"{SCRATCH}young"
    young.mkdir()
    age(tmp_path / f"{SCRATCH}file")
    os.utime(tmp_path / f"{SCRATCH}link", (0, 0), follow_symlinks=False)
    files.sweep.__wrapped__(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        target.name,
        *(f"{SCRATCH}{name}" for name in ("link", "file", "young")),
    }
    assert (target / "a").is_file()
    monkeypatch.setattr(files.time, "time", lambda: time.monotonic() + 10**10)
    files.sweep.__wrapped__(tmp_path)
    assert not young.exists()
    assert (target / "a").is_file()


def test_a_closed_directory_is_gone() -> None:
    with Scratch() as path:
        (path / "a").touch()
    assert not path.exists()
    one = Scratch()
    one.close()
    one.close()
    assert not one.path.exists()


def test_a_disk_without_room_is_named(tmp_path: Path) -> None:
    files.require_room(tmp_path / "not" / "there", 1)
    with pytest.raises(
        IrqlabError, match=rf"^no space left on the disk of {tmp_path}/x: \d+ MiB are free, 1073741825 MiB are needed$"
    ):
        files.require_room(tmp_path / "x", (1 << 50) + 1)


def test_a_place_without_temporary_directories_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(IrqlabError, match=f"cannot make a temporary directory in {tmp_path}/nowhere: No such file"):
        Scratch()
