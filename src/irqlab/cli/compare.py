# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab compare A B`: the same trials on both, one table, and an exit code for CI."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console

from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs, complain, save
from irqlab.compare import beside, sides, verdict
from irqlab.compare import tables as printed
from irqlab.config.ensemble import Ensemble
from irqlab.config.traffic import FrameSize
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import metrics as costs
from irqlab.methods import throughput
from irqlab.present import terminal as tables
from irqlab.qemu.cancellation import CancelledError
from irqlab.results.document import MethodResult
from irqlab.results.ensemble import collapse
from irqlab.runner.measure import Method, Outcome, measure
from irqlab.runner.runner import TrialRunner

SideA = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="DRIVER[+OPTIONS], such as irqmod_i8255x+napi+off or ./my.ko+ring=128; git:REVISION:DRIVER[+OPTIONS]; "
        "linux-image-... (with --driver); or a file written by compare --json. Two files of other methods, such as one of irqlab "
        "live and one of the lab, are put side by side.",
    ),
]
SideB = Annotated[str | None, typer.Argument(metavar="B", help="Likewise; without B, only A is measured (for --json).")]
DriverOption = Annotated[str | None, typer.Option("--driver", help="The driver, if A or B is a kernel package.")]
FailAbove = Annotated[
    str | None, typer.Option("--fail-above", help="Exit with 1 if B is worse than A by more than this, e.g. 1%.")
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on", help="Metrics that --fail-above checks, comma-separated, by their names in the JSON; default: all."
    ),
]
TopOption = Annotated[int, typer.Option("--top", help="How many functions to print.")]
MemoryOption = Annotated[
    bool,
    typer.Option(
        "--memory", help="Also count lines of memory and misses per frame, with the caches of --hardware or else common ones."
    ),
]
MET_WITHIN_S = 24 * 3600.0


class _Meeting:
    """Lets the two sides agree on a load: the lower of their throughputs, per direction; of ensembles, of their first members."""

    def __init__(self, sides: int) -> None:
        self._sides = sides
        self._rates: list[float] = []
        self._failed = False
        self._changed = threading.Condition()

    def tell(self, mine_pps: float) -> None:
        """A side's throughput."""
        with self._changed:
            self._rates.append(mine_pps)
            self._changed.notify_all()

    def lower_pps(self) -> float:
        """Waits for the throughputs of all sides. Raises IrqlabError if one could not be measured."""
        with self._changed:
            self._changed.wait_for(lambda: self._failed or len(self._rates) == self._sides, MET_WITHIN_S)
            if self._failed or len(self._rates) < self._sides:
                raise CancelledError("the other side could not be measured")
            return min(self._rates)

    def abort(self) -> None:
        """Releases all who wait."""
        with self._changed:
            self._failed = True
            self._changed.notify_all()


def method(
    sides: int,
    sizes: Sequence[FrameSize],
    ensembles: Sequence[Ensemble],
    measured: tuple[dict[str, Any], ...] = (),
    memory: bool = False,
    profiled: bool = True,
) -> Method:
    """The method run for each side and frame size: the throughput search, then the same loads on both sides.

    `measured`: rows of a side that is known already. `profiled`, `memory`: as in irqlab.methods.metrics.
    """
    meetings = {size: _Meeting(sides) for size in sizes}
    first = {cast.first for cast in ensembles}

    def base_pps(runner: TrialRunner, workload: Workload, known: MethodResult) -> float:
        if measured:
            same = [r for r in measured if (r["frame_bytes"], r["bidirectional"]) == (workload.size, workload.bidirectional)]
            if not same:
                raise IrqlabError(f"the file has no result for frame size {workload.size} with the same --bidirectional setting")
            return float(same[0]["summary"]["base_pps"])
        member = runner.testbed.config.member
        if member is None or member.number in first:
            meetings[workload.size].tell(throughput.rate_per_direction(known))
        return meetings[workload.size].lower_pps()

    def run(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
        try:
            known = throughput.run(runner, workload)
            return [known, costs.run(runner, workload, known, base_pps(runner, workload, known), profiled, memory=memory)]
        except BaseException:
            meetings[workload.size].abort()
            raise

    return run


def casts(whole: Ensemble) -> list[Ensemble]:
    """The members of both sides, all of them different; the first side has as many again, its null ensemble."""
    return [whole] * 2 if whole.single else [replace(whole, null=True), replace(whole, first=2 * whole.members)]


def _ensembles(request: opt.Request, chosen: Sequence[sides.Side]) -> list[Ensemble]:
    """The ensembles of the sides that are measured. All members differ: also those of the same driver on both sides."""
    whole = request.ensemble
    for side in chosen:
        if side.rows and ("ensemble" in side.rows[0]) == whole.single:
            need = "was measured without an ensemble" if not whole.single else "has an ensemble: give the same --ensemble"
            raise IrqlabError(f"{side.name} {need}")
    return [cast for cast, side in zip(casts(whole), chosen, strict=False) if side.testbed is not None]


@opt.asks(
    *("nic", "kernel", "mips", "ring", "lsm", "sysctl"),
    *opt.TRIAL,
    "above_line_rate",
    *opt.COSTS,
    *opt.ENSEMBLE,
    *opt.RUN,
    driver=["?"],
)
def command(
    *,
    a: SideA,
    b: SideB = None,
    driver: DriverOption = None,
    fail_above: FailAbove = None,
    fail_on: FailOn = None,
    top: TopOption = printed.TOP,
    memory: MemoryOption = False,
    request: opt.Request,
    json_file: opt.JsonFile = None,
    report_file: opt.ReportFile = None,
) -> None:
    """Compares two sides; prints tables, writes files. Exit code 1 if a metric is worse than allowed."""
    check_outputs(json_file, report_file)
    threshold, judged = verdict.parse_threshold(fail_above), verdict.parse_judged(fail_on)
    if top < 1:
        raise IrqlabError(f"--top {top}: allowed are 1 and more")
    chosen = [sides.parse(text, request.testbeds[0], driver) for text in (a, b) if text is not None]
    if (found_beside := _files_beside(chosen)) is not None:
        console = Console(highlight=False)
        for table in beside.tables(*found_beside, (a, b or "")):
            tables.show(tables.rich_table(table), console)
        return
    request = replace(request, testbeds=tuple(side.testbed for side in chosen if side.testbed is not None))
    measured = next((side.rows for side in chosen if side.rows), ())
    ensembles = _ensembles(request, chosen)
    found_by = method(len(request.testbeds), request.sizes, ensembles, measured, memory)
    outcome = (
        measure(request.testbeds, request.workloads(), request.jobs, found_by, "compare", throughput.METHOD.name, ensembles)
        if request.testbeds
        else Outcome()
    )
    save(outcome, json_file, report_file)
    if outcome.error is not None:
        raise typer.Exit(complain(outcome.error))
    judge(outcome.document(), chosen, len(request.sizes), threshold, judged, top)


def judge(
    document: dict[str, Any],
    chosen: list[sides.Side],
    sizes: int,
    threshold: float | None,
    judged: tuple[str, ...] = (),
    top: int = printed.TOP,
) -> None:
    """Prints the tables of a comparison. Exit code 1 if a metric is worse than allowed."""
    content, _ = collapse(document)
    found = [row for row in content["measured"]["results"] if row["method"] == "metrics"]
    if _show(_by_side(chosen, found, sizes), chosen, threshold, judged, top):
        raise typer.Exit(1)


def _files_beside(chosen: Sequence[sides.Side]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Two files of measurements without metrics, such as a live one and the lab's; None: there are none. Raises IrqlabError."""
    bare = [side for side in chosen if side.document is not None and not side.rows]
    if not bare:
        return None
    documents = [side.document for side in chosen if side.document is not None]
    if len(documents) != 2:
        raise IrqlabError(
            f"{bare[0].name} has no results of irqlab compare: give two files of the same methods to put them side by side"
        )
    return documents[0], documents[1]


def _by_side(chosen: list[sides.Side], found: list[dict[str, Any]], sizes: int) -> list[list[dict[str, Any]]]:
    """The rows of each side: from its file, or the next ones measured."""
    left = iter(found)
    return [list(side.rows) or [next(left) for _ in range(sizes)] for side in chosen]


def _show(
    rows: list[list[dict[str, Any]]], chosen: list[sides.Side], threshold: float | None, judged: tuple[str, ...], top: int
) -> bool:
    """Prints the tables; returns whether a metric failed."""
    console = Console(highlight=False)
    names = (chosen[0].name, chosen[-1].name)
    failed = []
    for before, after in verdict.pairs(rows[0], rows[-1]):
        lines = verdict.lines(before, after, threshold, judged)
        tables.show(printed.verdicts(after, lines, names), console)
        if (changed := printed.gained(before, after, names, top)) is not None:
            tables.show(changed, console)
        if (lines_changed := printed.lines_gained(before, after, names, top)) is not None:
            tables.show(lines_changed, console)
        failed += [line for line in lines if line.failed]
    if threshold is not None:
        worst = ", ".join(dict.fromkeys(line.metric.text for line in failed))
        allowed = f"{threshold * 100:g} %"
        print(f"FAILED: worse by more than {allowed}: {worst}" if failed else f"Nothing is worse by more than {allowed}.")
    return bool(failed)
