# SPDX-License-Identifier: GPL-2.0-or-later
"""Atomic writes: a reader sees the old file or the new one, never a partial one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from irqlab.errors import IrqlabError


def write_atomically(final: Path, content: bytes) -> None:
    """Writes a file atomically; creates its directory if need be. Raises IrqlabError."""
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
