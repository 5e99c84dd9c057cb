# SPDX-License-Identifier: GPL-2.0-or-later
"""A race hunt: something wakes the DUT, and something else happens after every instruction that it executes then.

A lost wake-up is a window of a few instructions, for example between the last look at the ring and the unmasking of the
interrupt. Random traffic rarely hits it. Here time is made of instructions, so each instant is tried once, and a finding can be
repeated. `irqlab.hunting` has the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any

from irqlab import units
from irqlab.config.values import Count
from irqlab.config.workload import Workload
from irqlab.debug.evidence import config_of, coverage_of, places_of, replay_of, trace_of, traceable
from irqlab.debug.trace import held_by
from irqlab.dut.agent import NotSupportedError
from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case, cases
from irqlab.hunting.findings import Finding, group, numbered
from irqlab.hunting.options import PROCESSORS, Options
from irqlab.hunting.pairs import Limits, Pair
from irqlab.hunting.search import Hunted, NotAloneError, hunt, led, replay, step_of
from irqlab.hunting.weighing import parted, weighed
from irqlab.methods import hunt_views
from irqlab.methods.method import DUT, RUN, SCHEMES, Lines, Method
from irqlab.present.columns import Col
from irqlab.profile import coverage
from irqlab.profile.coverage import Function
from irqlab.qemu.cancellation import CancelledError
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import WARMUP_PAIRS, HuntTrial
from irqlab.trials.testbed import Testbed

CPUS = 2
"""Processors of a hunt for races between processors."""
POINTS = 300
"""Of the plot: each is the worst of its instants."""


@dataclass(frozen=True)
class Sample:
    """All instants of one kind of event at one port."""

    kind: Annotated[str, Col("Kind", title="what happens at each instant")]
    port: Annotated[str, Col("Port", title="same: the first frame's port; other: the one it leaves from")]
    instants: Annotated[Count, Col("Instants", format=units.whole, title="how many were tried; of failures: calls")]
    step_ns: Annotated[
        Count | None, Col("Step", format=lambda ns: f"{ns} ns", title="from one instant to the next", optional=True)
    ]
    """From one instant to the next; null: calls or schedules were tried, which have numbers."""
    spans_ns: tuple[tuple[Count, Count], ...]
    """The instants tried, in ns after the first event, both ends included. Of failures: numbers of calls."""
    alone_ns: Annotated[Count, Col("Alone", format=units.duration, title="the longest latency without a second event")]
    bound_ns: Annotated[Count, Col("Bound", format=units.duration, title="a frame that takes longer is late")]
    worst_ns: Annotated[Count | None, Col("Worst", format=units.duration, title="the longest latency of any frame")]
    worst_at_ns: Annotated[Count | None, Col("at", format=lambda ns: f"{ns} ns", title="after the first event", optional=True)]
    freed_ns: Annotated[Count | None, Col("Freed", format=units.duration, title="the longest time until a packet was freed")]
    """The longest time until a packet was freed; null: not measured."""
    missed: Annotated[Count, Col("Missed", "instants", units.whole, mark=lambda n: "bad" if n else "good")]
    """Instants of the findings."""
    held: Annotated[
        Count | None,
        Col("Held", "instants", units.whole, title="a frame was late, since the processor worked; no miss", optional=True),
    ]
    """Instants of the observations; null: none."""
    planned: Annotated[
        Count | None, Col("of", "instants", units.whole, title="interrupted: how many were to be tried", optional=True)
    ]
    """How many were to be tried; null: all were."""
    findings: tuple[Finding, ...]
    observations: tuple[Finding, ...]
    """What is no finding: the frame was late, but came out by itself, and the processor did not idle meanwhile. At most one, the
    worst of all."""
    worst_over_time: tuple[tuple[Count, Count], ...]
    """(instant, longest latency) in ns, for the plot; each is the worst of its neighbours."""
    places: Annotated[
        Count | None, Col("Places", format=units.whole, title="instructions, with the way there, of the driver", optional=True)
    ] = None
    """Instructions of the driver, and of the kernel where it hands it the NIC's work, each with the 64 executed up to it, as seen
    without a second event; null: it came at instants only."""
    tried_places: Annotated[Count | None, Col("tried", format=units.whole, title="the event came before them", optional=True)] = (
        None
    )
    """Before so many of these places the second event came."""


@dataclass(frozen=True)
class Summary:
    """The whole hunt."""

    instants: Count
    missed: Count
    """Instants of the findings."""
    held: Count = 0
    """Instants of the observations."""
    interrupted: bool = False
    """Not everything was tried."""
    replayed: Count | None = None
    """With --at and --repeat: the number of repetitions in which it happened; null: not repeated."""
    testbed: dict[str, Any] | None = None
    """How the DUT was set up, for `irqlab debug`; null: no finding can be replayed."""
    driver_instructions: Count | None = None
    """Number of instructions of the driver's code; null: not counted."""
    tried_instructions: Count | None = None
    """Those of them before which a second frame arrived."""
    coverage: tuple[Function, ...] = ()
    """The same by function."""


def run(runner: TrialRunner, workload: Workload, options: Options) -> MethodResult:
    """Tries the instants. Raises IrqlabError if frames that come alone are lost."""
    if PROCESSORS in options.kinds:
        runner = _with_two(runner, options)
    elif runner.bench.config.cpus > 1:
        raise IrqlabError(f"--cpus: only --what {PROCESSORS} is a hunt with several processors, and it chooses them itself")
    result = runner.result("hunt", workload)
    assert isinstance(workload.size, int)
    one = HuntTrial(
        pairs=1,
        first_gap_ns=0,
        step_ns=0,
        frames=options.burst,
        frame_bytes=workload.size,
        first_frames=options.first,
        first_every_ns=round(options.first_gap * 1e3),
        interrupt_delay_ns=options.irq_delay,
        write_delay_ns=options.write_delay,
        warmup_pairs=WARMUP_PAIRS + options.state if options.state else None,
    )
    seen = 0
    pcs: set[int] = set()
    interrupted = False
    for case in cases(runner.bench.lab(), one, options):
        if options.at is None:
            try:
                hunted = hunt(runner, case, options)
            except (NotSupportedError, NotAloneError) as error:
                if len(options.kinds) == 1:
                    raise
                runner.progress(f"{case.kind} is left out: {error}")
                continue
            except CancelledError:
                if not result.samples:
                    raise
                interrupted = True
                break
            pcs |= hunted.pcs
            if hunted.paths:
                pcs.update(address for address, _ in hunted.paths.tried)
            traced = sum(1 for sample in result.samples for finding in sample.findings if finding.trace)
            if hunted.pairs or hunted.findings or hunted.planned is not None:
                result.samples.append(_sample(case, _explained(runner, hunted, options.traces - traced)))
            if hunted.planned is not None:
                interrupted = True
                break
            continue
        limits, pairs = replay(runner, case, options)
        if not pairs:
            continue
        seen += sum(1 for pair in pairs if pair.what)
        result.samples.append(_replayed(runner, case, limits, pairs, options))
    covered = _covered(runner, pcs) if pcs and not interrupted else ()
    instructions, tried = coverage.totals(covered)
    result.summary = Summary(
        instants=sum(sample.instants for sample in result.samples),
        missed=sum(sample.missed for sample in result.samples),
        held=sum(sample.held or 0 for sample in result.samples),
        interrupted=interrupted,
        replayed=None if options.at is None else seen,
        testbed=config_of(runner.bench.config)
        if any(one.replay for sample in result.samples for one in _shown(sample))
        else None,
        driver_instructions=instructions if covered else None,
        tried_instructions=tried if covered else None,
        coverage=covered,
    )
    return result


def _shown(sample: Sample) -> tuple[Finding, ...]:
    """Findings, then observations."""
    return (*sample.findings, *sample.observations)


def _with_two(runner: TrialRunner, options: Options) -> TrialRunner:
    """The same with two processors. Raises IrqlabError."""
    if options.kinds != (PROCESSORS,):
        raise IrqlabError(f"--what {PROCESSORS}: it needs a DUT of its own, so nothing else can be hunted with it")
    config = runner.bench.config
    if config.functional or config.cpus > 1 or config.memory:
        raise IrqlabError(f"--what {PROCESSORS}: it chooses the processors itself: not with --functional, --cpus, --hardware")
    found = copy(runner)  # which may be one of the checklist's
    found.bench = Testbed.resolve(replace(config, cpus=CPUS))
    return found


def _covered(runner: TrialRunner, pcs: set[int]) -> tuple[Function, ...]:
    try:
        return coverage_of(runner.bench.lab(), pcs)
    except IrqlabError as error:
        runner.progress(f"no coverage: {error}")
        return ()


def _explained(runner: TrialRunner, hunted: Hunted, traces: int) -> Hunted:
    """With what the processor was about to execute when frames came, and traces of the first findings, and of observations."""
    if hunted.planned is not None:
        return hunted
    findings = _traced(runner, _placed(runner, hunted.findings), hunted.limits, traces)
    observations = _traced(runner, _placed(runner, hunted.observations), hunted.limits, traces)
    return replace(hunted, findings=findings, observations=[_held(one) for one in observations])


def _placed(runner: TrialRunner, findings: Sequence[Finding]) -> list[Finding]:
    """With the places where the processor was."""
    try:
        found = places_of(runner.bench.lab(), {one.pc for one in findings if one.pc}) if any(one.pc for one in findings) else {}
    except IrqlabError as error:
        runner.progress(f"where the processor was is not known: {error}")
        found = {}
    return [replace(one, before=found.get(one.pc, "")) for one in findings]


def _traced(runner: TrialRunner, findings: Sequence[Finding], limits: Limits, most: int) -> list[Finding]:
    """With traces of the first ones."""
    found = list(findings)
    for number, finding in enumerate(found):
        if most > 0 and finding.replay is not None and traceable(finding.replay):
            runner.progress(f"tracing what the driver executes at {finding.at_ns} ns")
            most -= 1
            try:
                trace = trace_of(runner.bench.lab(), finding.replay, limits.alone_ns, finding.worst_ns)
            except IrqlabError as error:
                runner.progress(f"no trace: {error}")
            else:
                found[number] = replace(finding, trace=trace)
    return found


def _held(one: Finding) -> Finding:
    """An observation, with the functions of its trace that held the processor."""
    if not one.trace or one.arrival_ns is None or one.by_itself_ns is None:
        return one
    return replace(one, held_by=held_by(one.trace, one.arrival_ns, one.arrival_ns + one.by_itself_ns))


def _replayed(runner: TrialRunner, case: Case, limits: Limits, pairs: Sequence[Pair], options: Options) -> Sample:
    at_ns, step_ns = options.at or 0, step_of(runner, options)
    found = group(case.kind, case.port, pairs, 0)
    if _timeless(case):
        found = [numbered(one, at_ns, None) for one in found]
    else:
        again = led(replace(case.trial, step_ns=step_ns), at_ns, options.lead)
        known = [replace(one, lead=options.lead, replay=replay_of(again)) for one in found]
        found = _traced(runner, _placed(runner, [weighed(runner, one, again, limits) for one in known]), limits, options.traces)
    findings, observations = parted(found)
    return _sample(case, Hunted(limits, [(at_ns, at_ns)], step_ns, pairs, findings, observations=observations))


def _timeless(case: Case) -> bool:
    """Whether calls or schedules are tried, which have numbers, and no instants."""
    return case.trial.switches is not None or case.trial.failing is not None


def _sample(case: Case, hunted: Hunted) -> Sample:
    timeless = _timeless(case)
    pairs = [*hunted.pairs, *(hunted.paths.pairs if hunted.paths else ())]
    timed = [pair for pair in pairs if pair.latency_ns is not None]
    worst = max(timed, key=lambda pair: pair.latency_ns or 0, default=None)
    broken = sum(one.instants for one in hunted.findings if one.what == "message" and one.said is not None)
    return Sample(
        kind=case.kind,
        port=case.port,
        instants=len(pairs) + broken,
        places=len(hunted.paths.known) if hunted.paths else None,
        tried_places=hunted.paths.covered if hunted.paths else None,
        step_ns=None if timeless else hunted.step_ns,
        spans_ns=tuple(hunted.spans),
        alone_ns=hunted.limits.alone_ns,
        bound_ns=hunted.limits.bound_ns,
        worst_ns=worst.latency_ns if worst else None,
        worst_at_ns=worst.gap_ns if worst and not timeless else None,
        freed_ns=max((pair.freed_ns for pair in pairs if pair.freed_ns is not None), default=None),
        missed=sum(one.instants for one in hunted.findings),
        held=sum(one.instants for one in hunted.observations) or None,
        planned=hunted.planned,
        findings=tuple(hunted.findings),
        observations=tuple(hunted.observations),
        worst_over_time=tuple(_thinned([pair for pair in hunted.pairs if pair.latency_ns is not None])),
    )


def _thinned(pairs: Sequence[Pair]) -> Iterator[tuple[int, int]]:
    """The worst of each group of neighbours, so that at most POINTS are left."""
    size = -(-len(pairs) // POINTS)
    for first in range(0, len(pairs), size or 1):
        worst = max(pairs[first : first + size], key=lambda pair: pair.latency_ns or 0)
        yield worst.gap_ns, worst.latency_ns or 0


METHOD = Method(
    name="hunt",
    place=57,
    title="Race hunt",
    help="Is the driver racy? Another event comes before each instruction that a frame causes. Exit code 1: it is.",
    intro="A frame finds the device under test idle; an event happens a little later, at another instant each time. All instants "
    "at which the device executes are tried. Each frame has to come out once, in order, and within the bound of the latency "
    "of a frame that comes alone; packets have to be freed, and after a change frames have to pass.",
    sample=Sample,
    summary=Summary,
    lines=Lines(
        "Race hunt", Sample, note="Missed: instants at which something went wrong. Held: late behind work, which is no miss"
    ),
    run=lambda runner, workload, options: [run(runner, workload, options)],
    panel="To begin with",
    options=Options,
    shared=(*DUT, *SCHEMES, "size", *RUN),
    on_card=True,
    plots=hunt_views.plots_of,
    tables=hunt_views.printed,
    lead="Race hunt: what goes wrong if something happens at each instant at which the device executes",
    verdicts=hunt_views.verdicts,
    sure=lambda _: "",
    failed=lambda rows: any(hunt_views.findings_of(row) for row in rows if row.data["complete"]),
    details="The line rate does not limit arrivals: the second one may come right after the first.",
)
