# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that fail: in pair n the n-th call of a function, so that each has failed once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case
from irqlab.hunting.findings import Finding, group, numbered
from irqlab.hunting.pairs import Limits, Pair, pairs_of
from irqlab.hunting.smaller import said, shortest_lead
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import HuntTrial

NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+")
"""In a message of the kernel: addresses, process identifiers and the like, which differ from one time to the next."""
ENTRIES = 500_000
"""Calls recorded in a trial, at most: each takes 200 bytes here. With more calls to fail, there are several trials."""


def fail_calls(runner: TrialRunner, case: Case, calls: int, limits: Limits) -> tuple[list[Pair], list[Finding]]:
    """Lets so many calls fail, one in each pair, in as many trials as it takes. `gap_ns` of a pair is the call's number."""
    judged: list[Pair] = []
    broken: list[tuple[range, IrqlabError]] = []
    at_once = max(1, ENTRIES // calls)
    for begin in range(0, calls, at_once):
        numbers = range(begin, min(begin + at_once, calls))
        found = runner.attempt(failing_call(case.trial, numbers[-1], len(numbers) - 1))
        if isinstance(found, IrqlabError):
            broken.append((numbers, found))
        else:
            judged += [replace(pair, gap_ns=begin + pair.number) for pair in pairs_of(found, limits)]
    findings = []
    for one in group(case.kind, case.port, judged, 1):
        first = one.from_ns or 0  # those after the first may go wrong because of it
        lead = shortest_lead(runner, partial(failing_call, case.trial, first), first % at_once, limits)
        findings.append(numbered(one, first, lead))
    return judged, [*findings, *_broken(runner, case, broken)]


def failing_call(one: HuntTrial, number: int, lead: int) -> HuntTrial:
    """A trial whose last pair has the call of that number fail, and each of the `lead` pairs before it the call before."""
    assert one.failing is not None
    return replace(one, pairs=lead + 1, failing=replace(one.failing, first=number - lead))


def _broken(runner: TrialRunner, case: Case, broken: Iterable[tuple[range, IrqlabError]]) -> Iterator[Finding]:
    """The DUT failed in trials in which these calls fail: with a call alone, or only if they fail one after the other.

    Calls with the same message are one finding.
    """
    by_message: dict[str, list[tuple[int, IrqlabError]]] = {}
    together = []
    for numbers, error in broken:
        any_alone = False
        for number in numbers:
            found = runner.attempt(failing_call(case.trial, number, 0))
            if isinstance(found, IrqlabError):
                any_alone = True
                by_message.setdefault(NUMBER.sub("#", said(found)), []).append((number, found))
        if not any_alone:
            together.append((numbers, error))
    for members in by_message.values():
        first, message = members[0]
        yield Finding(case.kind, case.port, "message", None, None, len(members), None, None, 0, said(message), number=first)
    for numbers, error in together:
        last, lead = numbers[-1], len(numbers) - 1
        yield Finding(case.kind, case.port, "message", None, None, len(numbers), None, None, lead, said(error), number=last)
