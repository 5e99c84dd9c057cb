# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab compare A B`: the same trials on both, one table, and an exit code for CI."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console

from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs, complain, save
from irqlab.compare import sides, verdict
from irqlab.compare import tables as printed
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import metrics as costs
from irqlab.methods import throughput
from irqlab.present import terminal as tables
from irqlab.qemu import machine
from irqlab.results.document import MethodResult
from irqlab.runner.measure import Method, Outcome, measure
from irqlab.runner.runner import TrialRunner

SideA = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="DRIVER[+OPTIONS], such as irqmod_i8255x+napi+off or ./my.ko+ring=128; git:REVISION:DRIVER[+OPTIONS]; "
        "linux-image-... (with --driver); or a file written by compare --json.",
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
        "--memory", help="Count lines of memory and misses per frame, too: with --hardware's caches, or else common ones."
    ),
]
MET_WITHIN_S = 24 * 3600.0


class _Meeting:
    """Lets the two sides agree on a load: the lower of their throughputs, per direction."""

    def __init__(self) -> None:
        self._rates: list[float] = []
        self._barrier = threading.Barrier(2)

    def lower_pps(self, mine_pps: float) -> float:
        """Waits for the other side's throughput. Raises IrqlabError if the other side failed."""
        self._rates.append(mine_pps)
        try:
            self._barrier.wait(MET_WITHIN_S)
        except threading.BrokenBarrierError:
            raise machine.CancelledError("the other side could not be measured") from None
        return min(self._rates)

    def abort(self) -> None:
        """Releases the other side from waiting."""
        self._barrier.abort()


def _method(request: opt.Request, measured: tuple[dict[str, Any], ...], memory: bool) -> Method:
    """The method run for each side and frame size: the throughput search, then the same loads on both sides."""
    live = len(request.testbeds)
    meetings = {size: _Meeting() for size in request.sizes}

    def base_pps(workload: Workload, known: MethodResult) -> float:
        if measured:
            same = [r for r in measured if (r["frame_bytes"], r["bidirectional"]) == (workload.size, workload.bidirectional)]
            if not same:
                raise IrqlabError(f"the file has no result for frame size {workload.size} with the same --bidirectional setting")
            return float(same[0]["summary"]["base_pps"])
        mine = throughput.rate_per_direction(known)
        return meetings[workload.size].lower_pps(mine) if live == 2 else mine

    def run(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
        try:
            known = throughput.run(runner, workload)
            return [known, costs.run(runner, workload, known, base_pps(workload, known), memory=memory)]
        except BaseException:
            meetings[workload.size].abort()
            raise

    return run


@opt.asks(
    *("nic", "kernel", "mips", "ring", "lsm", "sysctl"),
    *opt.TRIAL,
    "above_line_rate",
    *opt.COSTS,
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
    request = replace(request, testbeds=tuple(side.testbed for side in chosen if side.testbed is not None))
    measured = next((side.rows for side in chosen if side.rows), ())
    outcome = (
        measure(
            request.testbeds,
            request.workloads(),
            request.jobs,
            _method(request, measured, memory),
            "compare",
            throughput.METHOD.name,
        )
        if request.testbeds
        else Outcome()
    )
    save(outcome, json_file, report_file)
    if outcome.error is not None:
        raise typer.Exit(complain(outcome.error))
    found = [result.to_json() for result in outcome.results if result.method == "metrics"]
    rows = _by_side(chosen, found, len(request.sizes))
    if _show(rows, chosen, threshold, judged, top):
        raise typer.Exit(1)


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
