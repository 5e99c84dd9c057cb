# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches of docs/patches, which make what a paper measured of what there is."""

from __future__ import annotations

import subprocess
from pathlib import Path

from irqlab.errors import IrqlabError
from irqlab.setup import drivers


def path_of(patch: str) -> Path:
    """The file. `patch`: its name from the root of the repository."""
    return drivers.home().parent / patch


def apply(patch: str, root: Path, to: str = "") -> None:
    """Applies a patch to the tree `root`. `to`: what that is, in the error. Raises IrqlabError if it does not apply."""
    words = ["patch", "-p1", "-s", "-d", str(root), "-i", str(path_of(patch))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise IrqlabError(f"{patch} does not apply{to}:\n{done.stdout.strip()}")
