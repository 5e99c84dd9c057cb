# SPDX-License-Identifier: GPL-2.0-or-later
"""A row of the checklist: its declaration, what it is given to work with, and what comes of it."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from irqlab.check.clock import Allowance
from irqlab.check.subject import Subject
from irqlab.config.testbed import TestbedConfig
from irqlab.dut.agent import DutError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.qemu.cancellation import CancelledError
from irqlab.qemu.failure import BreakpointError, MachineError
from irqlab.qemu.machine import BOOTS
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial

R = TypeVar("R")

PASS, FAIL, NOT_SUPPORTED, NOT_COVERED = "pass", "fail", "not supported", "not covered"
BROKEN = (DutError, KernelProblemError, MachineError)
"""What goes wrong in the DUT: the driver's failure."""
STATUSES = (PASS, FAIL, NOT_SUPPORTED, NOT_COVERED)
OVERDRAFT = 2.0
MOST_EVIDENCE = 60
"""Lines of evidence that are kept of a row."""


@dataclass(frozen=True)
class Outcome:
    """What came of a row."""

    status: str
    """One of STATUSES."""
    said: str
    """What was tried, what went wrong, or why it was not tried: one sentence, without a full stop."""
    evidence: tuple[str, ...] = ()
    replay: str = ""
    """A command that shows it again; empty: that of the row."""
    results: tuple[dict[str, str], ...] = ()
    """Single test cases, in the form in which NIPA, netdev's CI, keeps them: test, group, result."""
    kinds: tuple[str, ...] = ()
    """Of what went wrong, each once (irqlab.check.kinds); empty: the row knows one way only to go wrong."""


def passed(said: str, evidence: Sequence[str] = ()) -> Outcome:
    """All was as it has to be."""
    return Outcome(PASS, said, tuple(evidence)[:MOST_EVIDENCE])


def failed(said: str, evidence: Sequence[str] = (), replay: str = "", kinds: Sequence[str] = ()) -> Outcome:
    """Something went wrong."""
    return Outcome(FAIL, said, tuple(evidence)[:MOST_EVIDENCE], replay, kinds=tuple(kinds))


def not_supported(how: str) -> Outcome:
    """The driver or the NIC cannot. `how`: how that was found out."""
    return Outcome(NOT_SUPPORTED, how)


def not_covered(reason: str) -> Outcome:
    """It was not tried: no time was left, or the NIC model lacks something."""
    return Outcome(NOT_COVERED, reason)


@dataclass
class Tally:
    """Facts that a row looks at one after the other."""

    looked: int = 0
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def expect(self, right: bool, what: str) -> bool:
        """Counts a fact. `what` says what is wrong if it is not `right`. Returns `right`."""
        self.looked += 1
        if not right:
            self.wrong.append(what)
        return right

    def outcome(self, said: str) -> Outcome:
        """Fails with the first wrong fact; else passes with what `said` says was tried."""
        if not self.looked:
            return not_covered("nothing could be looked at")
        if self.wrong:
            more = f" (and {len(self.wrong) - 1} more)" if len(self.wrong) > 1 else ""
            return failed(f"{self.wrong[0]}{more}", [*self.wrong, *self.notes])
        return passed(said, self.notes)


class TimedRunner(TrialRunner):
    """Starts no further trial of a batch when the row's time is over."""

    def __init__(
        self, testbed: Testbed, allowance: Allowance, progress: Callable[[str], None], row: Allowance | None = None
    ) -> None:
        super().__init__(testbed, threading.Semaphore(1), progress)
        self.allowance = allowance
        self.row = row or allowance
        """That of the whole row, of which `allowance` may be a part."""

    def attempt(self, trial: Trial[R], cached: bool = True) -> R | IrqlabError:
        """As TrialRunner's. Findings are made small in the same time again; then it raises CancelledError."""
        if self.row.used_s > OVERDRAFT * self.row.seconds:
            raise CancelledError("no time is left")
        return super().attempt(trial, cached)

    def attempts(self, trials: Sequence[Trial[R]], what: str) -> list[R | IrqlabError]:
        """As TrialRunner's; a trial for which no time was left has a CancelledError as its result."""
        found: list[R | IrqlabError] = []
        for number, trial in enumerate(trials):
            if self.allowance.over and found:
                found.append(CancelledError("no time is left"))
                continue
            self.progress(f"{what}: {number} of {len(trials)}")
            result = self.attempt(trial)
            found.append(result)
        return found


@dataclass
class Workplace:
    """What a row works with."""

    subject: Subject
    allowance: Allowance
    progress: Callable[[str], None] = lambda _: None
    doing: str = ""
    """What is done: told if the DUT dies meanwhile."""
    messages: list[str] = field(default_factory=list)
    """What the kernel logged above info where a driver may say something: no failure."""

    @property
    def testbed(self) -> Testbed:
        """The driver under test."""
        return self.subject.testbed

    def runner(self, testbed: Testbed | None = None) -> TimedRunner:
        """Runs trials, one at a time, until the row's time is over."""
        return TimedRunner(testbed or self.testbed, self.allowance, self.progress)

    @contextmanager
    def dut(self, line_rate: bool = True, silent: bool = False) -> Iterator[Dut]:
        """Context manager: a DUT in the initial state of trials. At its end the kernel's log is read.

        `line_rate`: the tester's hosts keep to it. `silent`: nothing is done to the interface, so the driver has nothing to
        report, and any message above info is a problem. Raises KernelProblemError.
        """
        with self.testbed.open() as dut:
            dut.kernel_log.forget()
            dut.play_hosts(self.testbed.nic.line_rate_bps if line_rate else 0)
            yield dut
            dut.kernel_log.check(messages=silent)
            self.messages += dut.kernel_log.messages


@dataclass(frozen=True)
class Row:
    """The declaration of a row."""

    name: str
    """For --only, in JSON and in JUnit."""
    title: str
    group: str
    run: Callable[[Workplace], Outcome]
    share: float = 1.0
    """Of the time, compared with the other rows."""
    needs: Callable[[Subject], Outcome | None] = lambda _: None
    """Why it cannot be tried with this driver and this NIC; None: it can."""
    risk: int = 5
    """Rows with a higher one are run first."""
    deep: bool = False
    """Only with --deep."""

    def tried(self, place: Workplace) -> Outcome:
        """Runs it, and again if QEMU made the DUT's kernel panic."""
        for _ in range(BOOTS - 1):
            try:
                return self.run(place)
            except BreakpointError:
                if place.allowance.over:
                    raise
                place.progress("QEMU ran a breakpoint that is gone: again")
                place.messages.clear()
        return self.run(place)

    def command(self, config: TestbedConfig) -> str:
        """Runs this row alone."""
        return shlex.join(["irqlab", "check", *options_of(config), "--only", self.name])


def options_of(config: TestbedConfig) -> list[str]:
    """The options that choose the same DUT."""
    options = ["--driver", config.driver]
    for name, value in (("--nic", config.nic), ("--kernel", config.kernel)):
        options += [name, value] if value else []
    for name, value in config.dut.attributes:
        options += ["--attribute", f"{name}={value}"]
    for pattern in config.dut.may_log:
        options += ["--may-log", pattern]
    return options


def words(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON data."""
    return {
        "status": outcome.status,
        "said": outcome.said,
        "evidence": list(outcome.evidence),
        "replay": outcome.replay,
        "results": list(outcome.results),
        "kinds": list(outcome.kinds),
    }
