# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the pairs of a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from irqlab.trials.hunt import CHECK_EVERY_NS, CHECK_ROOM_NS, CHECKS, SETTLE_NS, HuntResult, Received, Transmitted


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
    """lost, late, old, overtaken, reordered, duplicated, stuck, kept (irqlab.hunting.findings). Empty: nothing went wrong."""
    number: int = 0
    """Of the pair in its trial."""
    freed_ns: int | None = None
    """The longest time until one of its packets was freed; None: not looked at, or one was not freed."""
    pc: int = 0
    """Where the processor was when its second frame came (irqlab.trials.hunt.Received)."""


def pairs_of(found: HuntResult, limits: Limits) -> Iterator[Pair]:
    """Judges the pairs of a trial."""
    freed, again, behind = _freed(found), _repeated(found), _reordered(found)
    for number in range(found.spec.pairs):
        pcs = found.second.pcs[number * found.spec.frames :][:1]
        pair = replace(_of_frames(found, number, limits.bound_ns), number=number, pc=pcs[0] if pcs else 0)
        for what, happened in (
            ("reordered", number in behind),
            ("duplicated", number in again),
            ("stuck", found.spec.check and _stuck(found, number, limits.bound_ns)),
        ):
            if happened and not pair.what:
                pair = replace(pair, what=what)
        if found.spec.transmits:
            sent, bound_ns = freed[number], limits.freed_bound_ns
            known = [one.freed_ns for one in sent if one.freed_ns is not None]
            kept = len(known) < len(sent) or (
                bound_ns is not None and any(_waited_ns(one, sent, bound_ns) > bound_ns for one in sent)
            )
            longest = max(known, default=0) if len(known) == len(sent) else None
            pair = replace(pair, freed_ns=longest, what=pair.what or ("kept" if kept else ""))
        yield pair


@dataclass(frozen=True)
class Frame:
    """A frame of a pair."""

    arrival_ns: int
    """From the pair's beginning."""
    latency_ns: int | None
    """None: it never came out."""
    pc: int
    """Where the processor was when it came; 0: not known."""

    @property
    def badness(self) -> float:
        """The later it came out, the worse."""
        return float("inf") if self.latency_ns is None else self.latency_ns


def frames_of(found: HuntResult, number: int) -> list[Frame]:
    """The frames of a pair, those of its first arrival first."""
    spec = found.spec
    frames = []
    for stream, count, begin_ns, every_ns in (
        (found.first, spec.first_frames, 0, spec.first_every_ns),
        (found.second, spec.frames, found.gap_ns(number), spec.frames_every_ns),
    ):
        places = slice(number * count, (number + 1) * count)
        pcs = stream.pcs[places] or (0,) * count
        times = zip(stream.latencies_ns[places], pcs, strict=True)
        frames += [Frame(begin_ns + n * every_ns, latency_ns, pc) for n, (latency_ns, pc) in enumerate(times)]
    return frames


def _of_frames(found: HuntResult, number: int, bound_ns: int) -> Pair:
    spec = found.spec
    gap_ns = found.gap_ns(number)
    taken = [frame.latency_ns for frame in frames_of(found, number)]
    known = [one for one in taken if one is not None]
    longest_ns = max(known, default=0)
    if len(known) < len(taken) and "lost" not in spec.tolerates:
        return Pair(gap_ns, None, "lost")
    what = ""
    if "late" not in spec.tolerates and longest_ns > bound_ns:
        what = _late(_steps(found, number), gap_ns, longest_ns, bound_ns)
    # What comes out with the frames at the end was woken up by them.
    elif spec.check and "lost" not in spec.tolerates and longest_ns > spec.period_ns - CHECK_ROOM_NS - gap_ns:
        what = "late"
    alone_first = not spec.other_port and spec.first_frames == 1
    if not what and alone_first and len(taken) > 1 and len(known) == len(taken) and gap_ns + min(known[1:]) < known[0]:
        what = "overtaken"
    return Pair(gap_ns, longest_ns, what)


def _steps(found: HuntResult, number: int) -> list[tuple[int, int]]:
    """When the steps of a pair began and ended, in ns from its beginning."""
    count, origin_ns = len(found.spec.steps), SETTLE_NS + number * found.spec.period_ns
    return [(begin - origin_ns, end - origin_ns) for begin, end in found.stepped[number * count : (number + 1) * count]]


def _late(steps: Sequence[tuple[int, int]], arrival_ns: int, latency_ns: int, bound_ns: int) -> str:
    """What a frame is that took longer than the bound.

    A frame that comes while a step is done, or shortly before, may wait until it is done. If it comes out later than that, or
    waits for a step that began later, it is `old`.
    """
    out_ns = arrival_ns + latency_ns
    met = [(begin, end) for begin, end in steps if begin <= out_ns and end > arrival_ns]
    if any(out_ns <= end + bound_ns for begin, end in met if begin <= arrival_ns + bound_ns):
        return ""
    return "old" if met else "late"


def _stuck(found: HuntResult, number: int, bound_ns: int) -> bool:
    """Whether the last frame at the end of a pair did not come out, or late."""
    checks = found.check.latencies_ns[number * CHECKS : (number + 1) * CHECKS]
    return len(checks) < CHECKS or checks[-1] is None or checks[-1] > bound_ns


def _departures(found: HuntResult) -> Iterator[tuple[Received, int, Callable[[int], int]]]:
    """Each stream: its frames in a pair, and when the one in a place departed, in ns from the start of the window."""
    spec = found.spec

    def first(place: int) -> int:
        number, rest = divmod(place, spec.first_frames)
        return SETTLE_NS + number * spec.period_ns + rest * spec.first_every_ns

    def second(place: int) -> int:
        number, rest = divmod(place, spec.frames)
        return SETTLE_NS + number * spec.period_ns + found.gap_ns(number) + rest * spec.frames_every_ns

    def check(place: int) -> int:
        number, rest = divmod(place, CHECKS)
        return SETTLE_NS + (number + 1) * spec.period_ns - CHECK_ROOM_NS + rest * CHECK_EVERY_NS

    yield found.first, spec.first_frames, first
    yield found.second, spec.frames, second
    yield found.check, CHECKS, check


def _repeated(found: HuntResult) -> set[int]:
    """The pairs in which a frame came out once more, also one of a pair before."""
    return {
        min((departed_ns(place) + age_ns - SETTLE_NS) // found.spec.period_ns, found.spec.pairs - 1)
        for stream, _, departed_ns in _departures(found)
        for place, age_ns in stream.repeats
    }


def _reordered(found: HuntResult) -> set[int]:
    """The pairs of frames that came out after a later one of the same stream (RFC 4737, 3.3)."""
    pairs = set()
    for stream, frames, departed_ns in _departures(found):
        earliest_ns = None
        for place, latency_ns in reversed(list(enumerate(stream.latencies_ns)) if stream is not found.check else []):
            if latency_ns is not None:
                out_ns = departed_ns(place) + latency_ns
                if earliest_ns is not None and out_ns > earliest_ns:
                    pairs.add(place // frames)
                earliest_ns = out_ns if earliest_ns is None else min(earliest_ns, out_ns)
    return pairs


def _freed(found: HuntResult) -> Sequence[list[Transmitted]]:
    """The packets of each pair, by when they were given to a driver."""
    by_pair: list[list[Transmitted]] = [[] for _ in range(found.spec.pairs)]
    period_ns = found.spec.period_ns
    for one in found.transmitted:
        number = (one.at_ns - SETTLE_NS) // period_ns
        if 0 <= number < len(by_pair):
            by_pair[number].append(one)
    return by_pair


def _waited_ns(packet: Transmitted, sent: Sequence[Transmitted], bound_ns: int) -> int:
    """How long a freed packet was kept since it, or the last one after it that may have put it off, was given to a driver.

    A NIC may count the delay of its interrupt from the last packet: each that comes within the bound begins it anew, unless it
    was freed before.
    """
    if packet.freed_ns is None:
        return 0
    last_ns, freed_at_ns = packet.at_ns, packet.at_ns + packet.freed_ns
    for other in sorted(sent, key=lambda one: one.at_ns):
        held = other.freed_ns is None or other.at_ns + other.freed_ns >= freed_at_ns
        if held and last_ns < other.at_ns <= min(last_ns + bound_ns, freed_at_ns):
            last_ns = other.at_ns
    return freed_at_ns - last_ns
