# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches of our drivers as they are: the faults that the hunt's tests plant in them, and experiments of the documents."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


PATCHES = sorted([*(ROOT / "tests" / "faults").glob("*.patch"), *(ROOT / "docs" / "patches").glob("i8255x-*.patch")])


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_a_patch_applies(patch: Path) -> None:
    done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
