# SPDX-License-Identifier: GPL-2.0-or-later
"""Disable-enable when its processor is busy."""

from __future__ import annotations

from irqlab import Lab

LONGEST_NS = 2_000_000


def test_a_pause_for_kernel_threads_is_short() -> None:
    """At this rate the ring hardly ever empties, so that DE pauses now and then."""
    lab = Lab("irqmod_i82574", nic="irqlab-82574", rx="de", cached=False)
    trial = lab.trial(75_000, duration_ns=400_000_000)
    assert trial.total("lost") == 0
    assert (trial.streams[0].latency.max_ns or 0) < LONGEST_NS
