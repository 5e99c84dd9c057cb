# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries all instants of a case, judges them, and makes what was found small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from irqlab.config.testbed import SHIFT_OF_MIPS
from irqlab.debug.evidence import replay_of
from irqlab.debug.trace import listing
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case
from irqlab.hunting.failures import fail_calls, failing_call
from irqlab.hunting.findings import Finding, group
from irqlab.hunting.instants import busy_spans, chosen_spans, trials
from irqlab.hunting.options import ARRIVALS, INTERRUPTS, OVERRUNS, TRANSMIT, Options
from irqlab.hunting.overruns import with_room
from irqlab.hunting.pairs import Limits, Pair, pairs_of
from irqlab.hunting.paths import Tried, found_on_paths, hunt_paths
from irqlab.hunting.processors import hunt_processors, replayed
from irqlab.hunting.smaller import said, shortest_failing, shortest_lead
from irqlab.hunting.weighing import parted, weighed
from irqlab.qemu.cancellation import CancelledError
from irqlab.qemu.failure import MachineError
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import CHECK_ROOM_NS, HuntResult, HuntTrial

BY_PATH = (ARRIVALS, TRANSMIT, INTERRUPTS)
"""What is also tried by instructions of paths."""
LEAST_BY_PATH = 5_000
"""Pairs that are tried so, if there are no more instants."""


class NotAloneError(IrqlabError):
    """Frames that come alone are lost: nothing can be said about a second event."""


@dataclass(frozen=True)
class Hunted:
    """A case that was tried."""

    limits: Limits
    spans: Sequence[tuple[int, int]]
    step_ns: int
    pairs: Sequence[Pair]
    findings: Sequence[Finding]
    pcs: frozenset[int] = frozenset()
    """Where the processor was when a second frame arrived."""
    observations: Sequence[Finding] = ()
    """What is no finding (irqlab.hunting.weighing)."""
    planned: int | None = None
    """It was interrupted: how many instants were to be tried."""
    paths: Tried | None = None
    """What was tried by instructions; None: nothing."""


def hunt(runner: TrialRunner, case: Case, options: Options) -> Hunted:
    """Tries the instants. Raises NotAloneError if frames that come alone are lost, NotSupportedError without the change."""
    if case.kind == OVERRUNS:
        case = with_room(runner, case)
    try:
        limits, alone = alone_of(runner, case, options)
    except (KernelProblemError, MachineError) as error:
        if isinstance(error, CancelledError) or not case.trial.steps:
            raise
        # The change goes wrong by itself, without a frame meanwhile.
        finding = Finding(case.kind, case.port, "message", None, None, 1, None, None, None, said(error))
        return Hunted(Limits(0, 0), (), step_of(runner, options), (), [finding])
    if case.trial.failing is not None:
        calls = max(alone.calls, default=0)
        if not calls:
            return Hunted(limits, (), 1, (), ())
        calls = min(calls, case.instants or calls)
        judged, findings = fail_calls(runner, case, calls, limits)
        return Hunted(limits, ((0, calls - 1),), 1, judged, findings)
    if case.trial.switches is not None:
        judged, findings, planned = hunt_processors(runner, case, limits, alone, options, partial(listing, runner.bench.lab()))
        return Hunted(limits, (), 1, judged, findings, planned=planned)
    step_ns = step_of(runner, options)
    spans = _spans(case, alone, options, step_ns, limits)
    if case.instants is not None and _count(spans, step_ns) > case.instants:
        step_ns *= -(-_count(spans, step_ns) // case.instants)
        spans = _spans(case, alone, options, step_ns, limits)
    if not spans:
        raise IrqlabError("--from, --until: the DUT halts in the whole of that time, so there is no instant to try")
    asked = list(trials(spans, step_ns, case.trial))
    tried = runner.attempts(asked, f"{case.kind}, {case.port} port, instants")
    judged, findings = [], []
    pcs: set[int] = set()
    for trial, found in zip(asked, tried, strict=True):
        if isinstance(found, CancelledError):
            continue
        if isinstance(found, IrqlabError):
            findings.append(_broken(runner, case, trial, found))
        else:
            judged += list(pairs_of(found, limits))
            pcs.update(found.second.pcs[:: trial.frames or 1])
    number_of: dict[int | None, int] = {pair.gap_ns: pair.number for pair in judged}
    one = replace(case.trial, step_ns=step_ns)
    grouped = group(case.kind, case.port, judged, step_ns)
    shown: list[tuple[Finding, frozenset[tuple[int, str]]]] = []
    by_path, interrupted = None, any(isinstance(found, CancelledError) for found in tried)
    # Two events have no place by instructions in common.
    by_instruction = case.kind in BY_PATH and options.irq_after is None
    if by_instruction and options.begin is None and options.end is None and not interrupted:
        by_path = hunt_paths(runner, case, limits, max(len(judged), LEAST_BY_PATH))
    if by_path is not None:
        shown = list(found_on_paths(runner, case, by_path, limits, step_of(runner, options)))
        # Once is enough; not if what was found there may be no finding, or has no replay.
        certain = not parted([finding for finding, _ in shown])[1]
        known = {place for finding, places in shown if certain and finding.replay for place in places}
        grouped = [one for one in grouped if not one.pc or (one.pc, one.what) not in known]
        interrupted = by_path.interrupted
    timed = [_confirmed(runner, one, f, number_of[f.at_ns], limits) for f in grouped]
    replayable = {(one.pc, one.what) for one, again in zip(grouped, timed, strict=True) if one.pc and again.replay}
    weighed = [finding for finding, places in shown if finding.replay or not places & replayable]
    confirmed, observations = parted([*weighed, *timed])
    planned = _count(spans, step_ns) if interrupted else None
    return Hunted(limits, spans, step_ns, judged, [*confirmed, *findings], frozenset(pcs), observations, planned, by_path)


def _confirmed(runner: TrialRunner, one: HuntTrial, finding: Finding, most: int, limits: Limits) -> Finding:
    """The finding with the shortest trial that shows it again, and what is known after a replay without a further frame."""
    assert finding.at_ns is not None
    leading = partial(led, one, finding.at_ns)
    lead = shortest_lead(runner, leading, most, limits)
    if lead is None:
        return finding
    again = leading(lead)
    finding = replace(finding, lead=lead, replay=replay_of(again))
    known = weighed(runner, finding, again, limits)
    if known.by_itself_ns is None or known.what != finding.what:
        return known
    return weighed(runner, finding, leading(most), limits)  # exactly as it was found


def step_of(runner: TrialRunner, options: Options) -> int:
    """The step that was asked for, in ns."""
    return options.step << SHIFT_OF_MIPS[runner.bench.config.mips]


def alone_of(runner: TrialRunner, case: Case, options: Options) -> tuple[Limits, HuntResult]:
    """The trial without a second event, and what takes longer than in it. Raises NotAloneError if a frame is lost in it."""
    alone = runner.trial(case.alone)
    found = [*alone.first.latencies_ns, *alone.second.latencies_ns, *alone.check.latencies_ns[1::2]]
    latencies = [latency for latency in found if latency is not None]
    if len(latencies) < len(found) or not found:
        period_ms = case.alone.period_ns / 1e6
        raise NotAloneError(
            f"{len(found) - len(latencies)} of {len(found)} frames that came alone, {period_ms:g} ms apart, never came out"
        )
    # After a change a frame may wait for an answer to the kernel's question for the neighbour's address: one more way.
    bound_ns = max(latencies) * (options.burst + bool(case.trial.steps)) + round(options.bound * 1e3)
    if not case.trial.transmits:
        return Limits(max(latencies), bound_ns), alone
    freed = [one.freed_ns for one in alone.transmitted if one.freed_ns is not None]
    return Limits(max(latencies), bound_ns, max(freed, default=0), _freed_bound(runner, freed, options)), alone


def _freed_bound(runner: TrialRunner, freed: Sequence[int], options: Options) -> int:
    """Until when a packet has to be freed: tx-usecs, if the driver knows that; otherwise what it takes alone; and the bound."""
    schemes = runner.bench.lab().prepared.facts["running"]["schemes"]
    usual_ns = round(schemes["tx_usecs"] * 1e3) if schemes and schemes["tx_usecs"] else max(freed, default=0)
    return usual_ns + round(options.bound * 1e3)


def replay(runner: TrialRunner, case: Case, options: Options) -> tuple[Limits, list[Pair]]:
    """One instant, as often as asked for; each time on a restored DUT. Of calls that fail: none if there is no such call."""
    assert options.at is not None
    if case.kind == OVERRUNS:
        case = with_room(runner, case)
    limits, alone = alone_of(runner, case, options)
    one = replace(case.trial, step_ns=step_of(runner, options))
    if case.trial.failing is not None:
        if options.at >= max(alone.calls, default=0):
            return limits, []  # there is no such call
        trial = failing_call(case.trial, options.at, min(options.lead, options.at))
    elif case.trial.switches is not None:
        scheduled = replayed(case, alone, options)
        if scheduled is None:
            return limits, []
        trial = scheduled
    else:
        trial = led(one, options.at, options.lead)
    pairs: list[Pair] = []
    for number in range(options.repeat):
        found = runner.attempt(trial, cached=False)
        if isinstance(found, IrqlabError):
            pairs.append(Pair(options.at, None, "message"))
        elif trial.failing is None or found.failed[-1]:
            pairs += [replace(pair, gap_ns=options.at) for pair in list(pairs_of(found, limits))[-1:]]
        runner.progress(f"{case.kind}, {case.port} port, {number + 1} of {options.repeat}")
    return limits, pairs


def led(one: HuntTrial, at_ns: int, lead: int) -> HuntTrial:
    """A trial whose last pair is that one. Raises IrqlabError if the first would have its frames in the wrong order."""
    if at_ns < lead * one.step_ns:
        raise IrqlabError(f"--lead {lead}: before --at {at_ns} there are only {at_ns // one.step_ns} instants")
    return replace(one, pairs=lead + 1, first_gap_ns=at_ns - lead * one.step_ns)


def _spans(case: Case, alone: HuntResult, options: Options, step_ns: int, limits: Limits) -> list[tuple[int, int]]:
    spec = case.trial
    # What comes with the frames at the end of a pair, or after them, proves nothing.
    end_ns = spec.period_ns - (CHECK_ROOM_NS + limits.bound_ns + case.busy_ns if spec.check else 0)
    return chosen_spans(busy_spans(alone, step_ns, limits.alone_ns), options.begin, options.end, end_ns, step_ns)


def _count(spans: Sequence[tuple[int, int]], step_ns: int) -> int:
    return sum((end - begin) // step_ns + 1 for begin, end in spans)


def _broken(runner: TrialRunner, case: Case, trial: HuntTrial, error: IrqlabError) -> Finding:
    """The DUT failed in a trial; with the shortest one in which it fails."""

    def part(begin: int, pairs: int) -> HuntTrial:
        return replace(trial, pairs=pairs, first_gap_ns=trial.gaps_ns[begin])

    begin, pairs, error = shortest_failing(runner, part, trial.pairs, error)
    gaps = part(begin, pairs).gaps_ns
    return Finding(case.kind, case.port, "message", gaps[0], gaps[-1], pairs, None, gaps[-1], pairs - 1, said(error))
