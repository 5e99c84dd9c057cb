# SPDX-License-Identifier: GPL-2.0-or-later
"""The instants that are tried: those at which the DUT executes instructions, and those shortly before.

Of other halts all instants are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial

MARGIN_NS = 400
"""Instants before and after the DUT executes, so that its waking and its halting are among them."""
CHUNK_PAIRS = 1_000
"""Pairs in a trial."""
MOST_TRIAL_NS = 3_000_000_000_000
"""A trial is no longer: with long periods it has fewer pairs."""


def busy_spans(found: HuntResult, step_ns: int, before_ns: int) -> list[tuple[int, int]]:
    """When the DUT executes without a second event: spans in ns after the first, of all pairs together.

    They are multiples of `step_ns`, both ends included, with a margin. Spans that overlap are joined. `before_ns`: how
    long the DUT works on a second event. Spans begin that much earlier, so that the work on an event that comes during a halt
    overlaps with what ends the halt, such as a timer.
    """
    period_ns = found.spec.period_ns
    # A halt is known when it is over. So it is not known when the DUT halts for the last time, and that span is left out.
    busy = [(woken, halted) for (_, woken), (halted, _) in pairwise(found.halts)]
    spans = []
    for begin, end in busy:
        for number in range(found.spec.pairs):
            origin = SETTLE_NS + number * period_ns
            a, b = max(begin - MARGIN_NS - before_ns - origin, 0), min(end + MARGIN_NS - origin, period_ns - step_ns)
            if a <= b and end >= origin:
                spans.append((a // step_ns * step_ns, b // step_ns * step_ns))
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1] + step_ns:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def chosen_spans(
    spans: Iterable[tuple[int, int]], begin_ns: int | None, end_ns: int | None, before_ns: int, step_ns: int
) -> list[tuple[int, int]]:
    """The parts of spans that lie between two instants (None: no limit), and before an instant."""
    low = 0 if begin_ns is None else -(-begin_ns // step_ns) * step_ns
    high = (before_ns - 1) // step_ns * step_ns
    if end_ns is not None:
        high = min(high, end_ns // step_ns * step_ns)
    return [(max(a, low), min(b, high)) for a, b in spans if max(a, low) <= min(b, high)]


def trials(spans: Iterable[tuple[int, int]], step_ns: int, one: HuntTrial) -> Iterator[HuntTrial]:
    """Trials that try all instants of the spans."""
    most = max(1, min(CHUNK_PAIRS, MOST_TRIAL_NS // one.period_ns))
    for begin, end in spans:
        count = (end - begin) // step_ns + 1
        for first in range(0, count, most):
            pairs = min(most, count - first)
            yield replace(one, pairs=pairs, first_gap_ns=begin + first * step_ns, step_ns=step_ns)
