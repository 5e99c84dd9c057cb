# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that fail: in pair n the n-th call of a function, so that each has failed once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case
from irqlab.hunting.findings import Finding, group, numbered
from irqlab.hunting.pairs import Limits, Pair, pairs_of
from irqlab.hunting.smaller import said, shortest_lead
from irqlab.qemu.cancellation import CancelledError
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import HuntTrial

NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+")
"""In a message of the kernel: addresses, process identifiers and the like, which differ from one time to the next."""


def fail_calls(runner: TrialRunner, case: Case, calls: int, limits: Limits) -> tuple[list[Pair], list[Finding]]:
    """Lets so many calls fail, one in each pair. `gap_ns` of a pair is the call's number.

    A pair with fewer calls, in which none failed, is left out.
    """
    found = runner.attempt(replace(case.trial, pairs=calls))
    if isinstance(found, IrqlabError):
        return [], list(_broken(runner, case, calls, found))
    judged = [replace(pair, gap_ns=pair.number) for pair in pairs_of(found, limits) if found.failed[pair.number]]
    findings = []
    for one in group(case.kind, case.port, judged, 1):
        first = one.from_ns or 0  # those after the first may go wrong because of it
        lead = shortest_lead(runner, partial(failing_call, case.trial, first), first, limits)
        findings.append(numbered(one, first, lead))
    return judged, findings


def failing_call(one: HuntTrial, number: int, lead: int) -> HuntTrial:
    """A trial whose last pair has the call of that number fail, and each of the `lead` pairs before it the call before."""
    assert one.failing is not None
    return replace(one, pairs=lead + 1, failing=replace(one.failing, first=number - lead))


def _broken(runner: TrialRunner, case: Case, calls: int, error: IrqlabError) -> Iterator[Finding]:
    """The DUT failed: with a call alone, or only if they fail one after the other.

    Calls with the same message are one finding.
    """
    by_message: dict[str, list[tuple[int, IrqlabError]]] = {}
    alone = runner.attempts([failing_call(case.trial, number, 0) for number in range(calls)], f"{case.kind}, one call at a time")
    for number, found in enumerate(alone):
        if isinstance(found, IrqlabError) and not isinstance(found, CancelledError):
            by_message.setdefault(NUMBER.sub("#", said(found)), []).append((number, found))
    for members in by_message.values():
        first, message = members[0]
        yield Finding(case.kind, case.port, "message", None, None, len(members), None, None, 0, said(message), number=first)
    if not by_message:
        last = calls - 1
        yield Finding(case.kind, case.port, "message", None, None, calls, None, None, last, said(error), number=last)
