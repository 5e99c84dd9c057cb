# SPDX-License-Identifier: GPL-2.0-or-later
"""irqmod_i8255x restarts a receiver that has stopped unexpectedly, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab import Lab
from tests.e2e.test_hunt import planted


@pytest.mark.long
def test_frames_of_a_ring_that_fills_during_the_check_are_taken_first(tmp_path: Path) -> None:
    """When the driver looks, the receiver has filled the ring of 16 and stopped, as it should. Restarted then, it would write
    over frames that nobody has taken, and newer frames would come before older ones."""
    driver = str(planted("receiver_checked_late", tmp_path))
    for scheme in ("interrupt", "polling"):
        with Lab(driver, nic="i82557b", rx=scheme, tx="off", ring=16, tx_frames=4) as lab:
            found = lab.trial(100_000, duration_ns=100_000_000)
        assert found.total("received") > 0
        assert [found.total(what) for what in ("corrupted", "reordered", "duplicated")] == [0, 0, 0], scheme
