# SPDX-License-Identifier: GPL-2.0-or-later
"""Bursts that overrun the ring: how long a driver works on one.

A frame at the end of a pair proves something only if the ring has been emptied before it comes.
"""

from __future__ import annotations

from dataclasses import replace

from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case
from irqlab.hunting.changes import MS
from irqlab.runner.runner import TrialRunner

BURSTS = 4
APART_NS = 200 * MS
"""Enough for a ring of 4,096 frames, at 21,000 frames/s."""
TICK_NS = 4 * MS
"""Pairs are multiples of that apart, so that the kernel's ticks come at the same instants in each."""


def with_room(runner: TrialRunner, case: Case) -> Case:
    """The case with longer pairs: the burst's frames have come out before those at the end of a pair are sent."""
    found = runner.attempt(replace(case.trial, pairs=BURSTS, period_ns=APART_NS))
    if isinstance(found, IrqlabError):
        return case  # the hunt will show it
    longest_ns = max((one for one in found.second.latencies_ns if one is not None), default=0)
    period_ns = case.trial.period_ns + -(-longest_ns // TICK_NS) * TICK_NS
    return replace(
        case,
        alone=replace(case.alone, period_ns=period_ns),
        trial=replace(case.trial, period_ns=period_ns),
        busy_ns=longest_ns,
    )
