# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds out why a frame was late, or a packet kept: until the next event, or while the processor worked on something else.

The pair is tried again, and no further frame comes. A frame that does not come out by itself was left: a wake-up was lost. If it
comes out, and the processor did not idle meanwhile, it waited behind work that ends by itself. That is no finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from irqlab.errors import IrqlabError
from irqlab.hunting.findings import Finding
from irqlab.hunting.pairs import Frame, Limits, frames_of
from irqlab.qemu.cancellation import CancelledError
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial

HELD = "held"
"""What is observed, and no finding: the frame waited behind work."""


def weighed(runner: TrialRunner, finding: Finding, again: HuntTrial, limits: Limits) -> Finding:
    """The finding, with what is known after the experiment. `again`: the trial that shows it, in its last pair."""
    if finding.what in ("late", "lost", "old"):
        with suppress(CancelledError):
            return _tried_again(runner, finding, again, limits)
    if finding.what == "kept":
        with suppress(CancelledError):
            return _kept_again(runner, finding, again, limits)
    return finding


def _tried_again(runner: TrialRunner, finding: Finding, again: HuntTrial, limits: Limits) -> Finding:
    found = runner.attempt(replace(again, last_alone=True))
    if isinstance(found, IrqlabError):
        return finding
    frames = frames_of(found, again.pairs - 1)
    worst = max(frames, key=lambda frame: frame.badness)
    finding = replace(finding, arrival_ns=worst.arrival_ns, pc=worst.pc)
    if worst.latency_ns is not None:
        what, longest_ns = _after_all(found, frames, finding.what, limits), worst.latency_ns
        # If it was later before, or did not come out, then not for the same reason.
        before_ns = longest_ns if finding.worst_ns is None else finding.worst_ns
        explained = what != HELD or (finding.what != "lost" and before_ns <= longest_ns + limits.bound_ns)
        return replace(finding, what=what if explained else finding.what, by_itself_ns=longest_ns)
    if finding.what == "late":
        return replace(finding, what="left")
    if finding.what == "lost":
        # Without a pair behind it, no frame came that could have woken it up.
        behind = runner.attempt(replace(again, pairs=again.pairs + 1))
        later = [] if isinstance(behind, IrqlabError) else [frame.latency_ns for frame in frames_of(behind, again.pairs - 1)]
        known = [one for one in later if one is not None]
        if later and len(known) == len(later):
            return replace(finding, what="left", worst_ns=max(known))
    return finding


def _kept_again(runner: TrialRunner, finding: Finding, again: HuntTrial, limits: Limits) -> Finding:
    """A packet that was kept just as long, and was freed by itself, without the processor having idled, waited behind work."""
    found = runner.attempt(replace(again, last_alone=True))
    if isinstance(found, IrqlabError) or finding.worst_ns is None:
        return finding
    origin_ns = SETTLE_NS + (found.spec.pairs - 1) * found.spec.period_ns
    sent = [one for one in found.transmitted if one.at_ns >= origin_ns]
    if not sent or any(one.freed_ns is None for one in sent):
        return finding
    worst = max(sent, key=lambda one: one.freed_ns or 0)
    kept_ns = worst.freed_ns or 0
    idle_ns = _idle_ns(found.halts, worst.at_ns, worst.at_ns + kept_ns)
    late = kept_ns > (limits.freed_bound_ns or limits.bound_ns) and finding.worst_ns <= kept_ns + limits.bound_ns
    if late and idle_ns <= (limits.freed_alone_ns or 0):
        return replace(finding, what=HELD, by_itself_ns=kept_ns)
    return finding


def _idle_ns(halts: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> int:
    return sum(max(min(end, end_ns) - max(begin, begin_ns), 0) for begin, end in halts)


def _after_all(found: HuntResult, frames: Sequence[Frame], what: str, limits: Limits) -> str:
    """What to say of a pair whose frames came out by themselves."""
    worst = max(frames, key=lambda frame: frame.badness)
    begin_ns, end_ns = worst.arrival_ns, worst.arrival_ns + (worst.latency_ns or 0)
    if end_ns - begin_ns <= limits.bound_ns:
        return what
    origin_ns = SETTLE_NS + (found.spec.pairs - 1) * found.spec.period_ns
    idle_ns = _idle_ns(found.halts, origin_ns + begin_ns, origin_ns + end_ns)
    if idle_ns <= limits.alone_ns:
        return HELD
    woken = any(begin_ns < frame.arrival_ns <= end_ns <= frame.arrival_ns + limits.bound_ns for frame in frames)
    return "left" if woken and what == "late" else what


def parted(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """The findings, and what is only observed: the worst, which stands for all."""
    held = [one for one in findings if one.what == HELD]
    found = [one for one in findings if one.what != HELD]
    if not held:
        return found, []
    worst = max(held, key=lambda one: one.worst_ns or 0)
    begins = [one.from_ns for one in held if one.from_ns is not None]
    ends = [one.to_ns for one in held if one.to_ns is not None]
    instants = sum(one.instants for one in held)
    return found, [replace(worst, instants=instants, from_ns=min(begins, default=None), to_ns=max(ends, default=None))]
