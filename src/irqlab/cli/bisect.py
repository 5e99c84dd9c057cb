# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab bisect`: the commit that made a driver worse."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab import units
from irqlab.cli import options as opt
from irqlab.cli.output import check_directory, show
from irqlab.compare import sides, verdict
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import metrics, throughput
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import UserInterruptError
from irqlab.runner.measure import Outcome, measure
from irqlab.runner.runner import TrialRunner
from irqlab.setup.say import say
from irqlab.versions import bisect, bisect_report
from irqlab.versions.bisect import Answer, Question, Step

Metrics = dict[str, float | None]


@opt.asks("nic", "kernel", "mips", "ring", "size", "bidirectional", "duration", "warmup", *opt.RUN, driver=["?"])
def command(
    *,
    tree: Annotated[
        Path, typer.Option("--tree", help="A git repository: a kernel's source, or drivers as in this project.")
    ] = Path("."),
    good: Annotated[str, typer.Option("--good", help="A revision from before the change.")],
    bad: Annotated[str, typer.Option("--bad", help="A revision that is worse.")] = "HEAD",
    driver: Annotated[str, typer.Option("--driver", help="DRIVER[+OPTIONS], as for irqlab compare.")],
    metric: Annotated[
        str,
        typer.Option(
            "--metric", help=f"{', '.join(bisect.SHORT_NAMES)}, or a name in irqlab compare's JSON without nic_ and fills."
        ),
    ] = "instructions_per_frame",
    above: Annotated[
        str, typer.Option("--above", help="A commit is bad if it is worse than the good revision by more than this.")
    ] = "1%",
    request: opt.Request,
    out: Annotated[Path, typer.Option("--out", help="Directory for bisect.json and bisect.html.")] = Path("results/bisect"),
) -> None:
    """Find the commit that made a driver worse; show the functions that gained instructions. Run it again to resume."""
    share = verdict.parse_threshold(above, "--above")
    side = sides.parse(driver, request.testbeds[0])
    if share is None or side.testbed is None:
        raise IrqlabError(f"--driver {driver}: name a driver")
    if len(request.sizes) > 1:
        raise IrqlabError("--size: a bisection takes one frame size")
    tree = tree.resolve()
    question = Question(
        tree=tree,
        good=bisect.commit_of(tree, good),
        bad=bisect.commit_of(tree, bad),
        metric=bisect.metric(metric),
        above=share,
        common=side.testbed,
        workload=request.workloads()[0],
    )
    commits = bisect.between(question)
    check_directory(out)
    run = _Run(question, bisect_report.State.read(out, question.key), out)
    say(f"{len(commits)} commits, about {bisect.steps_left(commits)} steps after the two ends")
    answer = Answer()
    try:
        base_pps, _ = metrics.base_rates(min(run.rate(question.good), run.rate(question.bad)))
        ends = (run.metrics(question.good, base_pps), run.metrics(question.bad, base_pps))
        answer = bisect.search(question, ends, lambda commit: run.metrics(commit, base_pps), run.tell)
        gained = run.gained(answer, base_pps)
    except UserInterruptError:
        raise UserInterruptError(f"interrupted; run the same command again to continue (measured commits are in {out})") from None
    report = bisect_report.Report(question, commits, ends, answer, gained, ["irqlab", *sys.argv[1:]], run.environment)
    report.write(out)
    show(report.tables())
    print(report.conclusion())
    print(f"{out}/bisect.html, bisect.json")
    if answer.first_bad is None:
        raise typer.Exit(1)


class _Run:
    """Measures commits, and keeps what it has measured."""

    def __init__(self, question: Question, state: bisect_report.State, out: Path) -> None:
        self.question, self.state, self.out = question, state, out
        self.environment: list[dict[str, Any]] = []

    def rate(self, commit: str) -> float:
        """The throughput per direction, in frames/s."""
        kept = self.state.rates.get(commit)
        if kept is None:
            (found,) = self._measured(commit, lambda runner, workload: [throughput.run(runner, workload)])
            kept = self.state.rates[commit] = throughput.rate_per_direction(found)
            self.state.write(self.out)
        return kept

    def metrics(self, commit: str, base_pps: float) -> Metrics:
        """All metrics, at loads relative to `base_pps`. Raises IrqlabError if the commit cannot be built or measured."""
        kept = self.state.metrics.get(commit)
        if kept is None:
            begun = time.monotonic()
            found = self._measured(commit, partial(_metrics, base_pps=base_pps, profiled=False))[-1]
            kept = self.state.metrics[commit] = found.summary.metrics
            self.state.write(self.out)
            say(f"{commit[:12]} measured in {time.monotonic() - begun:.0f} s")
        return kept

    def gained(self, answer: Answer, base_pps: float) -> list[dict[str, Any]]:
        """The functions that gained or lost instructions with the first bad commit."""
        if answer.first_bad is None:
            return []
        pair = (bisect.parent(self.question.tree, answer.first_bad), answer.first_bad)
        rows = [self._measured(one, partial(_metrics, base_pps=base_pps, profiled=True))[-1].to_json() for one in pair]
        return [{"function": change.name, "before": change.before, "after": change.after} for change in verdict.functions(*rows)]

    def tell(self, step: Step) -> None:
        """Prints a step."""
        name = self.question.metric
        value = units.plain(metrics.text(name, step.metrics.get(name.name))) if step.metrics else step.why.partition("\n")[0]
        say(f"{step.commit[:12]} {step.verdict}: {value}  {step.subject}")

    def _measured(self, commit: str, method: Any) -> Sequence[MethodResult]:
        config = bisect.testbed_at(self.question, commit)
        outcome: Outcome = measure([config], [self.question.workload], 1, method, commit[:12], throughput.METHOD.name)
        if outcome.error is not None:
            raise outcome.error
        self.environment = outcome.environment
        return outcome.results


def _metrics(runner: TrialRunner, workload: Workload, base_pps: float, profiled: bool) -> list[MethodResult]:
    known = throughput.run(runner, workload)
    return [known, metrics.run(runner, workload, known, base_pps, profiled)]
