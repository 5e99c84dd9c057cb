# SPDX-License-Identifier: GPL-2.0-or-later
"""The complaints of a check, kept by a hash of all that they depend on, so that what has not changed is not checked again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.setup.paths import cache_dir

KEEP = 1000
"""Number of checks kept; those that were not used for the longest time go first."""


def complaints(parts: Iterable[str | bytes], check: Callable[[], list[str]]) -> list[str]:
    """What `check` returned, or returns, for these parts: the contents, the program and its arguments."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(content)}\0".encode() + content)
    kept = cache_dir() / "linted" / digest.hexdigest()[:32]
    with contextlib.suppress(OSError, json.JSONDecodeError):
        found: list[str] = json.loads(kept.read_text())
        os.utime(kept)
        return found
    made = check()
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept, json.dumps(made).encode())
    _forget(kept.parent)
    return made


def _forget(home: Path) -> None:
    there = sorted(home.iterdir(), key=_used)
    for path in there[:-KEEP]:
        path.unlink(missing_ok=True)


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process has removed it
        return 0.0
