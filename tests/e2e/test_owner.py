# SPDX-License-Identifier: GPL-2.0-or-later
"""Debug builds of our drivers say who takes frames from a ring that another context holds, or after the scheme has stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_hunt import planted


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "said"),
    [("two_owners", "de takes the ring that de holds"), ("stop_does_not_wait", "de takes the ring after its stop")],
)
def test_a_planted_fault_is_warned_of(cli: Cli, tmp_path: Path, fault: str, said: str) -> None:
    done = cli("tap", "--driver", str(planted(fault, tmp_path)), "--rx", "de", "--tx", "off", "updown")
    assert done.returncode in {1, 2}, "the test fails, or the DUT does not survive it"
    assert said in done.stdout + done.stderr
