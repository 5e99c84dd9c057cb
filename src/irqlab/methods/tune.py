# SPDX-License-Identifier: GPL-2.0-or-later
"""Which settings are best for a load: a search over what the DUT takes, with other methods' trials as its objective.

First short trials of many settings (irqlab.tuning.search), then whole ones of the best. Changes that gain nothing are put back
one by one, which shows what decides. An ensemble says how sure the gain is; loads that were held back, whether it holds there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from irqlab.config.ensemble import MAX_MEMBERS, Ensemble
from irqlab.config.values import Rate
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import tune_views
from irqlab.methods.method import COSTS, DUT, RUN, Lines, Method
from irqlab.methods.tune_trials import IN_PROCESS, Measurer, base_pps, ways
from irqlab.methods.tune_views import Decides, Line, Made, Member, Place, Sample, Summary
from irqlab.perturb import catalogue as perturbations
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.tuned import SurveyTrial
from irqlab.tuning import commands, goal, load, pcap, space
from irqlab.tuning.goal import Figures, Settings, Wanted
from irqlab.tuning.load import Offer
from irqlab.tuning.search import Answer, Search
from irqlab.units import host_seconds

TRIALS, MEMBERS = 30, 5
MAX_TRIALS = 10_000
FINALISTS = 4
"""Settings of which whole trials are made."""
AS_GOOD, OF_GAIN = 0.01, 0.02
"""Changes whose absence costs less than this share, or less than this share of the whole gain, are put back."""
ELSEWHERE = (0.25, 2.0)
"""Loads at which the costs are shown, as multiples of the highest load."""
SEARCH_SHARE = 0.6
"""Of --budget, for the search."""


@dataclass(frozen=True)
class Options:
    """What is wanted, for which load, and what may be varied."""

    goal: Annotated[
        str,
        typer.Option(
            "--goal",
            help=f"What to optimise: {', '.join(goal.GOALS)} (CPU, and 10 us for each interrupt, to leave idle state C1E); "
            "several, comma-separated: their product.",
        ),
    ] = "p99"
    load: Annotated[
        str,
        typer.Option(
            "--load",
            help="A rate (40k), a range (10k-60k), a share of what the defaults manage (80%, 50%-150%), max (the highest rate "
            "without loss), a recording of what arrives (FILE.pcap, .pcapng: sizes and gaps), or iperf3: "
            f"{', '.join(load.IPERF)}.",
        ),
    ] = "80%"
    application: Annotated[
        str | None,
        typer.Option(
            "--application",
            metavar="WAIT",
            help=f"The DUT does not forward: an application receives. How it may wait: {', '.join(IN_PROCESS)}, or any.",
        ),
    ] = None
    keep: Annotated[str | None, typer.Option("--keep", help="What has to be kept, such as 'p99 < 200 us, loss = 0'.")] = None
    trials: Annotated[int, typer.Option("--trials", help="Settings to try.")] = TRIALS
    budget: Annotated[str | None, typer.Option("--budget", help="Host time after which to end, such as 5m; default: none.")] = (
        None
    )
    only: Annotated[str | None, typer.Option("--only", help="Vary these settings only; also patterns: 'rx-*,ring-*'.")] = None
    without: Annotated[str | None, typer.Option("--without", help="Do not vary these settings.")] = None
    fixed: Annotated[str | None, typer.Option("--fixed", help="Set these in every trial: rx-usecs=50,threaded=1.")] = None
    ensemble: Annotated[
        int, typer.Option("--ensemble", help="Members that confirm the gain; they differ in what should not matter.")
    ] = MEMBERS
    write: Annotated[Path | None, typer.Option("--write", help="Write script, .link, udev rule, sysctl.d to this directory.")] = (
        None
    )

    def __post_init__(self) -> None:
        self.wanted()
        found = load.parse(self.load)
        waits = ways(self.application)
        if found.kind in ("max", "iperf") and waits:
            raise IrqlabError(f"--load {self.load}: the application of --application takes a rate, a share or a range")
        if found.kind == "iperf" and any(one.name in ("p99", "p50") for one in self.wanted().goals):
            raise IrqlabError(f"--goal {self.goal}: iperf3 has no latency: allowed are throughput, cpu and awake")
        if not 1 <= self.trials <= MAX_TRIALS:
            raise IrqlabError(f"--trials {self.trials}: allowed are 1 to {MAX_TRIALS}")
        if not 1 <= self.ensemble <= MAX_MEMBERS:
            raise IrqlabError(f"--ensemble {self.ensemble}: allowed are 1 to {MAX_MEMBERS}")
        self.seconds()

    def wanted(self) -> Wanted:
        """Goals and limits. Raises IrqlabError."""
        found = Wanted(goal.goals(self.goal), goal.limits(self.keep))
        if load.parse(self.load).kind != "iperf":
            return found
        goals = tuple(goal.BITS if one.name == "throughput" else one for one in found.goals)
        limits = tuple(replace(one, metric=goal.BITS) if one.metric.name == "throughput" else one for one in found.limits)
        return Wanted(goals, limits)

    def seconds(self) -> float | None:
        """The budget. Raises IrqlabError."""
        return None if self.budget is None else host_seconds(self.budget, "--budget")


@dataclass
class _Tuning:
    """One run, as far as it has come."""

    runner: TrialRunner
    workload: Workload
    options: Options
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.wanted = self.options.wanted()
        self.waits = ways(self.options.application)
        self.load = load.parse(self.options.load)
        if self.load.kind == "recorded":
            usual = Workload()
            if (self.workload.size, self.workload.arrivals) != (usual.size, usual.arrivals):
                raise IrqlabError(
                    f"--load {self.options.load}: a recording has its own sizes and arrivals: no --size, no --arrivals"
                )
            self.workload = replace(self.workload, size=round(pcap.read(self.load.path).mean_bytes))
        self.began_s = time.monotonic()
        self.runner.draft = self._draft

    def run(self) -> MethodResult:
        """Surveys, searches, confirms."""
        self._prepare()
        search = self._searched()
        best = self._pruned(search, self._finalist(search))
        result = self._result()
        result.summary = self._summary(search, best)
        return result

    def _prepare(self) -> None:
        bench, options = self.runner.bench, self.options
        self.runner.progress("asking what can be set")
        found = self.runner.trial(SurveyTrial())
        self.interfaces = found.interfaces
        every = space.parameters(found.settable, self.interfaces, self.waits, bench.config.cpus)
        self.space = space.chosen(every, options.only, options.without, options.fixed)
        self.measurer = Measurer(self.space, self.workload, bool(self.waits), self.wanted.times)
        wait = self.waits[0] if self.waits else ""
        self.base_pps = base_pps(self.runner, self.workload, self.load, bool(self.waits), wait)
        self.offer = self.load.offer(self.base_pps, self.workload.duration_ns)

    def _result(self) -> MethodResult:
        result = self.runner.result("tune", self.workload)
        result.samples = list(self.samples)
        return result

    def _draft(self) -> MethodResult | None:
        return self._result() if self.samples else None

    def _over(self, share: float) -> bool:
        budget_s = self.options.seconds()
        return budget_s is not None and time.monotonic() - self.began_s > share * budget_s

    def measured(self, place: Place, given: Sequence[Settings], offer: Offer, runner: TrialRunner | None = None) -> list[Answer]:
        """What settings do; each becomes a sample."""
        found = self.measurer.answers(runner or self.runner, given, offer)
        self.samples += [
            Sample.of(place, settings, answer, offer.rates_pps) for settings, answer in zip(given, found, strict=True)
        ]
        return found

    def _searched(self) -> Search:
        short = replace(self.offer, short=True)
        search = Search(
            self.space,
            self.wanted,
            lambda given: self.measured("search", given, short),
            self.options.trials,
            self.workload.seed,
            lambda: self._over(SEARCH_SHARE),
            self._told,
        )
        search.run()
        if isinstance(refused := search.tried[0].answer, str):
            raise IrqlabError(f"the defaults cannot be measured: {refused}")
        return search

    def _told(self, search: Search) -> None:
        if search.tried[0].figures is None:
            return
        best = search.nearest()
        first = self.wanted.goals[0]
        assert best.figures is not None
        now, usual = (first.of(figures) for figures in (best.figures, search.defaults))
        shown = [first.write(value) if value is not None else "unknown" for value in (now, usual)]
        self.runner.progress(
            f"{len(search.tried)} of {search.trials} settings: {first.words} {shown[0]} with {tune_views.said(best.settings)} "
            f"(defaults: {shown[1]})"
        )

    def _finalist(self, search: Search) -> tuple[dict[str, str], Figures, Figures]:
        """The best with whole trials, its figures, and those of the defaults."""
        chosen = [one.settings for one in search.best(FINALISTS)] or [search.nearest().settings]
        given = [{}, *(one for one in chosen if one)]
        found = self.measured("whole", given, self.offer)
        usual = found[0]
        if isinstance(usual, str):
            raise IrqlabError(f"the defaults cannot be measured: {usual}")
        known = [(one, figures) for one, figures in zip(given, found, strict=True) if not isinstance(figures, str)]
        kept = [pair for pair in known if self.wanted.kept(pair[1], usual)]

        def rank(pair: tuple[Settings, Figures]) -> tuple[float, float]:
            missed = sum(max(0.0, one) for one in self.wanted.violations(pair[1], usual))
            return (0.0 if kept else missed), self.wanted.cost(pair[1], usual)

        best, figures = min(kept or known, key=rank)
        return dict(best), figures, usual

    def _pruned(self, search: Search, found: tuple[dict[str, str], Figures, Figures]) -> _Best:
        """Puts back what gains nothing; of the rest, what is lost without each."""
        settings, figures, usual = found
        if len(settings) > 1:
            self.runner.progress(f"putting {len(settings)} settings back, one at a time")
            answers = self._each_without(search, settings)
            idle = [name for name in settings if self._as_good(answers[name], figures, usual)]
            settings, figures = self._without(search, settings, figures, usual, idle)
            if idle and len(settings) > 1:
                answers = self._each_without(search, settings)
            shares = [Decides(name, self._share(answers[name], figures, usual)) for name in settings]
            return _Best(settings, figures, usual, sorted(shares, key=lambda one: -one.share))
        return _Best(settings, figures, usual, [Decides(name, 1.0) for name in settings])

    def _each_without(self, search: Search, settings: dict[str, str]) -> dict[str, Answer]:
        """What is left without each of the settings, by its name."""
        less = [search.space.canonical({n: v for n, v in settings.items() if n != name}) for name in settings]
        return dict(zip(settings, self.measured("put back", less, self.offer), strict=True))

    def _without(
        self, search: Search, settings: dict[str, str], figures: Figures, usual: Figures, idle: Sequence[str]
    ) -> tuple[dict[str, str], Figures]:
        """The settings without those that gain nothing: all at once, or as many one by one as are as good."""
        kept, of_kept = settings, figures
        groups = [list(idle)] if len(idle) < 2 else [list(idle), *([name] for name in idle)]
        for group in groups:
            if not group or not set(group) <= set(kept):
                continue
            less = search.space.canonical({n: v for n, v in kept.items() if n not in group})
            (answer,) = self.measured("put back", [less], self.offer)
            if not isinstance(answer, str) and self._as_good(answer, figures, usual):
                kept, of_kept = less, answer
        return kept, of_kept

    def _as_good(self, answer: Answer, figures: Figures, usual: Figures) -> bool:
        if isinstance(answer, str) or (self.wanted.kept(figures, usual) and not self.wanted.kept(answer, usual)):
            return False
        now, other, before = (self.wanted.cost(one, usual) for one in (figures, answer, usual))
        return other <= now + max(AS_GOOD * abs(now), OF_GAIN * (before - now))

    def _share(self, answer: Answer, figures: Figures, usual: Figures) -> float:
        """Which share of the gain is lost without a setting."""
        if isinstance(answer, str):
            return 1.0
        gain = self.wanted.cost(usual, usual) - self.wanted.cost(figures, usual)
        lost = self.wanted.cost(answer, usual) - self.wanted.cost(figures, usual)
        return min(1.0, max(0.0, lost / gain)) if gain > 0 else 0.0

    def _summary(self, search: Search, best: _Best) -> Summary:
        members = self._members(best) if best.settings else [Member(0, best.usual, best.usual)]
        held = self._beside("held back", self.load.held_back(self.base_pps, self.workload.duration_ns).each, best)
        most = Offer((best.usual.passed,)) if self.load.kind == "max" else self.offer
        elsewhere = self._beside("elsewhere", [most.highest(times) for times in ELSEWHERE] if most.rates_pps else [], best)
        changes = self.space.changes(best.settings)
        varied = [one.name for one in self.space.parameters]
        return Summary(
            goals=[one.name for one in self.wanted.goals],
            bits=self.load.kind == "iperf",
            keep=[one.text for one in self.wanted.limits],
            load=self.load.words(self.base_pps),
            application=self.waits[0] if self.waits else None,
            interfaces=list(self.interfaces),
            varied=varied,
            tried=len(search.tried),
            refused=sum(one.figures is None for one in search.tried),
            settings=best.settings,
            changes=[Made(one.kind, one.name, one.value) for one in changes],
            defaults={one.name: one.default for one in self.space.parameters if one.name in best.settings},
            keeps=self.wanted.kept(best.figures, best.usual),
            defaults_keep=self.wanted.kept(best.usual, best.usual),
            gains=[self.wanted.gain(one.best, one.defaults) for one in members],
            members=members,
            decides=best.decides,
            idle=[name for name in varied if name not in best.settings],
            held_back=held,
            elsewhere=elsewhere,
            commands=commands.script(changes, self.interfaces),
            in_application=tune_views.in_application({**self.space.fixed, **best.settings}),
        )

    def _members(self, best: _Best) -> list[Member]:
        """The defaults and the best in every member of an ensemble."""
        cast = Ensemble(self.options.ensemble, perturbations.parse(None), self.workload.seed).cast()
        found = [Member(0, best.usual, best.figures)]
        for number, member in enumerate(cast):
            if member is None or not number:
                continue
            self.runner.progress(f"member {number + 1} of {len(cast)}")
            runner = TrialRunner(self.runner.bench.with_member(member), self.runner.slots)
            usual, now = self.measured("member", [{}, best.settings], self.offer, runner)
            if isinstance(usual, str) or isinstance(now, str):
                raise IrqlabError(f"member {number}: {usual if isinstance(usual, str) else now}")
            found.append(Member(number, usual, now))
        return found

    def _beside(self, place: Place, offers: Sequence[Offer], best: _Best) -> list[tuple[Rate, Figures, Figures]]:
        """The defaults and the best at other loads."""
        found = []
        for offer in offers:
            usual, *others = self.measured(place, [{}, best.settings] if best.settings else [{}], offer)
            now = others[0] if others else usual
            if not isinstance(usual, str) and not isinstance(now, str):
                found.append((offer.rates_pps[0], usual, now))
        return found


@dataclass(frozen=True)
class _Best:
    """What is recommended."""

    settings: dict[str, str]
    figures: Figures
    usual: Figures
    decides: list[Decides]


def run(runner: TrialRunner, workload: Workload, options: Options) -> MethodResult:
    """Searches the best settings. Raises IrqlabError if the defaults cannot be measured, or nothing can be varied."""
    return _Tuning(runner, workload, options).run()


METHOD = Method(
    name="tune",
    place=5,
    title="Settings",
    help="Which settings are best for my load? Searches what the driver and the kernel take; prints the commands.",
    intro="Each point is a setting that was tried, in short windows; the front is what no other one beats in both figures.",
    sample=Sample,
    summary=Summary,
    lines=Lines(
        "Settings", Line, Line.of, note="The defaults, the recommendation, and what is left without each part of it", sized=False
    ),
    run=lambda runner, workload, options: [run(runner, workload, options)],
    panel="To begin with",
    options=Options,
    shared=(
        *(name for name in DUT if name != "ring"),
        *("size", "bidirectional", "duration", "warmup", "arrivals", "seed", "loss_tolerance"),
        *COSTS,
        *RUN,
    ),
    outputs=lambda options: [options.write / commands.SCRIPT_FILE] if options.write else [],
    write=lambda rows, options: tune_views.write(rows, options.write),
    tables=tune_views.printed,
    plots=tune_views.plots_of,
    lead="Which settings are best for a load",
    verdicts=tune_views.verdicts,
    sure=tune_views.sure,
    repeats=False,
)
