# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache of DUT snapshots, keyed by a hash of everything they depend on.

There are two kinds: booted (kernel and NICs, no driver), and prepared (driver under test loaded, links up, frames passing).
Trials start from the second.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irqlab import files
from irqlab.errors import IrqlabError
from irqlab.setup import paths

KEEP_BYTES = 3 << 30
"""Maximum size of the cache; the least recently used snapshots are evicted first."""
IN_USE_S = 1800
"""Snapshots used within this time are never evicted: another process may be using them."""

Taker = Callable[[Path], dict[str, Any]]
"""Writes the state to a file, and returns facts to store with it."""


@dataclass(frozen=True)
class Snapshot:
    """A state file and the facts stored with it."""

    state: Path
    facts: dict[str, Any]


def key_of(parts: dict[str, Any]) -> str:
    """The key: a hash of everything a snapshot depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def get(key: str, take: Taker, room_bytes: int = 0) -> Snapshot:
    """The snapshot with this key; taken if it does not exist. Safe with concurrent processes and threads.

    Raises IrqlabError if the disk has less room than it may take.
    """
    home = paths.cache_dir() / "snapshots"
    directory = home / key
    with paths.locked(f"snapshot-{key}"):
        if not directory.is_dir():
            make_room(home)
            files.require_room(home, room_bytes)
            with paths.appearing(directory) as new:
                facts = take(new / "state")
                (new / "facts.json").write_text(json.dumps(facts))
        with contextlib.suppress(OSError):
            os.utime(directory)
        try:
            return Snapshot(directory / "state", json.loads((directory / "facts.json").read_text()))
        except (OSError, json.JSONDecodeError) as error:
            shutil.rmtree(directory, ignore_errors=True)
            raise IrqlabError(f"the snapshot {directory} is damaged and has been removed; try again ({error})") from error


def touch(snapshot: Snapshot) -> bool:
    """Marks a snapshot as in use; False if it has been evicted."""
    try:
        os.utime(snapshot.state.parent)
    except OSError:
        return False
    return True


def make_room(home: Path, keep_bytes: int | None = None) -> None:
    """Evicts the least recently used snapshots, and removes leftovers of killed processes."""
    if not home.is_dir():
        return
    old = sorted(((_age_and_size(d), d) for d in home.iterdir() if d.is_dir()), key=lambda entry: entry[0])
    total = sum(size for (_, size), _ in old)
    for (used, size), directory in old:
        abandoned = directory.name.startswith(".")
        if time.time() - used < IN_USE_S or not (abandoned or total > (KEEP_BYTES if keep_bytes is None else keep_bytes)):
            continue
        total -= size
        shutil.rmtree(directory, ignore_errors=True)


def _age_and_size(directory: Path) -> tuple[float, int]:
    """When a snapshot was last used (s since 1970) and its size in bytes. Other processes may be removing it."""
    used, size = 0.0, 0
    with contextlib.suppress(OSError):
        used = directory.stat().st_mtime
        for file in directory.iterdir():
            with contextlib.suppress(OSError):
                size += file.stat().st_size
    return used, size
