# SPDX-License-Identifier: GPL-2.0-or-later
"""Files: atomic writes, temporary directories, room on a disk."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path
from types import TracebackType

from irqlab.errors import IrqlabError

SCRATCH = "irqlab-scratch-"
"""Begins the names of temporary directories."""
YOUNG_S = 60
"""A directory of this age may not be locked yet."""


def write_atomically(final: Path, content: bytes) -> None:
    """Writes a file atomically: a reader sees the old one or the new one. Creates its directory. Raises IrqlabError."""
    scratch: str | None = None
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(prefix=".new-", dir=final.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(scratch, 0o644)
        os.replace(scratch, final)
    except OSError as error:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)
        raise IrqlabError(f"cannot write {final}: {error.strerror}") from error


class Scratch:
    """A temporary directory, removed by `close` or on leaving its context; or by the next process, if this one is killed.

    Raises IrqlabError if it cannot be made.
    """

    def __init__(self) -> None:
        home = Path(tempfile.gettempdir())
        sweep(home)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=home))
        except OSError as error:
            raise IrqlabError(f"cannot make a temporary directory in {home}: {error.strerror}") from error
        self._lock: int | None = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # as long as this process lives

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Removes the directory; may be called again."""
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


@cache
def sweep(home: Path) -> None:
    """Removes the temporary directories of processes that were killed, once."""
    for left in home.glob(f"{SCRATCH}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.lstat().st_mtime < YOUNG_S:
                continue
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)


def require_room(directory: Path, needed_bytes: int) -> None:
    """Raises IrqlabError if a disk has less room. `directory`: on that disk; it, and those above it, need not exist."""
    there = next(path for path in (directory, *directory.parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed_bytes:
        mib = 1 << 20
        raise IrqlabError(
            f"no space left on the disk of {directory}: {free // mib} MiB are free, {-(-needed_bytes // mib)} MiB are needed"
        )
