# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches of our drivers as they are: the faults that the hunt's tests plant in them, and experiments of the documents."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import ROOT

OF_THE_KERNEL = ("softirq-*", "skb-*")
"""Of docs/patches: what changes the kernel, not a driver."""
PATCHES = sorted(path for folder in ("tests/faults", "docs/patches") for path in (ROOT / folder).glob("*.patch"))
OURS = [path for path in PATCHES if not any(path.match(one) for one in OF_THE_KERNEL)]


@pytest.mark.parametrize("patch", OURS, ids=lambda path: path.stem)
def test_a_patch_applies(patch: Path) -> None:
    done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
