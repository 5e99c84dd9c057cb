# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries what the driver executes: the second event comes before each instruction of each path that it takes.

An instant in ns hits one instruction or another, depending on what the kernel did before it: an allocator may have fetched a
page, say. So a window of few instructions can move out of the way of a search by time. Here the event comes before the n-th
instruction of the driver in its pair, wherever that is in time. Instructions of the kernel that hands it a NIC's work count, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import cycle

from irqlab.debug.evidence import replay_of
from irqlab.dut.agent import NotSupportedError
from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case
from irqlab.hunting.code import code_of
from irqlab.hunting.findings import Finding, group
from irqlab.hunting.functions import functions
from irqlab.hunting.pairs import Limits, Pair, pairs_of
from irqlab.hunting.smaller import said, shortest_failing
from irqlab.hunting.weighing import weighed
from irqlab.qemu.cancellation import CancelledError
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import Cues, HuntResult, HuntTrial
from irqlab.trials.record import Cued
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial

AROUND = (
    "__napi_poll",
    "napi_complete_done",
    "napi_schedule_prep",
    "__napi_schedule",
    "__napi_schedule_irqoff",
    "net_rx_action",
    "netif_tx_wake_queue",
    "netif_tx_stop_all_queues",
)
"""Functions of the kernel that decide who polls a NIC and when (net/core/dev.c). What a second event meets between two of the
driver's instructions is in them."""
LEADS = 1_000
"""Pairs in a trial."""
TIMES = 4
"""How often each place is tried, in pairs that have different numbers of pairs before them."""
OFTEN = 10
"""That holds for paths that at least one of so many pairs takes. Places of rarer paths are tried once."""
CONFIRMED = 8
"""For so many findings the shortest trial is looked for that shows them."""
DEAD_PAIRS = 16
"""If more pairs go wrong at the end of a trial, a NIC is deaf since the first of them."""
NEAR = 24
"""Instructions around an instant at which what a cue has shown is looked for by time."""
ROUNDS = 3
"""Pairs that went another way than expected are made up for in further trials."""
Place = tuple[int, int]
"""An instruction on a path: its address, and a hash of the 64 instructions up to it."""


@dataclass(frozen=True)
class Missed:
    """A pair in which something went wrong."""

    pair: Pair
    cued: Cued
    trial: HuntTrial
    """Ends with the pair."""


@dataclass(frozen=True)
class Tried:
    """What was tried, and what was found."""

    known: frozenset[Place] = frozenset()
    """The instructions on all paths that were seen without a second event so early."""
    tried: frozenset[Place] = frozenset()
    """Those before which the second event came; also others, on paths that only a second event opens."""
    paths: int = 0
    pairs: Sequence[Pair] = ()
    missed: Sequence[Missed] = ()
    broken: Sequence[tuple[HuntTrial, IrqlabError]] = ()
    """Trials in which the DUT failed."""
    interrupted: bool = False

    @property
    def covered(self) -> int:
        """How many of the known ones were tried."""
        return len(self.known & self.tried)


def code_around(testbed: Testbed) -> tuple[tuple[int, int], ...]:
    """Where the code is in which the second event comes: the driver's, and AROUND. Raises IrqlabError."""
    known = functions(testbed)
    starts = sorted(set(known.by_name.values()))
    kernel = [known.by_name[name] for name in AROUND if name in known.by_name]
    return tuple(sorted({*code_of(testbed), *((begin, starts[bisect_right(starts, begin)]) for begin in kernel)}))


def hunt_paths(runner: TrialRunner, case: Case, limits: Limits, most: int) -> Tried | None:
    """Tries them, in no more than about `most` pairs. None: it is not known where the driver's code is."""
    one = _apart(case.trial, limits)
    try:
        code = code_around(runner.bench.lab())
    except IrqlabError as error:
        runner.progress(f"{case.kind} are tried by time only: {error}")
        return None
    alone = _with(one, code, [None] * LEADS)
    try:
        survey = runner.attempt(alone)
    except CancelledError:
        return Tried(interrupted=True)
    if isinstance(survey, NotSupportedError):
        runner.progress(f"{case.kind} are tried by time only: {survey}")
        return None
    if isinstance(survey, IrqlabError):
        return Tried(broken=[(alone, survey)])
    ways = {way.path: way.steps for way in survey.paths}
    if not ways:
        return Tried()
    leads = [pair.path for pair in survey.cued]
    known = frozenset(place for steps in ways.values() for place in steps)
    tried: Counter[Place] = Counter()
    judged = list(pairs_of(survey, limits))
    found = Tried(known, paths=len(ways), pairs=judged, missed=list(_missed(survey, limits)))
    for _ in range(ROUNDS):
        points = list(_points(ways, leads, tried, most - len(found.pairs)))
        if not points or found.interrupted:
            break
        asked: list[Trial[HuntResult]] = [_with(one, code, some) for some in points]
        results = runner.attempts(asked, f"{case.kind}, {case.port} port, instructions of {len(ways)} paths")
        broken = list(found.broken)
        judged, missed = list(found.pairs), list(found.missed)
        for trial, result in zip(asked, results, strict=True):
            assert isinstance(trial, HuntTrial)
            if isinstance(result, IrqlabError):
                if not isinstance(result, CancelledError):
                    broken.append((trial, result))
                continue
            tried.update(_hit(result))
            judged += pairs_of(result, limits)
            missed += _missed(result, limits)
        interrupted = any(isinstance(result, CancelledError) for result in results)
        found = Tried(known, frozenset(tried), len(ways), judged, missed, broken, interrupted)
    return found


def found_on_paths(
    runner: TrialRunner, case: Case, found: Tried, limits: Limits, step_ns: int
) -> Iterator[tuple[Finding, frozenset[tuple[int, str]]]]:
    """What went wrong, by instructions close to each other; of the first ones with the shortest trial that shows it by time.

    With each finding the addresses of these instructions, and what happened there.
    """
    by_number = {
        (one.cued.executed, one.pair.what): one for one in sorted(found.missed, key=lambda one: one.pair.latency_ns or 0)
    }
    in_order = [replace(one.pair, gap_ns=one.cued.executed) for one in found.missed]
    for number, one in enumerate(group(case.kind, case.port, in_order, 1)):
        assert one.at_ns is not None
        worst = by_number[one.at_ns, one.what]
        gap_ns = worst.pair.gap_ns
        finding = replace(one, from_ns=None, to_ns=None, at_ns=gap_ns, arrival_ns=gap_ns, pc=worst.cued.address)
        shown = _shown(runner, case, worst, limits, step_ns) if number < CONFIRMED else None
        if shown:
            gap_ns = shown.gaps_ns[-1]
            finding = replace(finding, at_ns=gap_ns, arrival_ns=gap_ns, lead=shown.pairs - 1, replay=replay_of(shown))
        near = range(one.from_ns or 0, (one.to_ns or 0) + 1)
        places = frozenset((each.cued.address, each.pair.what) for each in found.missed if each.cued.executed in near)
        yield weighed(runner, finding, shown or worst.trial, limits), places
    for trial, error in found.broken:
        yield _broken(runner, case, trial, error), frozenset()


def _shown(runner: TrialRunner, case: Case, missed: Missed, limits: Limits, step_ns: int) -> HuntTrial | None:
    """A trial without cues that ends with a pair in which it goes wrong, too; None: none was found, or the user interrupts.

    The pairs before it are not the same ones, so the instruction may be reached a little earlier or later.
    """
    cues, last = missed.trial.cues, missed.trial.pairs - 1
    assert cues is not None
    instruction_ns = 1_000 // runner.bench.config.mips
    with suppress(CancelledError):
        for lead in sorted({0, last, *(1 << n for n in range(last.bit_length()))}):
            result = runner.attempt(_with(missed.trial, cues.code, cues.points[last - lead :]))
            if isinstance(result, IrqlabError) or not list(pairs_of(result, limits))[-1].what:
                continue
            at_ns = result.gap_ns(lead) - result.cued[-1].booked_ns - lead * step_ns
            for offset in sorted(range(-NEAR, NEAR + 1), key=abs):
                first_ns = at_ns + offset * instruction_ns
                if first_ns < 0:
                    continue
                timed = replace(case.trial, pairs=lead + 1, step_ns=step_ns, first_gap_ns=first_ns)
                again = runner.attempt(timed)
                if isinstance(again, IrqlabError) or list(pairs_of(again, limits))[-1].what:
                    return timed
            return None
    return None


def _hit(result: HuntResult) -> Iterator[Place]:
    """The places that were next when the second event came. An interrupt may have come just before it."""
    pcs = result.second.pcs[:: result.spec.frames or 1]
    for number, cued in enumerate(result.cued):
        if cued.at_ns is not None and (not pcs or pcs[number] in (0, cued.address)):
            yield cued.address, cued.place


def _broken(runner: TrialRunner, case: Case, trial: HuntTrial, error: IrqlabError) -> Finding:
    """The DUT failed in a trial; with the shortest one in which it fails. It has cues, so --at does not replay it."""
    cues = trial.cues
    assert cues is not None

    def part(begin: int, pairs: int) -> HuntTrial:
        return _with(trial, cues.code, cues.points[begin : begin + pairs])

    _, pairs, error = shortest_failing(runner, part, trial.pairs, error)
    return Finding(case.kind, case.port, "message", None, None, pairs, None, None, None, said(error))


def _apart(one: HuntTrial, limits: Limits) -> HuntTrial:
    """A trial whose second event, if there is no cue, comes when the DUT has done all that the first one causes."""
    arriving_ns = one.first_frames * one.first_every_ns
    apart_ns = max(one.period_ns // 2, min(arriving_ns + limits.bound_ns, one.period_ns - limits.bound_ns))
    return replace(one, first_gap_ns=apart_ns, step_ns=0)


def _with(one: HuntTrial, code: tuple[tuple[int, int], ...], points: Sequence[int | None]) -> HuntTrial:
    return replace(one, pairs=len(points), cues=Cues(code, tuple(points)))


def _points(
    ways: dict[int, tuple[Place, ...]], leads: Sequence[int], tried: Counter[Place], most: int
) -> Iterator[list[int | None]]:
    """For each further trial the points of its pairs. Each pair gets the next place of the path that it is expected to take.

    A place is tried with an instruction's number in the path.
    """
    share = Counter(leads)
    times = {path: TIMES if count * OFTEN >= len(leads) else 1 for path, count in share.items()}
    planned = Counter(tried)
    wanted = {path: deque(n for n, place in enumerate(ways.get(path, ())) if planned[place] < times[path]) for path in share}
    spare = cycle(range(max(map(len, ways.values()))))
    left = most
    while left > 0 and any(wanted.values()):
        points: list[int | None] = []
        useful = 0
        for path in leads[:left]:
            queue, steps = wanted[path], ways.get(path, ())
            while queue and planned[steps[queue[0]]] >= times[path]:
                queue.popleft()
            if not queue:
                points.append(next(spare))
                continue
            number = queue.popleft()
            planned[steps[number]] += 1
            if planned[steps[number]] < times[path]:
                queue.append(number)
            points.append(number)
            useful = len(points)
        if not useful:
            return
        left -= useful
        yield points[:useful]


def _missed(result: HuntResult, limits: Limits) -> Iterator[Missed]:
    """The pairs in which something went wrong. If it never goes well again in a trial, then because of the first of those."""
    spec = result.spec
    assert spec.cues is not None
    judged = list(pairs_of(result, limits))
    well = max((pair.number for pair in judged if not pair.what), default=-1)
    dead = len(judged) - 1 - well > DEAD_PAIRS
    for pair, cued in zip(judged, result.cued, strict=True):
        if pair.what and not (dead and pair.number > well + 1):
            yield Missed(pair, cued, _with(spec, spec.cues.code, spec.cues.points[: pair.number + 1]))
