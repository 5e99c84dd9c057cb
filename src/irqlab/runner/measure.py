# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a method on every bench with every workload; keeps partial results on Ctrl-C or an error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from msgspec import UNSET

from irqlab.config.ensemble import Ensemble
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.results import document, ensemble
from irqlab.results.document import MethodResult
from irqlab.results.records import EnsembleRow
from irqlab.runner.jobs import Answers, Job, JobRunner, UserInterruptError, terminate_like_ctrl_c
from irqlab.runner.runner import TrialRunner
from irqlab.trials.bench import Bench
from irqlab.trials.testbed import Testbed

Method = Callable[[TrialRunner, Workload], list[MethodResult]]


@dataclass
class Outcome:
    """The results, and the error that ended the measurement, if any."""

    results: list[MethodResult] = field(default_factory=list)
    environment: list[dict[str, Any]] = field(default_factory=list)
    """Descriptions of the benches."""
    error: IrqlabError | None = None

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON document (docs/use/results.md), of the results that there are when it is asked for first."""
        return document.document(["irqlab", *sys.argv[1:]], self.environment, self.results, complete=self.error is None)


def measure(
    benches: Sequence[TestbedConfig | Bench],
    workloads: Sequence[Workload],
    jobs: int,
    method: Method,
    name: str,
    cut_short: str,
    ensembles: Sequence[Ensemble] = (),
) -> Outcome:
    """Runs `method` on every bench with every workload, with at most `jobs` concurrent trials.

    After an error or Ctrl-C, `Outcome.error` is set, and the results are those so far. The trials of an interrupted method
    are in a row of method `cut_short`. `ensembles`: one per bench; the rows of all members are results.
    """
    outcome = Outcome()
    answers: Answers[_Place, list[MethodResult]] = Answers()
    casts = list(ensembles) or [Ensemble()] * len(benches)
    places: list[_Place] = []
    try:
        with terminate_like_ctrl_c(), JobRunner(jobs) as runner:
            found = [Testbed.resolve(one) if isinstance(one, TestbedConfig) else one for one in benches]
            _introduce(runner, found)
            described = {n: Job(bench.label, bench, _describe) for n, bench in enumerate(found)}
            outcome.environment += runner.run("preparing", described).values()
            for note in dict.fromkeys(note for dut in outcome.environment for note in dut["dut"]["notes"]):
                runner.display.say(f"  {note}")
            members = {(n, k): bench for n, cast in enumerate(casts) for k, bench in enumerate(_members(found[n], cast))}
            places = [_Place(n, m, k) for n, k in members for m in range(len(workloads))]
            chosen = {}
            for at in sorted(places, key=lambda at: (at.member, at.bench, at.workload)):
                workload, bench = workloads[at.workload], members[at.bench, at.member]
                named = f"{bench.label} {workload.size}{f' #{at.member}' if at.member else ''}"
                chosen[at] = Job(named, bench, partial(_at, method, workload))
            runner.run(name, chosen, answers)
    except KeyboardInterrupt:
        trials = sum(len(runner.done) for runner in answers.runners.values())
        outcome.error = UserInterruptError(f"interrupted; the results so far are kept{f' ({trials} trials)' if trials else ''}")
    except IrqlabError as error:
        outcome.error = error
    for n, cast in enumerate(casts):
        for m, workload in enumerate(workloads):
            mine = [at for at in places if (at.bench, at.workload) == (n, m)]
            rows = _rows({at.member: answers.done[at] for at in mine if at in answers.done}, cast)
            for at in mine:
                if (
                    at not in answers.done
                    and at in answers.runners
                    and (short := _cut_short(answers.runners[at], cut_short, workload))
                ):
                    short.ensemble = UNSET if cast.single else EnsembleRow(cast.number(at.member))
                    rows.append(short)
            for row in rows:
                row.dut = n if len(benches) > 1 else UNSET
            outcome.results += rows
    return outcome


@dataclass(frozen=True)
class _Place:
    """A job: the numbers of its bench, of its workload and, in the bench's ensemble, of its member."""

    bench: int
    workload: int
    member: int


def _members(bench: Bench, cast: Ensemble) -> list[Bench]:
    """A bench for each member."""
    if cast.single:
        return [bench]
    return [bench.with_member(member) for member in cast.cast()]


def _rows(done: dict[int, list[MethodResult]], cast: Ensemble) -> list[MethodResult]:
    """The rows of an ensemble, from the results of the members that were measured: row by row, all members."""
    members = sorted(done)
    if not members or cast.single:
        return [row for number in members for row in done[number]]
    rows = []
    for n, first in enumerate(done[members[0]]):
        same = [done[number][n] for number in members]
        for number, row in zip(members, same, strict=True):
            row.ensemble = EnsembleRow(cast.number(number))
        first.ensemble = EnsembleRow(
            cast.number(members[0]),
            members=len(same),
            seed=cast.seed,
            perturb=list(cast.perturb),
            figures=ensemble.spreads([row.to_json() for row in same]),
        )
        rows += same
    return rows


def _introduce(runner: JobRunner, benches: Sequence[Bench]) -> None:
    """Prints what is measured, and notes on the NIC models."""
    said: set[str] = set()
    for bench in benches:
        runner.display.say(f"{bench.label} on {bench.where}")
        if bench.nic.note and bench.nic.model not in said:
            runner.display.say(f"  {bench.nic.note}")
        said.add(bench.nic.model)


def _at(method: Method, workload: Workload, runner: TrialRunner) -> list[MethodResult]:
    return method(runner, workload)


def _describe(runner: TrialRunner) -> dict[str, Any]:
    return runner.bench.describe()


def _cut_short(runner: TrialRunner, name: str, workload: Workload) -> MethodResult | None:
    """A result row of what was measured until an interruption: at least the finished trials. None: nothing was."""
    result = runner.draft() or (runner.result(name, workload) if runner.done else None)
    if result is None:
        return None
    result.complete = False
    result.trials = list(runner.done)
    return result
