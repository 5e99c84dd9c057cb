# SPDX-License-Identifier: GPL-2.0-or-later
"""What is tried: for each kind of event, port and change a trial without a second event, and one with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from irqlab.config.addresses import INTERFACES
from irqlab.errors import IrqlabError
from irqlab.hunting.changes import DOWN, LINK_NS, MS, UP, changes
from irqlab.hunting.code import code_of
from irqlab.hunting.functions import ALLOCATORS, FREED, functions, used
from irqlab.hunting.options import (
    ARRIVALS,
    CHANGE_INSTANTS,
    CHANGE_KINDS,
    FAILURES,
    FAILURES_UP,
    INTERRUPTS,
    OTHER,
    OVERRUNS,
    PORTS,
    PROCESSORS,
    SAME,
    TRANSMIT,
    Options,
)
from irqlab.trials.hunt import NEVER, Failing, HuntTrial, Step, Switches
from irqlab.trials.testbed import Testbed

LOSES = ("lost", "late")
"""What may happen to frames if the ring is full, or if there is no memory."""
ALONE_PAIRS = 16
"""First frames that come alone, to learn how long they take and when the DUT executes."""
ALONE_CHANGES = 6
USUAL_RING = 256
"""Of drivers that do not say how large theirs is."""
ARMED_BEFORE_NS = 1_000
"""Calls fail from this long before the interface is set up."""
UP_NS, DOWN_AGAIN_NS, UP_AGAIN_NS = 150 * MS, 300 * MS, 450 * MS
"""When the interface is set up while calls fail, when it is set down after that, and set up again. e1000 takes 60 ms for each."""


@dataclass(frozen=True)
class Case:
    """One kind of event at one port."""

    kind: str
    port: str
    alone: HuntTrial
    """Without a second event."""
    trial: HuntTrial
    """With it; for one pair."""
    instants: int | None = None
    """At most so many are tried, of calls the first ones; None: all."""
    busy_ns: int = 0
    """How long the DUT works on the second event, if the frames at the end of a pair have to come after that."""


def cases(testbed: Testbed, one: HuntTrial, options: Options) -> Iterator[Case]:
    """The cases that the options ask for, made of `one`. Raises IrqlabError."""
    for kind in options.kinds:
        if kind in (ARRIVALS, TRANSMIT):
            yield from _arrivals(testbed, kind, one, options)
        elif kind == OVERRUNS:
            burst = max(options.burst, 2 * (testbed.prepared.facts["running"]["ring_rx"] or USUAL_RING))
            trial = replace(one, frames=burst, check=True, tolerates=LOSES)
            yield _case(kind, SAME, replace(one, frames=0), trial, options)
        elif kind == PROCESSORS:
            yield _processors(testbed, one, options)
        elif kind == INTERRUPTS:
            for port in options.chosen:
                yield _case(
                    kind, port, replace(one, frames=0), replace(one, frames=0, interrupt=True, other_port=port == OTHER), options
                )
        elif kind == FAILURES:
            yield from _failures(testbed, kind, SAME, replace(one, frames=0, check=True, tolerates=LOSES), options)
        elif kind == FAILURES_UP:
            for port in options.chosen:
                yield from _failures(testbed, kind, port, _up(one, INTERFACES[PORTS.index(port)]), options)
        elif kind in CHANGE_KINDS:
            yield from _changes(testbed, kind, one, options)


def _case(kind: str, port: str, alone: HuntTrial, trial: HuntTrial, options: Options) -> Case:
    return Case(kind, port, replace(alone, pairs=ALONE_PAIRS), trial, options.instants)


def _arrivals(testbed: Testbed, kind: str, one: HuntTrial, options: Options) -> Iterator[Case]:
    if kind == TRANSMIT:
        known = functions(testbed)
        one = replace(one, probes=(known.address(FREED), *known.transmit), transmits=True)
    one = replace(one, interrupt=options.irq_after is not None, interrupt_after_ns=options.irq_after or 0)
    for port in options.chosen:
        alone = replace(one, frames=0, interrupt=False, interrupt_after_ns=0)
        yield _case(kind, port, alone, replace(one, other_port=port == OTHER), options)


def _processors(testbed: Testbed, one: HuntTrial, options: Options) -> Case:
    """Both processors have work: each NIC, whose interrupt goes to one of them, receives frames that leave through the other."""
    known = functions(testbed)
    probes = (known.address(FREED), *known.transmit)
    trial = replace(one, other_port=True, probes=probes, transmits=True, switches=Switches(code_of(testbed)))
    return Case(PROCESSORS, OTHER, replace(trial, pairs=ALONE_PAIRS), trial, options.instants)


def _changes(testbed: Testbed, kind: str, one: HuntTrial, options: Options) -> Iterator[Case]:
    none = True
    for port in options.chosen:
        for change in changes(testbed, kind, INTERFACES[PORTS.index(port)]):
            none = False
            trial = replace(
                one,
                first_frames=0,
                period_ns=change.period_ns,
                check=True,
                tolerates=change.tolerates,
                before=change.before,
                steps=change.steps,
            )
            alone = replace(trial, pairs=ALONE_CHANGES, frames=0)
            yield Case(change.name, port, alone, trial, options.instants or CHANGE_INSTANTS)
    if none and options.kinds == (kind,):
        raise IrqlabError(f"--what {kind}: the driver {testbed.driver} has none")


def _up(one: HuntTrial, interface: str) -> HuntTrial:
    """Sets an interface down and up, and once more: the first time a call fails."""
    flags = f"/sys/class/net/{interface}/flags"
    steps = (
        Step(0, flags, DOWN),
        Step(UP_NS, flags, UP, may_fail=True),
        Step(DOWN_AGAIN_NS, flags, DOWN),
        Step(UP_AGAIN_NS, flags, UP),
    )
    return replace(one, first_frames=0, frames=0, period_ns=UP_AGAIN_NS + LINK_NS, check=True, tolerates=LOSES, steps=steps)


def _failures(testbed: Testbed, kind: str, port: str, one: HuntTrial, options: Options) -> Iterator[Case]:
    at_ns, until_ns = (UP_NS - ARMED_BEFORE_NS, DOWN_AGAIN_NS) if kind == FAILURES_UP else (0, None)
    known = functions(testbed)
    packets = (known.address(FREED), *known.transmit)
    for name, address in used(testbed, known).items():
        failing = Failing(len(packets), ALLOCATORS[name], at_ns, until_ns=until_ns)
        trial = replace(one, probes=(*packets, address), transmits=kind == FAILURES, failing=failing)
        alone = replace(trial, pairs=3, failing=replace(failing, first=NEVER))
        yield Case(f"{kind} {name}", port, alone, trial, options.instants)
