# SPDX-License-Identifier: GPL-2.0-or-later
"""A race hunt: a frame wakes the DUT, and a second one arrives after every instruction that the first one causes.

A lost wake-up is a window of a few instructions, for example between the last look at the ring and the unmasking of the
interrupt. Random traffic rarely hits it. Here time is made of instructions, so each instant is tried once, and a finding can be
repeated. While the processor halts, all instants are alike; only those at which it executes are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any

import typer

from irqlab import units
from irqlab.config.testbed import SHIFT_OF_MIPS
from irqlab.config.workload import Workload
from irqlab.debug.evidence import SECOND, Replay, config_of, coverage_of, replay_of, trace_of
from irqlab.debug.trace import Step, shown
from irqlab.errors import IrqlabError
from irqlab.methods.method import DUT, RUN, SCHEMES, Lines, Method
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import legend_of, line_of
from irqlab.present.tables import Table
from irqlab.present.variants import Row
from irqlab.profile import coverage
from irqlab.profile.coverage import Function
from irqlab.results.document import MethodResult
from irqlab.results.records import Count
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial

SAME, OTHER = "same", "other"
PORTS = (SAME, OTHER)
ALONE_PAIRS = 16
"""First frames that come alone, to learn how long they take and when the DUT executes."""
MARGIN_NS = 400
"""Instants before and after the DUT executes, so that its waking and its halting are among them."""
NEAR_STEPS = 64
"""Misses that are no further apart are one finding: what precedes an instant varies by some instructions from pair to pair."""
CHUNK_PAIRS = 1_000
"""Pairs in a trial."""
MAX_BURST = 4_096
MAX_STEP = 1_000_000
MAX_TRACES = 100
STEPS_BEFORE, STEPS_AFTER = 6, 16
"""Of a trace, printed around the second arrival."""
POINTS = 300
"""Of the plot: each is the worst of its instants."""


@dataclass(frozen=True)
class Options:
    """Which instants are tried, and what counts as a miss."""

    ports: Annotated[
        str,
        typer.Option(
            "--ports", help="Where the second arrival comes in: same (as the first frame), other, or both separated by a comma."
        ),
    ] = ",".join(PORTS)
    burst: Annotated[int, typer.Option("--burst", help="Frames of the second arrival.")] = 1
    bound: Annotated[
        float,
        typer.Option("--bound", help="A frame is late if it takes so many µs longer than one that comes alone."),
    ] = 100.0
    step: Annotated[int, typer.Option("--step", help="Instructions from one instant to the next.")] = 1
    begin: Annotated[float | None, typer.Option("--from", help="First instant, in µs after the first frame.")] = None
    end: Annotated[float | None, typer.Option("--until", help="Last instant, in µs after the first frame.")] = None
    at: Annotated[int | None, typer.Option("--at", help="Replay one instant, in ns after the first frame.")] = None
    lead: Annotated[
        int, typer.Option("--lead", help="With --at: so many pairs before it, with shorter and shorter distances to it.")
    ] = 0
    repeat: Annotated[int, typer.Option("--repeat", help="With --at: repetitions, none of them cached.")] = 1
    traces: Annotated[int, typer.Option("--traces", help="Of so many findings, show what the driver executed.")] = 1

    def __post_init__(self) -> None:
        unknown = [name for name in self.chosen if name not in PORTS]
        if unknown or not self.chosen:
            raise IrqlabError(f"--ports {self.ports}: allowed are {', '.join(PORTS)}")
        for option, value, least, most in (
            ("--burst", self.burst, 1, MAX_BURST),
            ("--step", self.step, 1, MAX_STEP),
            ("--lead", self.lead, 0, CHUNK_PAIRS - 1),
            ("--repeat", self.repeat, 1, 10_000),
            ("--traces", self.traces, 0, MAX_TRACES),
        ):
            if not least <= value <= most:
                raise IrqlabError(f"{option} {value}: allowed are {least} to {most}")
        if not 0 <= self.bound <= 1e6:
            raise IrqlabError(f"--bound {self.bound:g}: allowed are 0 to 1000000 µs")
        period_us = HuntTrial.period_ns / 1e3
        replayed_us = None if self.at is None else self.at / 1e3
        for option, at_us in (("--from", self.begin), ("--until", self.end), ("--at", replayed_us)):
            if at_us is not None and not 0 <= at_us < period_us:
                raise IrqlabError(f"{option}: allowed are instants before the next pair, which comes after {period_us:g} µs")
        if self.begin is not None and self.end is not None and self.begin > self.end:
            raise IrqlabError(f"--from {self.begin:g}: it is after --until {self.end:g}")
        if self.at is None and (self.repeat > 1 or self.lead):
            raise IrqlabError("--repeat, --lead: they need --at")
        if self.at is not None and (self.begin is not None or self.end is not None):
            raise IrqlabError("--at: it cannot be combined with --from and --until")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The ports at which the second arrival comes in."""
        return tuple(dict.fromkeys(name.strip() for name in self.ports.split(",") if name.strip()))


@dataclass(frozen=True)
class Finding:
    """Instants close to each other at which the same went wrong."""

    port: Annotated[str, Col("Second arrival")]
    what: Annotated[str, Col("What happened", mark=lambda _: "bad")]
    """lost: a frame never came out. late: later than the bound. overtaken: the second frame came out before the first. reordered,
    duplicated: within a trial; the instant is not known."""
    from_ns: Annotated[Count | None, Col("From", format=units.duration, title="after the first frame")]
    to_ns: Annotated[Count | None, Col("to", format=units.duration)]
    instants: Annotated[Count, Col("Instants", format=units.whole)]
    worst_ns: Annotated[Count | None, Col("Worst latency", format=units.duration)]
    at_ns: Annotated[Count | None, Col("at", format=lambda ns: f"{ns} ns", title="after the first frame")]
    """The instant with the worst latency."""
    lead: Annotated[Count | None, Col("Lead", "pairs", title="how many pairs must come before, from the initial state of trials")]
    """How many of the pairs before that one suffice for it to happen again in a trial of its own; null: not known."""
    replay: Replay | None = None
    """For `irqlab debug`; null: not known."""
    trace: tuple[Step, ...] = ()
    """What the driver executed; empty: not traced."""


@dataclass(frozen=True)
class Sample:
    """All instants, with the second arrival at one port."""

    port: Annotated[str, Col("Second arrival", title="same: at the first frame's port")]
    instants: Annotated[Count, Col("Instants", format=units.whole, title="how many were tried")]
    spans_ns: tuple[tuple[Count, Count], ...]
    """The instants tried, in ns after the first frame, both ends included."""
    alone_ns: Annotated[Count, Col("Alone", format=units.duration, title="the longest latency of a frame that comes alone")]
    bound_ns: Annotated[Count, Col("Bound", format=units.duration, title="a frame that takes longer is late")]
    worst_ns: Annotated[Count | None, Col("Worst", format=units.duration, title="the longest latency of any frame")]
    worst_at_ns: Annotated[Count | None, Col("at", format=lambda ns: f"{ns} ns", title="after the first frame")]
    missed: Annotated[Count, Col("Missed", "instants", units.whole, mark=lambda n: "bad" if n else "good")]
    """Instants at which a frame was lost, late, or out of order."""
    findings: tuple[Finding, ...]
    worst_over_time: tuple[tuple[Count, Count], ...]
    """(instant, longest latency) in ns, for the plot; each is the worst of its neighbours."""


@dataclass(frozen=True)
class Summary:
    """The whole hunt."""

    instants: Count
    missed: Count
    """Instants at which a frame was lost, late, or out of order."""
    replayed: Count | None = None
    """With --at and --repeat: in how many of the repetitions it happened; null: not repeated."""
    testbed: dict[str, Any] | None = None
    """How the DUT was set up, for `irqlab debug`; null: there is no finding."""
    driver_instructions: Count | None = None
    """Of the driver's code; null: not looked at."""
    tried_instructions: Count | None = None
    """Those of them that were the next ones when a second frame arrived."""
    coverage: tuple[Function, ...] = ()
    """The same by function."""


@dataclass(frozen=True)
class Pair:
    """What happened to one pair."""

    gap_ns: int
    latency_ns: int | None
    """The longest of its frames; None: one never came out."""
    what: str
    """Empty: nothing went wrong."""
    number: int = 0
    """Of the pair in its trial."""


def pairs_of(found: HuntResult, bound_ns: int) -> Iterator[Pair]:
    """Judges the pairs of a trial."""
    frames = found.spec.frames
    for number, gap_ns in enumerate(found.spec.gaps_ns):
        first = found.first.latencies_ns[number : number + 1]
        later = found.second.latencies_ns[number * frames : (number + 1) * frames]
        taken = [*first, *later]
        if len(taken) < 1 + frames or None in taken:
            yield Pair(gap_ns, None, "lost", number)
            continue
        known = [one for one in taken if one is not None]
        if max(known) > bound_ns:
            what = "late"
        elif not found.spec.other_port and gap_ns + min(known[1:]) < known[0]:
            what = "overtaken"
        else:
            what = ""
        yield Pair(gap_ns, max(known), what, number)


def busy_spans(found: HuntResult, step_ns: int) -> list[tuple[int, int]]:
    """When the DUT executes after a frame that comes alone: spans in ns after the frame, of all frames together.

    They are multiples of `step_ns`, both ends included, with a margin. Spans that overlap are joined.
    """
    period_ns = found.spec.period_ns
    # A halt is known when it is over. So it is not known when the DUT halts for the last time, and that span is left out.
    busy = [(woken, halted) for (_, woken), (halted, _) in pairwise(found.halts)]
    spans = []
    for begin, end in busy:
        for number in range(found.spec.pairs):
            origin = SETTLE_NS + number * period_ns
            a, b = max(begin - MARGIN_NS - origin, 0), min(end + MARGIN_NS - origin, period_ns - step_ns)
            if a <= b and end >= origin:
                spans.append((a // step_ns * step_ns, b // step_ns * step_ns))
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1] + step_ns:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def chosen_spans(spans: Sequence[tuple[int, int]], options: Options, step_ns: int) -> list[tuple[int, int]]:
    """The parts of spans that lie between --from and --until."""
    low = 0 if options.begin is None else -(-round(options.begin * 1e3) // step_ns) * step_ns
    high = HuntTrial.period_ns - step_ns if options.end is None else round(options.end * 1e3) // step_ns * step_ns
    return [(max(a, low), min(b, high)) for a, b in spans if max(a, low) <= min(b, high)]


def group(port: str, pairs: Sequence[Pair], step_ns: int) -> list[Finding]:
    """Instants at which the same went wrong, with no more than NEAR_STEPS between them, as one finding each."""
    groups: list[list[Pair]] = []
    for pair in sorted((p for p in pairs if p.what), key=lambda p: p.gap_ns):
        last = groups[-1][-1] if groups else None
        # A frame that waits for the next pair is late; in a trial's last pair it is lost.
        alike = last is not None and (last.what == pair.what or {last.what, pair.what} == {"late", "lost"})
        if last and alike and pair.gap_ns - last.gap_ns <= NEAR_STEPS * step_ns:
            groups[-1].append(pair)
        else:
            groups.append([pair])
    found = []
    for members in groups:
        worst = max(members, key=lambda p: p.latency_ns or 0)
        found.append(
            Finding(
                port=port,
                what=worst.what,
                from_ns=members[0].gap_ns,
                to_ns=members[-1].gap_ns,
                instants=len(members),
                worst_ns=worst.latency_ns,
                at_ns=worst.gap_ns,
                lead=None,
            )
        )
    return found


def _trials(spans: Iterable[tuple[int, int]], step_ns: int, one: HuntTrial) -> Iterator[HuntTrial]:
    for begin, end in spans:
        count = (end - begin) // step_ns + 1
        for first in range(0, count, CHUNK_PAIRS):
            pairs = min(CHUNK_PAIRS, count - first)
            yield replace(one, pairs=pairs, first_gap_ns=begin + first * step_ns, step_ns=step_ns)


def _progress(found: HuntResult) -> str:
    return f"{PORTS[found.spec.other_port]} port, instants from {units.duration(found.spec.first_gap_ns)}"


def _alone(runner: TrialRunner, one: HuntTrial) -> tuple[HuntResult, int]:
    alone = runner.trial(replace(one, pairs=ALONE_PAIRS, frames=0))
    latencies = [latency for latency in alone.first.latencies_ns if latency is not None]
    if len(latencies) < ALONE_PAIRS:
        missing = ALONE_PAIRS - len(latencies)
        raise IrqlabError(f"{missing} of {ALONE_PAIRS} frames that came alone, {one.period_ns / 1e6:g} ms apart, never came out")
    return alone, max(latencies)


def _lead(runner: TrialRunner, one: HuntTrial, finding: Finding, most: int, bound_ns: int) -> int | None:
    """The shortest trial that ends with the finding: its number of pairs before it, 0 or a power of two or `most`."""
    assert finding.at_ns is not None
    for lead in sorted({0, most, *(1 << n for n in range(most.bit_length()))}):
        found = runner.trial(_led(one, finding.at_ns, lead))
        if list(pairs_of(found, bound_ns))[-1].what:
            return lead
    return None


def _led(one: HuntTrial, at_ns: int, lead: int) -> HuntTrial:
    """A trial whose last pair is that one. Raises IrqlabError if the first would have its frames in the wrong order."""
    if at_ns < lead * one.step_ns:
        raise IrqlabError(f"--lead {lead}: before --at {at_ns} there are only {at_ns // one.step_ns} instants")
    return replace(one, pairs=lead + 1, first_gap_ns=at_ns - lead * one.step_ns)


def _disorder(port: str, found: HuntResult) -> Iterator[Finding]:
    """What the counters of whole streams say."""
    for what in ("reordered", "duplicated"):
        frames = getattr(found.first, what) + getattr(found.second, what)
        if frames:
            gaps = found.spec.gaps_ns
            yield Finding(port, what, gaps[0], gaps[-1], frames, None, None, None)


def run(runner: TrialRunner, workload: Workload, options: Options) -> MethodResult:
    """Tries the instants. Raises IrqlabError if frames that come alone are lost."""
    result = runner.result("hunt", workload)
    step_ns = options.step << SHIFT_OF_MIPS[runner.testbed.machine.mips]
    assert isinstance(workload.size, int)
    one = HuntTrial(pairs=1, first_gap_ns=0, step_ns=0, frames=options.burst, frame_bytes=workload.size)
    alone, alone_ns = _alone(runner, one)
    bound_ns = alone_ns * max(1, options.burst) + round(options.bound * 1e3)
    if options.at is not None:
        return _replay(runner, options, replace(one, step_ns=step_ns), result, (alone_ns, bound_ns))
    spans = chosen_spans(busy_spans(alone, step_ns), options, step_ns)
    if not spans:
        raise IrqlabError("--from, --until: the DUT halts in the whole of that time, so there is no instant to try")
    traces, all_tried = options.traces, []
    for port in options.chosen:
        trials = list(_trials(spans, step_ns, replace(one, other_port=port == OTHER)))
        tried = runner.trials(trials, _progress)
        all_tried += tried
        judged = [pair for trial in tried for pair in pairs_of(trial, bound_ns)]
        findings = group(port, judged, step_ns)
        number_of = {pair.gap_ns: pair.number for pair in judged}
        other = replace(one, other_port=port == OTHER, step_ns=step_ns)
        confirmed = [_confirmed(runner, other, f, number_of[f.at_ns or 0], bound_ns) for f in findings]
        for number, finding in enumerate(confirmed[:traces]):
            if finding.replay is not None:
                runner.progress(f"tracing what the driver executes at {finding.at_ns} ns")
                confirmed[number] = replace(finding, trace=trace_of(runner.testbed, finding.replay, alone_ns))
                traces -= 1
        confirmed += [found for trial in tried for found in _disorder(port, trial)]
        result.samples.append(_sample(port, judged, spans, (alone_ns, bound_ns), confirmed))
    covered = coverage_of(runner.testbed, all_tried)
    instructions, tried_instructions = coverage.totals(covered)
    result.summary = Summary(
        instants=sum(s.instants for s in result.samples),
        missed=sum(s.missed for s in result.samples),
        testbed=config_of(runner.testbed) if any(s.findings for s in result.samples) else None,
        driver_instructions=instructions,
        tried_instructions=tried_instructions,
        coverage=covered,
    )
    return result


def _confirmed(runner: TrialRunner, one: HuntTrial, finding: Finding, most: int, bound_ns: int) -> Finding:
    """The finding with the shortest trial that shows it again."""
    lead = _lead(runner, one, finding, most, bound_ns)
    if lead is None or finding.at_ns is None:
        return finding
    return replace(finding, lead=lead, replay=replay_of(_led(one, finding.at_ns, lead)))


def _sample(
    port: str, judged: Sequence[Pair], spans: Sequence[tuple[int, int]], limits: tuple[int, int], findings: Sequence[Finding]
) -> Sample:
    timed = [pair for pair in judged if pair.latency_ns is not None]
    worst = max(timed, key=lambda pair: pair.latency_ns or 0, default=None)
    return Sample(
        port=port,
        instants=len(judged),
        spans_ns=tuple(spans),
        alone_ns=limits[0],
        bound_ns=limits[1],
        worst_ns=worst.latency_ns if worst else None,
        worst_at_ns=worst.gap_ns if worst else None,
        missed=sum(1 for pair in judged if pair.what),
        findings=tuple(findings),
        worst_over_time=tuple(_thinned(timed)),
    )


def _thinned(pairs: Sequence[Pair]) -> Iterator[tuple[int, int]]:
    """The worst of each group of neighbours, so that at most POINTS are left."""
    size = -(-len(pairs) // POINTS)
    for first in range(0, len(pairs), size or 1):
        worst = max(pairs[first : first + size], key=lambda pair: pair.latency_ns or 0)
        yield worst.gap_ns, worst.latency_ns or 0


def _replay(runner: TrialRunner, options: Options, one: HuntTrial, result: MethodResult, limits: tuple[int, int]) -> MethodResult:
    """One instant, as often as asked for; each time on a restored DUT."""
    assert options.at is not None
    seen = 0
    for port in options.chosen:
        trial = _led(replace(one, other_port=port == OTHER), options.at, options.lead)
        pairs: list[Pair] = []
        for number in range(options.repeat):
            found, _ = runner.testbed.measure(trial)
            pairs += list(pairs_of(found, limits[1]))[-1:]
            runner.progress(f"{port} port, {number + 1} of {options.repeat}")
        seen += sum(1 for pair in pairs if pair.what)
        result.samples.append(_sample(port, pairs, [(options.at, options.at)], limits, group(port, pairs, 0)))
    result.summary = Summary(len(options.chosen) * options.repeat, seen, seen)
    return result


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """The longest latency by instant, for each port."""
    drawn = []
    for port in PORTS:
        curves = [
            line_of(row, [(at / 1e3, worst / 1e3) for at, worst in sample.worst_over_time])
            for row in rows
            for sample in row.samples
            if sample.port == port
        ]
        if curves:
            title = f"Second arrival at the {port} port"
            drawn.append(number.plot(title, plots.over_time(curves, "µs after the first frame", "longest latency, µs", title)))
    tables = [_FINDINGS.table(rows), *(table for row in rows for table in (*_traces(row), *_coverage(row)))]
    return Group(legend=legend_of(rows), plots=drawn, tables=tables)


def _traces(row: Row) -> Iterator[Table]:
    """What the driver executed, whole."""
    for number, finding in enumerate(_findings(row), 1):
        if finding.trace:
            caption = f"Trace of finding {number}: {finding.what} at {finding.at_ns} ns, {finding.port} port"
            yield _folded(caption, Step, finding.trace, row)


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


_FINDINGS = Lines("Findings", Finding, _findings)


def _printed(row: Row, _: Options) -> Iterator[Table | str]:
    if _findings(row):
        yield _FINDINGS.table([row])
        first = next((f for f in _findings(row) if f.lead is not None), None)
        if first is not None:
            how = f"--ports {first.port} --at {first.at_ns} --lead {first.lead} --repeat 100"
            yield f"To replay {first.what} at {first.at_ns} ns: the same command with {how}"
    for number, finding in enumerate(_findings(row), 1):
        if finding.trace:
            yield f"\nWhat the driver executed in finding {number}, in ns after the first frame:"
            yield from shown(finding.trace, SECOND, STEPS_BEFORE, STEPS_AFTER)
    if row.summary.driver_instructions:
        tried, whole = row.summary.tried_instructions, row.summary.driver_instructions
        yield (
            f"Coverage: a frame arrived at {units.whole(tried)} of the driver's {units.whole(whole)} instructions "
            f"({units.percent(tried / whole)})"
        )
    if row.summary.replayed is not None:
        yield f"It went wrong in {row.summary.replayed} of {row.summary.instants} repetitions."


def _verdicts(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row.variant.label}: {units.whole(row.summary.missed)} of {units.whole(row.summary.instants)} instants are missed."
        for row in rows
    ]


METHOD = Method(
    name="hunt",
    place=57,
    title="Race hunt",
    help="Let a frame arrive after every single instruction that the frame before it causes. Exit code 1: something was found.",
    intro="A frame finds the device under test idle; a second one arrives a little later, at another instant each time. All "
    "instants at which the device executes are tried. Each frame has to come out in order, once, and hardly later than one "
    "that comes alone.",
    sample=Sample,
    summary=Summary,
    lines=Lines("Race hunt", Sample, note="Missed: instants at which a frame was lost, late, or out of order"),
    run=lambda runner, workload, options: [run(runner, workload, options)],
    options=Options,
    shared=(*DUT, *SCHEMES, "size", *RUN),
    plots=_plots,
    tables=_printed,
    verdicts=_verdicts,
    failed=lambda rows: any(_findings(row) for row in rows if row.data["complete"]),
    details="The line rate does not limit arrivals: the second one may come right after the first.",
)
