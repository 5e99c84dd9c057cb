# SPDX-License-Identifier: GPL-2.0-or-later
"""How race hunts are shown: tables of findings, what happened around them, coverage, and the sentence that sums a hunt up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irqlab import units
from irqlab.debug.trace import Step, shown
from irqlab.hunting.findings import Finding, Place
from irqlab.hunting.options import ARRIVALS, FAILURES, FAILURES_UP, INTERRUPTS, KINDS, PROCESSORS, TRANSMIT, Options
from irqlab.hunting.weighing import HELD
from irqlab.methods.method import Lines
from irqlab.present import plots
from irqlab.present.parts import Group, Numbers, Plot
from irqlab.present.rows import legend_of, line_of
from irqlab.present.tables import Table
from irqlab.present.variants import Row
from irqlab.profile import coverage
from irqlab.profile.coverage import Function

if TYPE_CHECKING:
    from irqlab.methods.hunt import Sample

STEPS_BEFORE, STEPS_AFTER = 3, 18
"""Of a trace, printed around the second event."""
BADNESS = ("message", "lost", "left", "stuck", "duplicated", "old", "kept", "reordered", "overtaken", "late")
"""What can be found, the worst first."""
ROWS, MARKS, PAUSE_NS = 7, 9, 30_000
"""Of a picture: functions, instants that are named, and when it ends: the driver does nothing for so long."""
MASK = re.compile(r"enabled 0x[0-9a-f]+")
"""In what a trace says of a NIC's registers (irqlab.debug.state)."""


def plots_of(rows: Sequence[Row], number: Numbers) -> Group:
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
    return [one for one in (*findings_of(row), *_observations(row)) if one.trace]


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


def findings_of(row: Row) -> list[Finding]:
    """Of every kind of event and port."""
    return [finding for sample in row.samples for finding in sample.findings]


def _observations(row: Row) -> list[Finding]:
    return [one for sample in row.samples for one in sample.observations]


_FINDINGS = Lines("Findings", Finding, findings_of)
_OBSERVATIONS = Lines(
    "Observations",
    Finding,
    _observations,
    "No findings: a frame was later than the bound, but it came out without a further one, and the processor worked meanwhile",
)


def printed(row: Row, _: Options) -> Iterator[Table | str]:
    """What the terminal shows: findings and observations, their traces, where processors gave way."""
    for lines in (_FINDINGS, _OBSERVATIONS):
        if lines.of(row):
            yield lines.table([row])
    yield from (f"{one.kind}, {one.port} port:\n{one.said}" for one in findings_of(row) if one.said)
    for finding in _traces_of(row):
        if finding.what != HELD:
            yield f"\n{finding.what.capitalize()} {finding.where}: what the driver executed, in ns after the first event:"
            yield from shown(finding.trace, STEPS_BEFORE, STEPS_AFTER, finding.arrival_ns)
    for number, finding in enumerate(findings_of(row), 1):
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


def verdicts(rows: Sequence[Row]) -> list[str]:
    """The answer of each row."""
    return [f"{row.variant.label}: {_answer(row)}." for row in rows]


def _answer(row: Row) -> str:
    """The worst finding, or that there is none; and what was observed."""
    if row.summary.replayed is not None:
        known = {one.what: _happened(one) for one in (*findings_of(row), *_observations(row))}
        what = f" ({'; '.join(known.values())})" if known else ""
        return f"It went wrong in {row.summary.replayed} of {row.summary.instants} repetitions{what}"
    parts = []
    # A frame that was left in a trial's last pair is lost: the same. What can be replayed is worth more.
    badness = {what: BADNESS.index("left" if what == "lost" else what) for what in BADNESS}
    findings = sorted(findings_of(row), key=lambda one: (badness[one.what], one.lead is None, one.lead))
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
    after = next((step for step in one.trace if step.what != "event" and step.at_ns >= (one.arrival_ns or 0)), None)
    if after is None:
        return f", before {one.before}"
    line = f" ({Path(after.line).name})" if after.line else ""
    return f", before {one.before} and the driver's {after.what} {after.text}{line}"


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
