# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings: instants close to each other at which the same went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from irqlab import units
from irqlab.config.values import Count
from irqlab.debug.evidence import Replay
from irqlab.debug.trace import Step
from irqlab.hunting.pairs import Pair
from irqlab.present.columns import Col

NEAR_STEPS = 64
"""Misses that are no further apart are one finding: what precedes an instant varies by some instructions from pair to pair."""


@dataclass(frozen=True)
class Place:
    """Where a processor gave way to the other one."""

    processor: Annotated[Count, Col("Processor")]
    function: Annotated[str, Col("in")]
    instruction: Annotated[str, Col("before")]
    """In AT&T's syntax, before the module was relocated; empty: not known."""
    line: Annotated[str, Col("Line")]
    """Empty: not known."""
    address: Count
    """In the DUT."""


@dataclass(frozen=True)
class Finding:
    """Instants close to each other at which the same went wrong."""

    kind: Annotated[str, Col("Kind")]
    port: Annotated[str, Col("Port")]
    """Of the second event."""
    what: Annotated[str, Col("What happened", mark=lambda what: "" if what == "held" else "bad")]
    """lost: a frame never came out. left: it came out only with the next event; a wake-up was lost. late: later than the bound,
    though the processor idled meanwhile, or that is not known. old: a frame that came before or during a change came out after
    it. overtaken: the second frame came out before the first. reordered: a frame came out behind a later one. duplicated: a
    frame came out once more. kept: a packet was not freed in time. stuck: the frame at the end of the pair did not come out in
    time. message: the kernel logged a problem, or died. held, of observations: later than the bound, and the processor worked
    meanwhile."""
    from_ns: Annotated[Count | None, Col("From", format=units.duration, title="after the first event", optional=True)]
    to_ns: Annotated[Count | None, Col("to", format=units.duration, optional=True)]
    instants: Annotated[Count, Col("Instants", format=units.whole)]
    worst_ns: Annotated[Count | None, Col("Worst latency", format=units.duration)]
    """If a packet was kept: the longest time until one was freed."""
    at_ns: Annotated[Count | None, Col("at", format=lambda ns: f"{ns} ns", title="after the first event", optional=True)]
    """The instant with the worst latency, for --at."""
    lead: Annotated[Count | None, Col("Lead", "pairs", title="how many pairs must come before, from the initial state of trials")]
    """How many of the pairs before that one suffice for it to happen again in a trial of its own; null: not known."""
    said: str | None = None
    """What the kernel logged."""
    by_itself_ns: Annotated[
        Count | None, Col("By itself", format=units.duration, title="the latency if no further frame comes", optional=True)
    ] = None
    """The longest latency if no further frame comes; null: it did not come out, or this was not tried."""
    before: Annotated[str, Col("Before", title="the processor's next instruction when the frame came")] = ""
    """function+offset (file:line); empty: not known."""
    pc: Count = 0
    """Its address; 0: not known."""
    arrival_ns: Count | None = None
    """When that frame came, after the first event: of the two the one that was lost or late, else the second; null: not known."""
    held_by: str = ""
    """Of observations: functions of the driver that ran meanwhile, with their time; empty: not known."""
    replay: Replay | None = None
    """For `irqlab debug`; null: not known."""
    trace: tuple[Step, ...] = ()
    """What the driver executed; empty: not traced."""
    switches: Annotated[str | None, Col("Gave way before", title="numbers of the driver's instructions", optional=True)] = None
    """Of processors: numbers of instructions of the driver, counted in the pair in the order of their execution."""
    places: tuple[Place, ...] = ()
    """Of processors: where they gave way."""
    number: Annotated[Count | None, Col("Number", title="of failures the call, of processors the schedule", optional=True)] = None
    """Of failures the first call, counted from 0, of processors the schedule, for --at."""

    @property
    def place(self) -> int | None:
        """For --at."""
        return self.at_ns if self.number is None else self.number

    @property
    def where(self) -> str:
        """In words."""
        return f"at {self.at_ns} ns" if self.number is None else f"with number {self.number}"


def group(kind: str, port: str, pairs: Sequence[Pair], step_ns: int) -> list[Finding]:
    """Instants at which the same went wrong, with no more than NEAR_STEPS between them, as one finding each."""
    groups: list[list[Pair]] = []
    for pair in sorted((p for p in pairs if p.what), key=lambda p: p.gap_ns):
        last = groups[-1][-1] if groups else None
        # A frame that waits for the next pair is late; in a trial's last pair it is lost.
        alike = last is not None and (last.what == pair.what or {last.what, pair.what} == {"late", "lost"})
        if last and alike and pair.gap_ns - last.gap_ns <= NEAR_STEPS * step_ns:
            groups[-1].append(pair)
        else:
            groups.append([pair])
    found = []
    for members in groups:
        worst = max(members, key=_badness)
        found.append(
            Finding(
                kind=kind,
                port=port,
                what=worst.what,
                from_ns=members[0].gap_ns,
                to_ns=members[-1].gap_ns,
                instants=len(members),
                worst_ns=worst.freed_ns if worst.what == "kept" else worst.latency_ns,
                at_ns=worst.gap_ns,
                lead=None,
                pc=worst.pc,
                arrival_ns=worst.gap_ns,
            )
        )
    return found


def numbered(finding: Finding, number: int, lead: int | None) -> Finding:
    """Of events that have numbers, and no instants."""
    return replace(finding, from_ns=None, to_ns=None, at_ns=None, arrival_ns=None, number=number, lead=lead)


def _badness(pair: Pair) -> int:
    return (pair.freed_ns if pair.what == "kept" else pair.latency_ns) or 0
