# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of drivers/tests notice defects that our drivers once had, planted again (tests/faults)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_hunt import planted


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "driver", "nic", "script", "said"),
    [
        (
            "mdio_unlocked",
            "irqmod_i8255x",
            "irqlab-82559",
            "registers",
            "the PHY's registers do not change while the link is looked at",
        ),
        ("woken_too_early", "irqmod_rtl8139cp", "irqlab-8139cp", "short_ring", "none was returned"),
    ],
)
def test_a_script_notices_a_planted_fault(
    cli: Cli, tmp_path: Path, fault: str, driver: str, nic: str, script: str, said: str
) -> None:
    planted(fault, tmp_path, driver)
    done = cli("tap", "--driver", str(tmp_path / f"{driver}.ko"), "--nic", nic, script)
    assert done.returncode == 1, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith(("not ok", "# FAILED")) and said in line]
