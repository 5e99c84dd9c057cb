# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes cases/METHOD.txt: methods run on DUTs that are formulas. What they ask for and say, their rows, and what is shown.

`python -m tests.data.make_cases` writes the files anew; read the difference before you commit it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import cycle
from pathlib import Path
from typing import Any

from msgspec import UNSET

from irqlab.config.workload import Workload
from irqlab.debug.evidence import Replay
from irqlab.debug.trace import Step
from irqlab.hunting.findings import Finding, Place
from irqlab.methods import application, burst, catalogue, hunt, latency, loss, metrics, recovery, ring, soak, throughput
from irqlab.present.tables import Table
from irqlab.profile import coverage
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult, ApplicationTrial
from irqlab.trials.ring import RingResult, RingTrial
from irqlab.trials.soak import Memory, Slice, SoakResult, SoakTrial
from tests.data.formulas import Formula, falling, plateau, rows_of
from tests.data.make_views import report_lines, table_lines, text_of
from tests.unit.fakes import latency as timing
from tests.unit.fakes import stand_on
from tests.unit.methods.test_application import formula

HERE = Path(__file__).parent
CASES = HERE / "cases"
TRIAL = {"duration_ns": 100_000_000, "warmup_ns": 1_000_000, "seed": 5}
SMALL = Workload(**TRIAL)
BOTH = Workload(bidirectional=True, arrivals="poisson", **TRIAL)
LONG = Workload(size=1518, **TRIAL)
MIXED = Workload(size="imix", **TRIAL)
Measure = Callable[[TrialRunner, Workload], MethodResult]


@dataclass(frozen=True)
class Case:
    """A method on some DUTs, with some workloads."""

    name: str
    beds: Callable[[], list[Formula]]
    measure: Measure
    workloads: tuple[Workload, ...] = (SMALL,)
    shown: bool = True
    """What reports show of it is recorded, too."""


def ringing(spec: RingTrial) -> RingResult:
    """A ring of 97 descriptors: 87 are nine tenths. With TCP, nothing is held."""
    held = {"0": 50_000, "1": 100_000, "86": 20_000, "87": 10_000, "97": 20_000} if spec.rate_pps else {"0": 200_000}
    shown = [(0, 0), (1_000_000, 90), (4_000_000, 7)] if spec.rate_pps else [(0, 0)]
    return RingResult(spec, 97, 200_000, held, 3, shown, 1234.5, [])


def soaking(spec: SoakTrial) -> SoakResult:
    """Nothing comes out in the first slice; memory is lost, and the slab grows."""
    parts = [
        Slice(10**9 * (n + 1), 1000 + n, 3 * n, 10 * n or None, 20 * n or None, 50 * n or None,
              Memory(2**27 - n * 2**20, 2**23 + n * 2**18, 2**14 + n * 2**12))
        for n in range(spec.count)
    ]  # fmt: skip
    return SoakResult(spec, tuple(parts), [])


def applied(spec: ApplicationTrial) -> ApplicationResult:
    """An application; of the lowest load nothing comes back."""
    offered = round(spec.load.rate_pps)
    timed = timing(count=offered - 1000, p50_ns=2 * offered, p99_ns=9 * offered)
    places = {"nic": offered // 3, "backlog": offered // 5, "socket": offered // 7}
    found = formula(spec)
    return replace(
        found, places=replace(found.places, **places), latency=timed if spec.echo else None,
        offered_pps=offered + 2.0 * spec.echo, returned_pps=offered / 2, interrupts_per_s=offered / 9,
        ksoftirqd_wakeups_per_s=offered / 11, ksoftirqd_share=0.125, time_squeezes=4, switches=6,
    )  # fmt: skip


def waiting(name: str, rx: str | None) -> Formula:
    return Formula(plateau(1.0), driver=name, rx=rx, others={ApplicationTrial: applied})


def slow() -> Formula:
    return Formula(plateau(30_000.0))


def noisy(top: float) -> Callable[[float], float]:
    """Loses a hundredth of the frames in every third trial."""
    trials = cycle((1.0, 1.0, 0.99))
    return lambda offered: min(offered, top) * next(trials)


def napi() -> Formula:
    return Formula(plateau(60_000.0), driver="sample8255x", rx="napi")


def livelock(driver: str = "sample8255x", least: float = 0.0) -> Formula:
    return Formula(falling(50_000.0, 0.6, least), driver=driver, rx="interrupt")


def timed(runner: TrialRunner, workload: Workload) -> MethodResult:
    """Latency at shares of a throughput that was found with another driver."""
    return latency.run(runner, workload, (0.1, 0.5), throughput.run(stand_on(slow()), workload))


def apply(**options: Any) -> Measure:
    """The application with these options."""

    def measure(runner: TrialRunner, workload: Workload) -> MethodResult:
        (found,) = application.METHOD.run(runner, workload, application.Options(**options))  # type: ignore[misc]
        return found

    return measure


def curve(*shares: float) -> Measure:
    """The loss curve at these loads."""
    return lambda runner, workload: loss.run(runner, workload, shares)


def all_metrics(runner: TrialRunner, workload: Workload) -> MethodResult:
    """The metrics, with the search before them."""
    return metrics.run(runner, workload, throughput.run(runner, workload), profiled=False)


def recovering(runner: TrialRunner, workload: Workload) -> MethodResult:
    """The recovery from shares of a throughput that was found with another driver."""
    return recovery.run(runner, workload, throughput.run(stand_on(slow()), workload))


def sampled(kind: str, port: str, *findings: Finding, step_ns: int = 4) -> hunt.Sample:
    """A kind of event at a port, with a plot of two instants."""
    seen = sum(finding.instants for finding in findings)
    over_time = ((1_000, 30_000), (2_500, 45_000 + 1_000 * seen))
    found = tuple(one for one in findings if one.what != "held")
    held = tuple(one for one in findings if one.what == "held")
    missed, waited = (sum(one.instants for one in many) for many in (found, held))
    return hunt.Sample(
        kind, port, 900, step_ns, ((8, 4_000),), 25_000, 50_000, 46_000, 2_500, 70_000, missed, waited or None, None, found, held,
        over_time,
    )  # fmt: skip


def hunted(runner: TrialRunner, workload: Workload) -> MethodResult:
    """What a hunt may find: arrivals, calls that fail, processors that take turns; traces, places, coverage."""
    result = runner.result("hunt", workload)
    if runner.bench.driver == "idle":
        result.samples = [sampled("arrivals", "same")]
        result.summary = hunt.Summary(50, 0, replayed=0)
        return result
    steps = tuple(
        Step(100 * n, "event" if n == 8 else "read", f"step {n}", n % 3, "rx.c:1" if n % 2 else "", ("a: 1 -> 2",) * (n % 2), "")
        for n in range(27)
    )
    replay = Replay({}, 5, 9)
    left = Finding(
        "arrivals", "other", "left", 2_000, 2_500, 3, 52_000, 2_500, 2, replay=replay, trace=steps, before="poll+0x8 (rx.c:3)",
        arrival_ns=800,
    )  # fmt: skip
    held = Finding("arrivals", "other", "held", 100, 200, 5, 61_000, 100, 0, by_itself_ns=61_000, held_by="work 60 µs")
    kept = Finding("changes ring", "same", "kept", 3_000, 3_000, 1, 90_000, 3_000, 0, said="WARNING: CPU: 0")
    places = (
        Place(0, "poll", "mov %eax,%ebx", "rx.c:7", 0xFFFF_FFFF_C000_0010),
        Place(1, "start", "", "", 0xFFFF_FFFF_C000_0020),
    )
    turns = Finding("processors", "same", "message", None, None, 1, None, 5, 1, said="BUG: 1", switches="3, 8", places=places)
    failed = Finding("failures alloc", "same", "lost", 7, 7, 2, None, 7, None)
    if runner.bench.driver == "slow":
        result.samples = [sampled("failures alloc", "same", failed), sampled("changes ring", "same", kept, step_ns=12)]
        result.summary = hunt.Summary(3, 3)
        return result
    result.samples = [
        sampled("arrivals", "other", left, held, step_ns=12),
        sampled("changes ring", "same", kept, step_ns=12),
        sampled("processors", "same", turns, step_ns=12),
        sampled("failures alloc", "same", failed),
    ]
    listing = (coverage.Line(0, True, "push %rbp", "rx.c:1"), coverage.Line(1, False, "ret", ""))
    functions = (coverage.Function("poll", 40, 10, listing), coverage.Function("never", 8, 0))
    result.summary = hunt.Summary(3_600, 7, 5, True, None, {"driver": "racy"}, 48, 10, functions)
    return result


def wire(**changed: Any) -> Formula:
    """A DUT as fast as the wire."""
    return Formula(plateau(1e9), **changed)


EXPECTED = tuple(replace(SMALL, expected_pps=pps) for pps in (29_950.0, 29_000.0, 31_000.0, 500.0, 200_000.0))
NEAR_THE_WIRE = tuple(replace(SMALL, expected_pps=pps) for pps in (148_500.0, 148_200.0))
TOLERANT = replace(SMALL, loss_tolerance=0.1)

CASES_OF = {
    "throughput": [
        Case("two drivers, three sizes, both ways", lambda: [slow(), napi()], throughput.run, (SMALL, LONG, MIXED, BOTH)),
        Case("one driver without schemes", lambda: [slow()], throughput.run),
        Case("livelock", lambda: [livelock()], throughput.run, (BOTH,)),
        Case("at line rate", lambda: [wire(driver=name) for name in ("one", "other")], throughput.run, (LONG,)),
        Case(
            "on real ports",
            lambda: [
                wire(live=True, reaches=20_000.0),
                Formula(plateau(10_000.0), driver="b", live=True),
                wire(driver="c", live=True, ceiling=50_000.0),
            ],
            throughput.run,
        ),
        Case("alone on real ports", lambda: [Formula(plateau(30_000.0), live=True)], throughput.run),
        Case("one at line rate", lambda: [wire(), napi()], throughput.run),
        Case("noise", lambda: [Formula(noisy(30_000.0))], throughput.run, (replace(SMALL, trials_per_load=3),), False),
        Case("some loss is tolerated", lambda: [slow()], throughput.run, (TOLERANT,), False),
        Case(
            "late frames",
            lambda: [Formula(plateau(30_000.0), late=lambda pps: pps > 20_000.0)],
            throughput.run,
            (SMALL, TOLERANT),
            False,
        ),
        Case("an expected throughput", lambda: [slow()], throughput.run, EXPECTED, False),
        Case("expected at line rate", lambda: [Formula(plateau(147_500.0)), wire()], throughput.run, NEAR_THE_WIRE, False),
    ],
    "loss": [
        Case("three drivers", lambda: [slow(), napi(), livelock()], curve(0.5, 1.0, 2.0, 3.0)),
        Case("two in livelock", lambda: [livelock("a", 500.0), livelock("b")], curve(1.0, 2.0, 4.0), (BOTH,)),
        Case("less and less", lambda: [Formula(falling(50_000.0, 0.1))], curve(0.5, 1.0, 4.0)),
        Case("a slow tester", lambda: [Formula(plateau(30_000.0), ceiling=60_000.0)], loss.run),
    ],
    "latency": [
        Case("two drivers", lambda: [slow(), napi()], latency.run, (SMALL, BOTH)),
        Case("one load", lambda: [slow(), napi()], lambda runner, workload: latency.run(runner, workload, (0.5,)), (SMALL, BOTH)),
        Case("nothing comes out at low loads", lambda: [Formula(lambda pps: pps if pps > 5_000.0 else 0.0)], timed),
        Case("nothing comes out of one of two", lambda: [Formula(plateau(0.0)), napi()], timed),
        Case("nothing comes out", lambda: [Formula(plateau(0.0))], timed),
    ],
    "burst": [
        Case("with and without a limit", lambda: [wire(burst_frames=101), wire(driver="b", burst_frames=10**9)], burst.run),
        Case("no limit", lambda: [wire(burst_frames=10**9)], burst.run, (LONG,)),
        Case("none", lambda: [wire(burst_frames=0)], burst.run),
    ],
    "recovery": [
        Case("two drivers", lambda: [napi(), livelock()], recovery.run, (BOTH, LONG)),
        Case("a slow tester", lambda: [Formula(plateau(30_000.0), ceiling=60_000.0)], recovery.run),
        Case("frames are lost at low loads, too", lambda: [Formula(lambda pps: 0.7 * pps)], recovering),
    ],
    "metrics": [Case("two drivers", lambda: [slow(), napi()], all_metrics, (SMALL, BOTH))],
    "hunt": [
        Case("three drivers", lambda: [Formula(plateau(1.0), driver=name) for name in ("racy", "slow", "idle")], hunted),
        Case("nothing found", lambda: [Formula(plateau(1.0), driver="idle")], hunted),
    ],
    "soak": [
        Case(
            "two drivers",
            lambda: [Formula(plateau(1e4), driver=name, others={SoakTrial: soaking}) for name in ("a", "b")],
            lambda runner, workload: soak.run(runner, workload, soak.Options(duration=4.0, interval=1.0)),
        )
    ],
    "application": [
        Case(
            "one way to wait",
            lambda: [waiting("a", None), waiting("b", None)],
            apply(rate="1000,3000,60000"),
            (replace(SMALL, size=1518, arrivals="poisson"),),
        ),
        Case(
            "four ways",
            lambda: [waiting("a", "interrupt"), waiting("b", "napi")],
            apply(rate="1000,2000", wait="epoll,busy-read,epoll-busy,block"),
        ),
        Case("two ways", lambda: [waiting("a", None)], apply(rate="1000", wait="epoll,block")),
        Case("a longer poll", lambda: [waiting("a", "napi")], apply(rate="1000", wait="busy-read", busy_poll_us=70), shown=False),
        Case("without echo", lambda: [waiting("a", None)], apply(rate="1000", no_echo=True)),
    ],
    "ring": [
        Case(
            "two drivers",
            lambda: [Formula(plateau(1.0), driver=name, others={RingTrial: ringing}) for name in ("a", "b")],
            lambda runner, workload: ring.run(runner, workload, ring.Options(rate=5000.0)),
        )
    ],
}
"""By method."""


def row_lines(result: MethodResult) -> Iterator[str]:
    """A result row; of its trials only what was forwarded."""
    for one in fields(result):
        found: Any = getattr(result, one.name)
        if one.name == "trials":
            yield f"  forwarded {text_of([trial.forwarded_pps for trial in found])}"
        elif one.name == "samples":
            yield from (f"  {text_of(sample)}" for sample in found)
        elif found is not None and found is not UNSET:
            yield f"  {one.name} {text_of(found)}"


def case_lines(method: str, case: Case) -> Iterator[str]:
    """What a case asks of each DUT, in any order, since trials run side by side; then its rows; then what is shown of all."""
    found = []
    yield f"case {case.name}"
    for bed in case.beds():
        for workload in case.workloads:
            bed.specs.clear()
            said: list[str] = []
            result = case.measure(TrialRunner(bed, progress=said.append), workload)  # type: ignore[arg-type]
            found.append((bed, result))
            yield f"{bed.driver}, {workload.size}, {'both ways' if workload.bidirectional else 'one way'}"
            yield from (f"  asked {text}" for text in sorted(map(text_of, bed.specs)))
            yield from (f"  said {text!r}" for text in sorted(said))
            yield from row_lines(result)
    rows = rows_of(found) if case.shown else []
    if rows:
        yield from report_lines(catalogue.methods()[method], rows)
    for row in rows:
        for shown in catalogue.methods()[method].tables(row, None):
            yield from table_lines(shown) if isinstance(shown, Table) else [f"printed {shown!r}"]


def text(method: str) -> str:
    """The record of a method."""
    return "\n".join(line for case in CASES_OF[method] for line in case_lines(method, case))


def main() -> int:
    """Writes the files."""
    CASES.mkdir(exist_ok=True)
    for method in CASES_OF:
        (CASES / f"{method}.txt").write_text(text(method))
    return 0


if __name__ == "__main__":
    sys.exit(main())
