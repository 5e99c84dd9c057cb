# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual clock while the DUT idles."""

from __future__ import annotations

from irqlab import Lab
from irqlab.trials.hunt import HuntTrial


def test_time_does_not_jump_while_a_nic_receives() -> None:
    """QEMU's e1000e arms a moderation timer of 128 us when it receives a frame, while the DUT is still idle.

    If the clock jumped to that timer, the first frame's interrupt would be late, and the second frame would leave late.
    """
    with Lab("e1000e", nic="e1000e") as lab:
        found = lab._runner.trial(HuntTrial(pairs=2, first_gap_ns=30_000, step_ns=0))
    [first, *_], [second, *_] = found.first.latencies_ns, found.second.latencies_ns
    assert first is not None
    assert second is not None
    assert first < 30_000
    assert second > 90_000
