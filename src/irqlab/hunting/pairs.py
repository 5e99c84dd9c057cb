# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the pairs of a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from irqlab.trials.hunt import CHECK_ROOM_NS, CHECKS, SETTLE_NS, HuntResult

FAILED = ("lost", "late", "stuck", "kept", "overtaken")
"""What can happen to a pair."""


@dataclass(frozen=True)
class Limits:
    """What takes longer is a miss, in ns."""

    alone_ns: int
    """The longest latency without a second event."""
    bound_ns: int
    freed_alone_ns: int | None = None
    """The longest time until a packet is freed, without a second event; None: not looked at."""
    freed_bound_ns: int | None = None


@dataclass(frozen=True)
class Pair:
    """What happened to one pair."""

    gap_ns: int
    latency_ns: int | None
    """The longest of its frames; None: one never came out."""
    what: str
    """Empty: nothing went wrong."""
    number: int = 0
    """Of the pair in its trial."""
    freed_ns: int | None = None
    """The longest time until one of its packets was freed; None: not looked at, or one was not freed."""


def pairs_of(found: HuntResult, limits: Limits) -> Iterator[Pair]:
    """Judges the pairs of a trial."""
    freed = _freed(found)
    for number in range(found.spec.pairs):
        pair = replace(_of_frames(found, number, limits.bound_ns), number=number)
        if not pair.what and found.spec.check and _stuck(found, number, limits.bound_ns):
            pair = replace(pair, what="stuck")
        if found.spec.transmits:
            times = freed[number]
            known = [one for one in times if one is not None]
            kept = len(known) < len(times) or (
                limits.freed_bound_ns is not None and max(known, default=0) > limits.freed_bound_ns
            )
            longest = max(known, default=0) if len(known) == len(times) else None
            pair = replace(pair, freed_ns=longest, what=pair.what or ("kept" if kept else ""))
        yield pair


def _of_frames(found: HuntResult, number: int, bound_ns: int) -> Pair:
    spec = found.spec
    gap_ns = found.gap_ns(number)
    first = found.first.latencies_ns[number * spec.first_frames : (number + 1) * spec.first_frames]
    frames = 0 if spec.interrupt else spec.frames
    later = found.second.latencies_ns[number * frames : (number + 1) * frames]
    taken = [*first, *later]
    known = [one for one in taken if one is not None]
    longest_ns = max(known, default=0)
    if spec.tolerates == "lost":
        return Pair(gap_ns, longest_ns, "")
    if len(known) < spec.first_frames + frames:
        return Pair(gap_ns, None, "lost")
    # What comes out with the frames at the end was woken up by them.
    latest_ns = spec.period_ns - CHECK_ROOM_NS - gap_ns if spec.tolerates == "late" else bound_ns
    what = "late" if longest_ns > latest_ns else ""
    if not what and first and later and not spec.other_port and spec.first_frames == 1 and gap_ns + min(known[1:]) < known[0]:
        what = "overtaken"
    return Pair(gap_ns, longest_ns, what)


def _stuck(found: HuntResult, number: int, bound_ns: int) -> bool:
    """Whether the last frame at the end of a pair did not come out, or late."""
    checks = found.check.latencies_ns[number * CHECKS : (number + 1) * CHECKS]
    return len(checks) < CHECKS or checks[-1] is None or checks[-1] > bound_ns


def _freed(found: HuntResult) -> Sequence[list[int | None]]:
    """The times until packets were freed, by the pair in which they were given to a driver."""
    by_pair: list[list[int | None]] = [[] for _ in range(found.spec.pairs)]
    period_ns = found.spec.period_ns
    for one in found.transmitted:
        number = (one.at_ns - SETTLE_NS) // period_ns
        if 0 <= number < len(by_pair):
            by_pair[number].append(one.freed_ns)
    return by_pair
