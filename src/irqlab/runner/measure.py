# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a method on every testbed with every workload; keeps partial results on Ctrl-C or an error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.qemu import machine
from irqlab.results import document
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Answers, Job, JobRunner, UserInterruptError, terminate_like_ctrl_c
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

Method = Callable[[TrialRunner, Workload], list[MethodResult]]


@dataclass
class Outcome:
    """The results, and the error that ended the measurement, if any."""

    results: list[MethodResult] = field(default_factory=list)
    environment: list[dict[str, Any]] = field(default_factory=list)
    """Descriptions of the testbeds."""
    error: IrqlabError | None = None

    def document(self) -> dict[str, Any]:
        """The JSON document (docs/results.md)."""
        return document.document(["irqlab", *sys.argv[1:]], self.environment, self.results, complete=self.error is None)


def measure(
    testbeds: Sequence[TestbedConfig], workloads: Sequence[Workload], jobs: int, method: Method, name: str, cut_short: str
) -> Outcome:
    """Runs `method` on every testbed with every workload, with at most `jobs` concurrent trials.

    After an error or Ctrl-C, `Outcome.error` is set, and the results are those so far. The trials of an interrupted method
    are in a row of method `cut_short`.
    """
    outcome = Outcome()
    answers: Answers[tuple[int, int], list[MethodResult]] = Answers()
    places: dict[tuple[int, int], Workload] = {}
    try:
        with terminate_like_ctrl_c(), JobRunner(jobs) as runner:
            found = [Testbed.resolve(config) for config in testbeds]
            _introduce(runner, found)
            described = {n: Job(testbed.label, testbed, _describe) for n, testbed in enumerate(found)}
            outcome.environment += runner.run("preparing", described).values()
            for note in dict.fromkeys(note for dut in outcome.environment for note in dut["dut"]["notes"]):
                runner.display.say(f"  {note}")
            chosen = {}
            for n, testbed in enumerate(found):
                for m, workload in enumerate(workloads):
                    places[n, m] = workload
                    chosen[n, m] = Job(f"{testbed.label} {workload.size}", testbed, partial(_at, method, workload))
            runner.run(name, chosen, answers)
    except KeyboardInterrupt:
        machine.cancel_all()
        trials = sum(len(runner.done) for runner in answers.runners.values())
        outcome.error = UserInterruptError(f"interrupted; the results so far are kept ({trials} trials)")
    except IrqlabError as error:
        outcome.error = error
    for place, workload in places.items():
        if place in answers.done:
            outcome.results += answers.done[place]
        elif place in answers.runners and answers.runners[place].done:
            outcome.results.append(_cut_short(answers.runners[place], cut_short, workload))
    return outcome


def _introduce(runner: JobRunner, testbeds: Sequence[Testbed]) -> None:
    """Prints what is measured, and notes on the NIC models."""
    said: set[str] = set()
    for testbed in testbeds:
        where = f"{testbed.nic.model}, Linux {testbed.machine.kernel.release}, {testbed.machine.mips} MIPS"
        runner.display.say(f"{testbed.label} on {where}")
        if testbed.nic.note and testbed.nic.model not in said:
            runner.display.say(f"  {testbed.nic.note}")
        said.add(testbed.nic.model)


def _at(method: Method, workload: Workload, runner: TrialRunner) -> list[MethodResult]:
    return method(runner, workload)


def _describe(runner: TrialRunner) -> dict[str, Any]:
    return runner.testbed.describe()


def _cut_short(runner: TrialRunner, name: str, workload: Workload) -> MethodResult:
    """A result row that holds only the finished trials."""
    result = runner.result(name, workload)
    result.complete = False
    result.trials = list(runner.done)
    return result
