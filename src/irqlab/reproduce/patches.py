# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches of docs/patches, which make what a paper measured of what there is."""

from __future__ import annotations

from pathlib import Path

from irqlab.project import project_dir
from irqlab.setup import debs


def path_of(patch: str) -> Path:
    """The file. `patch`: its name from the root of the repository."""
    return project_dir() / patch


def apply(patch: str, root: Path, to: str = "") -> None:
    """Applies a patch to the tree `root`. `to`: what that is, in the error. Raises SetupError if it does not apply."""
    debs.in_base('patch -p1 -s -d "$2" -i "$1"', path_of(patch), root, failed=f"{patch} does not apply{to}")
