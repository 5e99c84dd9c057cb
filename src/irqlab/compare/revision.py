# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds our drivers from a git revision of this repository."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from irqlab.errors import IrqlabError
from irqlab.files import Scratch
from irqlab.project import project_dir
from irqlab.setup import drivers
from irqlab.setup.bootable import Kernel


def module(name: str, target: Kernel) -> Path:
    """The built module of git:REVISION:DRIVER, next to the engine of that revision. Raises IrqlabError."""
    _, _, rest = name.partition(":")
    revision, _, driver = rest.rpartition(":")
    if not revision or not driver or revision.startswith("-"):
        raise IrqlabError(f"{name}: must be git:REVISION:DRIVER, for example git:HEAD~1:irqmod_i8255x")
    return module_at(project_dir(), revision, driver, target)


def module_at(repository: Path, revision: str, driver: str, target: Kernel) -> Path:
    """The built module of a driver in a revision of a repository with drivers as ours, next to its engine. Raises IrqlabError."""
    with Scratch() as scratch:
        with tarfile.open(fileobj=io.BytesIO(_archive(repository, revision))) as archive:
            archive.extractall(scratch, **_careful())
        root = scratch / "drivers"
        if (source := drivers.find(driver, root)) is None:
            known = ", ".join(s.module for s in drivers.sources(root)) or "none"
            raise IrqlabError(f"git:{revision}:{driver}: {revision} has no driver {driver}; allowed are {known}")
        return drivers.module_file(target, source, root)


def _careful() -> dict[str, Any]:
    """Arguments for safe extraction, if Python supports them (3.11.4 and later)."""
    return {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def _archive(repository: Path, revision: str) -> bytes:
    """A tar file of drivers/ in a revision."""
    command = ["git", "-C", str(repository), "archive", "--format=tar", revision, "drivers"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise IrqlabError(f"cannot run git: {error.strerror}") from error
    if done.returncode:
        raise IrqlabError(f"git has no {revision} with drivers/: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
