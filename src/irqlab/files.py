# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are either the old one or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from irqlab.errors import IrqlabError


def write_atomically(final: Path, content: bytes) -> None:
    """Writes a file, whole or not at all; its directory is made. Raises IrqlabError."""
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
