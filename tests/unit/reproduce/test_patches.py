# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches of docs/patches."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from irqlab.errors import IrqlabError
from irqlab.reproduce import patches
from irqlab.reproduce.salah2009.experiments import REFILL_PATCH
from irqlab.setup import drivers


def test_a_patch_is_applied_to_a_copy_once(tmp_path: Path) -> None:
    shutil.copytree(drivers.home() / "i8255x", tmp_path / "drivers/i8255x")
    patches.apply(REFILL_PATCH, tmp_path)
    changed = [
        file.name
        for file in (drivers.home() / "i8255x").iterdir()
        if file.is_file() and file.read_bytes() != (tmp_path / "drivers/i8255x" / file.name).read_bytes()
    ]
    assert changed
    with pytest.raises(IrqlabError, match=rf"^{REFILL_PATCH} does not apply to a copy\n.*"):
        patches.apply(REFILL_PATCH, tmp_path, " to a copy")
