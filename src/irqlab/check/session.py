# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the rows of the checklist on a driver, within a budget."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from rich.markup import escape

from irqlab.check.clock import Budget
from irqlab.check.kinds import kind
from irqlab.check.row import BROKEN, FAIL, NOT_COVERED, Outcome, Row, Workplace, failed, not_covered, words
from irqlab.check.subject import Subject
from irqlab.errors import IrqlabError
from irqlab.qemu.cancellation import CancelledError, cancelled_or_failed, current, workers
from irqlab.runner.jobs import terminate_like_ctrl_c
from irqlab.runner.progress import ProgressDisplay
from irqlab.trials import cache
from irqlab.trials.fingerprint import code_fingerprint
from irqlab.trials.testbed import Testbed

COMES_UP = "life-up"
"""The row without which no other can be tried."""


MESSAGES = 5
"""Of the kernel's, that are kept as evidence of a row that did not fail because of them."""


@dataclass(frozen=True)
class Done:
    """A row with its outcome."""

    row: Row
    outcome: Outcome
    seconds: float | None = None
    """Host time that it took when it was run; None: it was not run."""
    ended_s: float | None = None
    """When it ended, in host time since the beginning; None: it was not run, or its outcome is from the cache."""


@dataclass
class Checked:
    """What came of a check."""

    testbed: Testbed
    budget_s: float
    done: dict[str, Done] = field(default_factory=dict)
    """By the row's name."""
    interrupted: bool = False

    def of(self, status: str) -> list[Done]:
        """The rows with this status."""
        return [one for one in self.done.values() if one.outcome.status == status]


def check(
    testbed: Testbed, rows: Sequence[Row], budget: Budget, jobs: int, display: ProgressDisplay, checked: Checked
) -> Checked:
    """Runs the rows, `jobs` at a time, and fills `checked`. After Ctrl-C it holds what was found until then."""
    subject = Subject(testbed)
    waiting = {row.name: row for row in rows}
    for row in rows:
        budget.register(row.name, row.share)
    checked.done = {}
    found: dict[str, Done] = {}
    try:
        with terminate_like_ctrl_c():
            up = _comes_up(subject, waiting, found, display)
            if up is not None:
                for row in waiting.values():
                    found[row.name] = Done(row, not_covered(up))
                waiting.clear()
            _run_all(subject, waiting, found, budget, jobs, display)
    except KeyboardInterrupt:
        checked.interrupted = True
    for row in rows:
        checked.done[row.name] = found.get(row.name) or Done(row, not_covered("interrupted before its turn"))
    testbed.close()
    return checked


def _comes_up(subject: Subject, waiting: dict[str, Row], found: dict[str, Done], display: ProgressDisplay) -> str | None:
    """Prepares the DUT; why nothing can be tried, if the driver does not come up."""
    display.say(f"{subject.testbed.label} on {subject.testbed.where}")
    try:
        _ = subject.testbed.prepared
        _ = subject.facts
    except BROKEN as error:
        if isinstance(error, CancelledError):
            raise
        if row := waiting.pop(COMES_UP, None):
            found[row.name] = Done(row, _problem(error))
        return f"the driver does not come up: {str(error).splitlines()[0]}"
    return None


def _run_all(
    subject: Subject, rows: dict[str, Row], found: dict[str, Done], budget: Budget, jobs: int, display: ProgressDisplay
) -> None:
    batch = display.batch("check", len(rows))
    ordered = sorted(rows.values(), key=lambda row: -row.risk)

    def one(row: Row) -> None:
        tell, finished = batch.job(row.name)
        found[row.name] = done = _row(subject, row, budget, tell)
        if display.live:
            finished()
        took = "" if done.seconds is None else f" ({done.seconds:.0f} s)"
        left = f"{len(found)} of {len(rows)}, {budget.left_s:.0f} s left"
        display.say(escape(f"{done.outcome.status:13} {row.name}: {done.outcome.said}{took} [{left}]"))

    with workers(jobs) as pool:
        futures = [pool.submit(one, row) for row in ordered]
        ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
        for future in ended:
            future.result()


def _row(subject: Subject, row: Row, budget: Budget, tell: Callable[[str], None]) -> Done:
    try:
        if (wrong := subject.testbed.nic.wrong.get(row.name)) is not None:
            return Done(row, not_covered(f"{subject.testbed.nic.model}: {wrong}"))
        if (refusal := row.needs(subject)) is not None:
            return Done(row, refusal)
        key = _key(subject.testbed, row, budget.seconds) if subject.testbed.config.cached else None
        if key and (kept := cache.get(key)) is not None:
            lists = {name: tuple(value) for name, value in kept["outcome"].items() if isinstance(value, list)}
            outcome = Outcome(**{**kept["outcome"], **lists})
            return Done(row, outcome, kept["seconds"])
        if budget.over:
            return Done(row, not_covered(f"the budget of {budget.seconds:.0f} s was used up before its turn"))
        allowance = budget.allow(row.name)
        tell("running")
        place = Workplace(subject, allowance, tell)
        outcome = attempt(partial(row.tried, place))
        if place.doing and outcome.status == FAIL:
            outcome = replace(outcome, said=f"{place.doing}: {outcome.said}")
        if place.messages:
            outcome = replace(outcome, evidence=(*outcome.evidence, *_logged(place.messages)))
        if key and outcome.status != NOT_COVERED:
            cache.put(key, {"outcome": words(outcome), "seconds": allowance.used_s})
        return Done(row, outcome, allowance.used_s, budget.now_s())
    finally:
        budget.done(row.name)


def _logged(messages: Sequence[str]) -> list[str]:
    """Different messages of the kernel, each once."""
    return [f"the kernel logged: {text}" for text in list(dict.fromkeys(messages))[:MESSAGES]]


def attempt(run: Callable[[], Outcome]) -> Outcome:
    """Runs a row. What goes wrong in the DUT is the driver's failure; another error means that the row was not covered."""
    try:
        with cancelled_or_failed():  # Ctrl-C ends QEMUs: that is nobody's failure, and nothing to keep
            outcome = run()
            current().check()
        return outcome
    except CancelledError:
        if current().cancelled:
            raise
        return not_covered("no time was left for it")
    except BROKEN as error:
        return _problem(error)
    except IrqlabError as error:
        return not_covered(f"it could not be tried: {error}")


def _problem(error: IrqlabError) -> Outcome:
    first, *rest = str(error).splitlines()
    return failed(first, rest, kinds=[kind(str(error))])


def _key(testbed: Testbed, row: Row, budget_s: float) -> str:
    """Of an outcome in the cache: everything it depends on, and how much time there was."""
    parts: dict[str, Any] = {
        "testbed": testbed.parts,
        "row": row.name,
        "code": code_fingerprint(_module_of(row.run)),
        "session": code_fingerprint(__name__),
        "budget_s": budget_s,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _module_of(run: Callable[..., Any]) -> str:
    return str(run.func.__module__ if isinstance(run, partial) else run.__module__)
