# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches of docs/patches, which make what a paper measured of what there is."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from irqlab.project import project_dir
from irqlab.setup import debs, kernel_sources
from irqlab.setup.paths import appearing, cache_dir, locked


def path_of(patch: str) -> Path:
    """The file. `patch`: its name from the root of the repository."""
    return project_dir() / patch


def apply(patch: str, root: Path, to: str = "") -> None:
    """Applies a patch to the tree `root`. `to`: what that is, in the error. Raises SetupError if it does not apply."""
    debs.in_base('patch -p1 -s -d "$2" -i "$1"', path_of(patch), root, failed=f"{patch} does not apply{to}")


def kernel(series: str, patch: str) -> str:
    """Debian's source of a series, patched, in the cache, as --kernel names it. Raises SetupError if it cannot be fetched."""
    source = kernel_sources.debian(series)
    key = hashlib.sha256(path_of(patch).read_bytes()).hexdigest()[:12]
    final = cache_dir() / "sources/patched" / f"{source.path.name}-{key}"
    with locked("patched-sources"):
        if not final.is_dir():
            with appearing(final) as scratch:
                shutil.copytree(source.path, scratch, symlinks=True, dirs_exist_ok=True)
                apply(patch, scratch, f" to Linux {series}")
    return f"tree:{final}"
