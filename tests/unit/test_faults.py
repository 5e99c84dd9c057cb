# SPDX-License-Identifier: GPL-2.0-or-later
"""The faults that the hunt's tests plant in our drivers: each is a patch of the drivers as they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("patch", sorted((ROOT / "tests" / "faults").glob("*.patch")), ids=lambda path: path.stem)
def test_a_planted_fault_applies(patch: Path) -> None:
    done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
