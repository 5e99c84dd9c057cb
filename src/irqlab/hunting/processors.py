# SPDX-License-Identifier: GPL-2.0-or-later
"""Two processors that take turns: where one gives way to the other, and what comes of it.

Processors that share the instruction clock run one after the other. In each pair both have a frame to handle, and one gives way
before chosen instructions of the driver: before every one, one after the other, or before several that a seed chooses (Burckhardt
et al. 2010, "A randomized scheduler with probabilistic guarantees of finding bugs": a bug of depth d needs d chosen places).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case
from irqlab.hunting.findings import Finding, Place, group, numbered
from irqlab.hunting.options import Options
from irqlab.hunting.pairs import Limits, Pair, pairs_of
from irqlab.hunting.smaller import said, shortest_failing, shortest_lead
from irqlab.profile.listing import Listing
from irqlab.qemu.cancellation import CancelledError
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import HuntResult, HuntTrial, Switches
from irqlab.trials.trial import Trial

SEEDED = 2_000
"""Pairs with switches that a seed chooses, unless --instants says how many."""
TRIAL_PAIRS = 250
"""Pairs in a trial. A fault may leave the DUT in a bad state for the rest of it."""
CONFIRMED = 4
"""Of so many findings the shortest trial is looked for that shows them."""
Points = tuple[int, ...]
"""Numbers of instructions of the driver, in the order of their execution in a pair. A processor gives way before each."""


def schedules(instructions: int, options: Options) -> list[Points]:
    """What is tried, for so many instructions of the driver in a pair.

    One switch: before each instruction; and the same if the other processor is the first to run, which takes a switch before the
    first instruction. Several: chosen by the seed.
    """
    if options.switches == 1:
        every = range(0, instructions, options.step)
        asked: list[Points] = [*((point,) for point in every), *((0, point) for point in every if point)]
        thin = -(-len(asked) // options.instants) if options.instants else 1
        return asked[::thin]
    count = options.instants or SEEDED
    chosen = random.Random(options.hunt_seed)
    return [tuple(sorted(chosen.sample(range(instructions), options.switches))) for _ in range(count)]


def hunt_processors(
    runner: TrialRunner, case: Case, limits: Limits, alone: HuntResult, options: Options, code: Callable[[], Listing]
) -> tuple[list[Pair], list[Finding], int | None]:
    """Tries all schedules; pairs have the schedule's number as `gap_ns`. `code`: the driver's.

    The third value is how many schedules there are, if it was interrupted. Raises IrqlabError.
    """
    asked = _asked(alone, options)
    judged: list[Pair] = []
    findings: list[Finding] = []
    chunks = [(first, asked[first : first + TRIAL_PAIRS]) for first in range(0, len(asked), TRIAL_PAIRS)]
    trials: list[Trial[HuntResult]] = [_with(case.trial, points) for _, points in chunks]
    tried = runner.attempts(trials, f"{case.kind}, {len(asked)} schedules")
    for (first, points), found in zip(chunks, tried, strict=True):
        if isinstance(found, CancelledError):
            continue
        if isinstance(found, IrqlabError):
            findings.append(_broken(runner, case, first, points, found))
        else:
            judged += [replace(pair, gap_ns=first + pair.number) for pair in pairs_of(found, limits)]
    for number, one in enumerate(group(case.kind, case.port, judged, 1)):
        at = one.from_ns or 0  # those after the first may go wrong because of it
        led = partial(_led, case.trial, asked, at)
        lead = shortest_lead(runner, led, at % TRIAL_PAIRS, limits) if number < CONFIRMED else None
        places = _places(tried, at, code())
        findings.append(replace(numbered(one, at, lead), switches=_listed(asked[at]), places=places))
    return judged, findings, len(asked) if any(isinstance(found, CancelledError) for found in tried) else None


def replayed(case: Case, alone: HuntResult, options: Options) -> HuntTrial | None:
    """The trial that shows --at again; None: there is no such schedule."""
    asked = _asked(alone, options)
    assert options.at is not None
    return _led(case.trial, asked, options.at, options.lead) if options.at < len(asked) else None


def _asked(alone: HuntResult, options: Options) -> list[Points]:
    instructions = max(alone.passed, default=0)
    if not instructions:
        raise IrqlabError("--what processors: the driver executed nothing")
    if instructions < options.switches:
        raise IrqlabError(f"--switches {options.switches}: in a pair the driver executes {instructions} instructions")
    return schedules(instructions, options)


def _with(one: HuntTrial, points: Sequence[Points]) -> HuntTrial:
    assert one.switches is not None
    return replace(one, pairs=len(points), switches=Switches(one.switches.code, tuple(points)))


def _led(one: HuntTrial, asked: Sequence[Points], at: int, lead: int) -> HuntTrial:
    if lead > at:
        raise IrqlabError(f"--lead {lead}: before --at {at} there are only {at} schedules")
    return _with(one, asked[at - lead : at + 1])


def _listed(points: Points) -> str:
    return ", ".join(str(point) for point in points)


def _places(tried: Sequence[HuntResult | IrqlabError], at: int, code: Listing) -> tuple[Place, ...]:
    """Where the processors gave way in a schedule."""
    found = tried[at // TRIAL_PAIRS]
    assert isinstance(found, HuntResult)
    here = [(processor, address) for pair, processor, address in found.switched if pair == at % TRIAL_PAIRS]
    places = []
    for processor, address in here:
        known = code.at(address)
        text, function, line = (known.text, known.function, known.line) if known else ("", "", "")
        places.append(Place(processor, function, text, line, address))
    return tuple(places)


def _broken(runner: TrialRunner, case: Case, first: int, points: Sequence[Points], error: IrqlabError) -> Finding:
    """The DUT failed in a trial; with the shortest one in which it fails. `first`: the number of its first schedule."""
    begin, pairs, error = shortest_failing(
        runner, lambda begin, pairs: _with(case.trial, points[begin : begin + pairs]), len(points), error
    )
    last = begin + pairs - 1
    finding = Finding(case.kind, case.port, "message", None, None, pairs, None, None, pairs - 1, said(error))
    return replace(finding, number=first + last, switches=_listed(points[last]))
