# SPDX-License-Identifier: GPL-2.0-or-later
"""A race hunt: something wakes the DUT, and something else happens after every instruction that it executes then.

A lost wake-up is a window of a few instructions, for example between the last look at the ring and the unmasking of the
interrupt. Random traffic rarely hits it. Here time is made of instructions, so each instant is tried once, and a finding can be
repeated. `irqlab.hunting` has the search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from irqlab import units
from irqlab.config.values import Count
from irqlab.config.workload import Workload
from irqlab.debug.evidence import config_of, coverage_of, places_of, replay_of, trace_of, traceable
from irqlab.debug.trace import Step, held_by, shown
from irqlab.dut.agent import NotSupportedError
from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case, cases
from irqlab.hunting.findings import Finding, Place, group, numbered
from irqlab.hunting.options import ARRIVALS, FAILURES, FAILURES_UP, INTERRUPTS, KINDS, PROCESSORS, TRANSMIT, Options
from irqlab.hunting.pairs import Limits, Pair
from irqlab.hunting.search import Hunted, NotAloneError, hunt, led, replay, step_of
from irqlab.hunting.weighing import HELD, parted, weighed
from irqlab.methods.method import DUT, RUN, SCHEMES, Lines, Method
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers, Plot
from irqlab.present.rows import legend_of, line_of
from irqlab.present.tables import Table
from irqlab.present.variants import Row
from irqlab.profile import coverage
from irqlab.profile.coverage import Function
from irqlab.qemu.cancellation import CancelledError
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import WARMUP_PAIRS, HuntTrial
from irqlab.trials.testbed import Testbed

STEPS_BEFORE, STEPS_AFTER = 3, 18
"""Of a trace, printed around the second event."""
BADNESS = ("message", "lost", "left", "stuck", "duplicated", "old", "kept", "reordered", "overtaken", "late")
"""What can be found, the worst first."""
QEMU = 7
"""The major version in which the tester can end a processor's turn. QEMU 10 aborts (docs/use/hunting.md)."""
CPUS = 2
"""Processors of a hunt for races between processors."""
ROWS, MARKS, PAUSE_NS = 7, 9, 30_000
"""Of a picture: functions, instants that are named, and when it ends: the driver does nothing for so long."""
MASK = re.compile(r"enabled 0x[0-9a-f]+")
"""In what a trace says of a NIC's registers (irqlab.debug.state)."""
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
        runner = _in_turn(runner, options)
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


def _in_turn(runner: TrialRunner, options: Options) -> TrialRunner:
    """The same with two processors. Raises IrqlabError."""
    if options.kinds != (PROCESSORS,):
        raise IrqlabError(f"--what {PROCESSORS}: it needs a DUT of its own, so nothing else can be hunted with it")
    config = runner.bench.config
    if config.functional or config.cpus > 1 or config.memory:
        raise IrqlabError(f"--what {PROCESSORS}: it chooses the processors itself: not with --functional, --cpus, --hardware")
    if (qemu := runner.bench.lab().machine.qemu).version[0] != QEMU:
        raise IrqlabError(f"--what {PROCESSORS}: only with QEMU {QEMU}, and this is {qemu.version_text}")
    return replace(runner, bench=Testbed.resolve(replace(config, cpus=CPUS, in_turn=True)))


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


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """What happened around the findings; without one, the longest latency by instant, for each kind of event and port."""
    drawn = [_span(one, number) for row in rows for one in _traces_of(row)]
    for kind, port in dict.fromkeys((sample.kind, sample.port) for row in rows for sample in row.samples):
        curves = [
            line_of(row, [(at / 1e3, worst / 1e3) for at, worst in sample.worst_over_time])
            for row in rows
            for sample in row.samples
            if (sample.kind, sample.port) == (kind, port) and not kind.startswith("failures")
        ]
        if curves and not drawn:
            title = f"{kind.capitalize()}, {port} port"
            drawn.append(number.plot(title, plots.over_time(curves, "µs after the first event", "longest latency, µs", title)))
    tables = [_FINDINGS.table(rows), *(table for row in rows for table in (*_traces(row), *_coverage(row)))]
    if any(_observations(row) for row in rows):
        tables.insert(1, _OBSERVATIONS.table(rows))
    return Group(legend=legend_of(rows), plots=drawn, tables=tables)


def _span(finding: Finding, number: Numbers) -> Plot:
    """The driver's functions while the frame came, until the processor idles, and what happened then."""
    steps = _around(finding)
    marks = [step for step in steps if step.what == "event" or (step.what == "write" and _masks(step, steps))][:MARKS]
    spans: dict[str, list[tuple[float, float]]] = {}
    running: list[tuple[str, int]] = []
    for step in steps:
        if step.what == "enter":
            running.append((step.text.split(",")[0], step.at_ns))
        elif step.what == "leave":
            name = step.text.split("+")[0]
            began_ns = running.pop()[1] if running else steps[0].at_ns
            spans.setdefault(name, []).append((began_ns / 1e3, step.at_ns / 1e3))
    rows = sorted(spans.items(), key=lambda row: row[1][0][0])[:ROWS]
    told = [f"{n}: {step.what + ' ' if step.what != 'event' else ''}{step.text}" for n, step in enumerate(marks, 1)]
    later = next((step for step in finding.trace if step.what == "event" and step.at_ns > steps[-1].at_ns), None)
    if later is not None:
        told.append(f"{units.duration(later.at_ns - (finding.arrival_ns or 0))} after the frame came: {later.text}")
    if finding.worst_ns is not None:
        told.append(f"the frame came out after {units.duration(finding.worst_ns)}")
    title = f"{finding.what.capitalize()} {finding.where}, {finding.kind}, {finding.port} port"
    picture = plots.timeline(rows, [(step.at_ns / 1e3, str(n)) for n, step in enumerate(marks, 1)], title)
    return number.plot(title, picture, "; ".join(told) + ".", wide=True)


def _around(finding: Finding) -> Sequence[Step]:
    """The steps of a trace around the frame's arrival, until the driver pauses; of an observation until the frame came out."""
    trace = finding.trace
    middle = next((n for n, step in enumerate(trace) if step.what == "event" and step.at_ns == finding.arrival_ns), 0)
    first, last = middle, middle
    while first and trace[first].at_ns - trace[first - 1].at_ns < PAUSE_NS:
        first -= 1
    until_ns = trace[middle].at_ns + ((finding.by_itself_ns or 0) if finding.what == HELD else 0)
    while last + 1 < len(trace) and (
        last == middle or trace[last + 1].at_ns <= until_ns or trace[last + 1].at_ns - trace[last].at_ns < PAUSE_NS
    ):
        last += 1
    return trace[first : last + 1]


def _masks(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a write changes which causes interrupt, if the NIC's registers are known."""
    before = next((one for one in reversed(steps[: steps.index(step)]) if one.registers), step)
    return MASK.findall(before.registers) != MASK.findall(step.registers)


def _traces(row: Row) -> Iterator[Table]:
    """What the driver executed, whole."""
    for finding in _traces_of(row):
        caption = f"Trace: {finding.what} {finding.where}, {finding.kind}, {finding.port} port"
        yield _folded(caption, Step, finding.trace, row)


def _traces_of(row: Row) -> list[Finding]:
    """Findings with a trace, then observations with one."""
    return [one for one in (*_findings(row), *_observations(row)) if one.trace]


def _folded(caption: str, kind: type, lines: Sequence[Any], row: Row, note: str = "") -> Table:
    return Lines(caption, kind, lambda _: lines, note, folded=True, sized=False).table([row])


def _coverage(row: Row) -> Iterator[Table]:
    """The share of each function, and the listing of those with an instruction that was tried."""
    hit = [one for one in row.summary.coverage if one.tried]
    if not hit:
        return
    note = "Tried: the instructions that were the next ones when a second frame arrived. Functions without any are not listed"
    yield _folded("Coverage", Function, hit, row, note)
    for one in hit:
        caption = f"{one.function}: {one.tried} of {one.instructions} instructions tried"
        yield _folded(caption, coverage.Line, one.listing, row)


def _findings(row: Row) -> list[Finding]:
    return [finding for sample in row.samples for finding in sample.findings]


def _observations(row: Row) -> list[Finding]:
    return [one for sample in row.samples for one in sample.observations]


_FINDINGS = Lines("Findings", Finding, _findings)
_OBSERVATIONS = Lines(
    "Observations",
    Finding,
    _observations,
    "No findings: a frame was later than the bound, but it came out without a further one, and the processor worked meanwhile",
)


def _printed(row: Row, _: Options) -> Iterator[Table | str]:
    for lines in (_FINDINGS, _OBSERVATIONS):
        if lines.of(row):
            yield lines.table([row])
    yield from (f"{one.kind}, {one.port} port:\n{one.said}" for one in _findings(row) if one.said)
    for finding in _traces_of(row):
        if finding.what != HELD:
            yield f"\n{finding.what.capitalize()} {finding.where}: what the driver executed, in ns after the first event:"
            yield from shown(finding.trace, STEPS_BEFORE, STEPS_AFTER, finding.arrival_ns)
    for number, finding in enumerate(_findings(row), 1):
        if finding.places:
            yield f"\nWhere processors gave way in finding {number}:"
            yield from (_where(place) for place in finding.places)
    if row.summary.tried_instructions:
        tried, whole = row.summary.tried_instructions, row.summary.driver_instructions
        yield (
            f"A frame came before {units.whole(tried)} of the driver's {units.whole(whole)} instructions. Most of the others do "
            "not run here: set-up, errors, other schemes, code for load (--report lists them)."
        )


def _where(place: Place) -> str:
    where = f" [{place.line}]" if place.line else ""
    return f"  processor {place.processor}, in {place.function}, before {place.instruction or hex(place.address)}{where}"


def _how(row: Row, finding: Finding) -> str:
    """The options that replay a finding."""
    kind = finding.kind.split()[0]
    sample = next(sample for sample in row.samples if finding in sample.findings)
    # By paths the step is the one that was asked for, whatever --instants made of it.
    step_ns = finding.replay.trial["step_ns"] if finding.replay else sample.step_ns or 0
    step = step_ns // (1000 // row.data["mips"])
    options = ["--what", kind] if kind != KINDS[0] else []
    options += ["--ports", finding.port, "--at", str(finding.place), "--lead", str(finding.lead)]
    return " ".join([*options, *(["--step", str(step)] if step > 1 and finding.lead else [])])


def _verdicts(rows: Sequence[Row]) -> list[str]:
    return [f"{row.variant.label}: {_answer(row)}." for row in rows]


def _answer(row: Row) -> str:
    """The worst finding, or that there is none; and what was observed."""
    if row.summary.replayed is not None:
        known = {one.what: _happened(one) for one in (*_findings(row), *_observations(row))}
        what = f" ({'; '.join(known.values())})" if known else ""
        return f"It went wrong in {row.summary.replayed} of {row.summary.instants} repetitions{what}"
    parts = []
    # A frame that was left in a trial's last pair is lost: the same. What can be replayed is worth more.
    badness = {what: BADNESS.index("left" if what == "lost" else what) for what in BADNESS}
    findings = sorted(_findings(row), key=lambda one: (badness[one.what], one.lead is None, one.lead))
    if findings:
        worst = findings[0]
        sample = next(sample for sample in row.samples if worst in sample.findings)
        parts.append(
            f"{_happened(worst)}{_before(worst)}, at {units.whole(worst.instants)} of "
            f"{_tried([sample])}{f' ({len(findings)} findings in all)' if len(findings) > 1 else ''}"
        )
        if worst.lead is not None:
            parts.append(f"replay: {_how(row, worst)}")
    else:
        frames = all(sample.kind in (ARRIVALS, TRANSMIT, INTERRUPTS) for sample in row.samples)
        parts.append(f"{'No frame was lost or left' if frames else 'Nothing went wrong'} at {_tried(row.samples)}")
        steps = [sample.step_ns * row.data["mips"] / 1e3 for sample in row.samples if sample.step_ns is not None]
        if (step := round(max(steps, default=1))) > 1:
            parts.append(f"they are {units.whole(step)} instructions apart, what lies between was not tried (--instants)")
    for one in sorted(_observations(row), key=lambda one: one.worst_ns or 0, reverse=True)[:1]:
        parts.append(
            f"at {units.whole(row.summary.held)} a frame waited for up to {units.duration(one.worst_ns)} behind work that ends "
            f"by itself{f' ({one.held_by})' if one.held_by else ''}, which is no finding"
        )
    if row.summary.interrupted:
        parts.append("this was interrupted, not everything was tried")
    return "; ".join(parts)


def _before(one: Finding) -> str:
    """Where the processor was when the frame came, and if that is in the kernel, where the driver went on."""
    if not one.before or one.before.endswith(")"):
        return f", before {one.before}" if one.before else ""
    after = [step for step in one.trace if step.what != "event" and step.line and step.at_ns >= (one.arrival_ns or 0)]
    return f", before {one.before}{f' and {after[0].text} ({Path(after[0].line).name})' if after else ''}"


def _tried(samples: Sequence[Sample]) -> str:
    """How many instants, calls and schedules: 57,685 instants."""
    counts: dict[str, int] = {}
    planned: dict[str, int] = {}
    for sample in samples:
        kind = sample.kind.split()[0]
        name = {FAILURES: "calls", FAILURES_UP: "calls", PROCESSORS: "schedules"}.get(kind, "instants")
        counts[name] = counts.get(name, 0) + sample.instants
        planned[name] = planned.get(name, 0) + (sample.planned or sample.instants)
    return " and ".join(
        f"{units.whole(count)}{f' of {units.whole(planned[name])}' if planned[name] > count else ''} {name}"
        for name, count in counts.items()
    )


def _happened(one: Finding) -> str:
    """A finding or an observation as a sentence."""
    time = "" if one.worst_ns is None else units.duration(one.worst_ns)
    during = f"that comes during {one.kind}"
    later = ", with the next one" if one.by_itself_ns is None else ", by itself"
    known = {
        "message": f"The kernel logs a problem, or dies: {(one.said or '').splitlines()[0] if one.said else one.kind}",
        "lost": "A frame can be lost",
        "left": "A frame can be left until the next one comes (lost wake-up)",
        "stuck": f"After {one.kind} a frame can be stuck",
        "duplicated": "A frame can come out twice",
        "old": f"A frame {during} can come out {time} later{later}",
        "kept": f"A sent packet can be kept for {time}" if time else "A sent packet can be kept for ever",
        "reordered": "A frame can come out behind a later one",
        "overtaken": "A frame can overtake the one before it",
        "late": f"A frame can take {time} while the processor idles" if one.by_itself_ns else f"A frame can take {time}",
        HELD: f"A frame can wait for {time} behind work that ends by itself",
    }
    return known[one.what]


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
    plots=_plots,
    tables=_printed,
    lead="Race hunt: what goes wrong if something happens at each instant at which the device executes",
    verdicts=_verdicts,
    sure=lambda _: "",
    failed=lambda rows: any(_findings(row) for row in rows if row.data["complete"]),
    details="The line rate does not limit arrivals: the second one may come right after the first.",
)
