# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds out why a frame was late: it was left until the next event, or the processor worked on something else until then.

The pair is tried again, and no further frame comes. A frame that does not come out by itself was left: a wake-up was lost. If it
comes out, and the processor did not idle meanwhile, it waited behind work that ends by itself. That is no finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from irqlab.errors import IrqlabError
from irqlab.hunting.findings import Finding
from irqlab.hunting.pairs import Limits, frames_of
from irqlab.qemu.machine import CancelledError
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial

HELD = "held"
"""What is observed, and no finding: the frame waited behind work."""


def weighed(runner: TrialRunner, finding: Finding, again: HuntTrial, limits: Limits) -> Finding:
    """The finding, with what is known after the experiment. `again`: the trial that shows it, in its last pair."""
    if finding.what in ("late", "lost", "old"):
        with suppress(CancelledError):
            return _tried_again(runner, finding, again, limits)
    return finding


def _tried_again(runner: TrialRunner, finding: Finding, again: HuntTrial, limits: Limits) -> Finding:
    found = runner.attempt(replace(again, last_alone=True))
    if isinstance(found, IrqlabError):
        return finding
    frames = frames_of(found, again.pairs - 1)
    if all(latency is not None for _, latency in frames):
        what, longest_ns = _after_all(found, frames, finding.what, limits), max(_known(frames))
        # If it was later before, then not for the same reason.
        explained = what != HELD or finding.worst_ns is None or finding.worst_ns <= longest_ns + limits.bound_ns
        return replace(finding, what=what if explained else finding.what, by_itself_ns=longest_ns)
    if finding.what == "late":
        return replace(finding, what="left")
    if finding.what == "lost":
        # Without a pair behind it, no frame came that could have woken it up.
        behind = runner.attempt(replace(again, pairs=again.pairs + 1))
        if not isinstance(behind, IrqlabError) and len(later := _known(frames_of(behind, again.pairs - 1))) == len(frames):
            return replace(finding, what="left", worst_ns=max(later))
    return finding


def _after_all(found: HuntResult, frames: Sequence[tuple[int, int | None]], what: str, limits: Limits) -> str:
    """What to say of a pair whose frames came out by themselves."""
    arrival_ns, longest_ns = max(frames, key=lambda frame: frame[1] or 0)
    assert longest_ns is not None
    if longest_ns <= limits.bound_ns:
        return what
    out_ns = arrival_ns + longest_ns
    origin_ns = SETTLE_NS + (found.spec.pairs - 1) * found.spec.period_ns
    halts = [(begin - origin_ns, end - origin_ns) for begin, end in found.halts]
    idle_ns = sum(max(min(end, out_ns) - max(begin, arrival_ns), 0) for begin, end in halts)
    if idle_ns <= limits.alone_ns:
        return HELD
    woken = any(arrival_ns < at_ns <= out_ns <= at_ns + limits.bound_ns for at_ns, _ in frames)
    return "left" if woken and what == "late" else what


def _known(frames: Sequence[tuple[int, int | None]]) -> list[int]:
    return [latency for _, latency in frames if latency is not None]


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
