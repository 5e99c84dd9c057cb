# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of drivers/tests notice defects that our drivers once had, planted again (tests/faults)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_hunt import planted


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "script", "said"),
    [("mdio_unlocked", "registers", "the PHY's registers do not change while the link is looked at")],
)
def test_a_script_notices_a_planted_fault(cli: Cli, tmp_path: Path, fault: str, script: str, said: str) -> None:
    done = cli("tap", "--driver", str(planted(fault, tmp_path)), "--nic", "irqlab-82559", script)
    assert done.returncode == 1, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("not ok") and said in line]
