# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab profile`: where a frame's instructions go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from irqlab import files
from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs, save
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import iperf
from irqlab.methods import profile as method
from irqlab.present import terminal as tables
from irqlab.profile import diff as comparison
from irqlab.profile import tables as printed
from irqlab.profile.tree import Row
from irqlab.results.document import MethodResult
from irqlab.runner.measure import measure
from irqlab.runner.runner import TrialRunner
from irqlab.trials.iperf import FOUR, IperfTrial

TESTS = {test.name.lower().replace(" ", "-"): replace(test, seconds=1) for test in FOUR}

LoadOption = Annotated[
    str | None,
    typer.Option("--load", help="Offered load as a multiple of the throughput, which is searched first; default: 2x."),
]
RateOption = Annotated[float | None, typer.Option("--rate", help="Offered load in frames/s in each direction, not --load.")]
DiffOption = Annotated[Path | None, typer.Option("--diff", help="Compare with the profile in this JSON file.")]
FlameOption = Annotated[Path | None, typer.Option("--flamegraph", help="Write a flame graph (of the last profile) as SVG.")]
TopOption = Annotated[int, typer.Option("--top", help="How many functions to print.")]

IperfOption = Annotated[
    str | None,
    typer.Option("--iperf", help=f"Profile an iperf3 test of the DUT's, not forwarding: {', '.join(TESTS)}."),
]

MAX_LOAD = 100.0


def parse_load(text: str | None, rate_pps: float | None) -> float | None:
    """The multiple of the throughput; None if a rate was given. Raises IrqlabError: what was wrong, and what is allowed."""
    if rate_pps is not None:
        if text is not None:
            raise IrqlabError("--load and --rate: give one of them")
        if not 1 <= rate_pps <= 1e8:
            raise IrqlabError(f"--rate {rate_pps:g}: allowed are 1 to 100000000 frames/s")
        return None
    if text is None:
        return method.DEFAULT_LOAD
    try:
        load = float(text.strip().removesuffix("x"))
    except ValueError:
        load = -1.0
    if not 0 < load <= MAX_LOAD:
        raise IrqlabError(f"--load {text}: allowed are multiples of the throughput up to {MAX_LOAD:g}x, such as 0.5x or 2x")
    return load


def parse_test(name: str | None, load: str | None, rate_pps: float | None) -> IperfTrial | None:
    """The iperf3 test of that name; None: forwarding. Raises IrqlabError: what was wrong, and what is allowed."""
    if name is None:
        return None
    if load is not None or rate_pps is not None:
        raise IrqlabError("--iperf: its load is what TCP takes, or what the wire carries; --load and --rate are of forwarding")
    if name not in TESTS:
        raise IrqlabError(f"--iperf {name}: there are {', '.join(TESTS)}")
    return TESTS[name]


@opt.asks(*opt.SHARED)
def command(
    *,
    load: LoadOption = None,
    rate: RateOption = None,
    iperf_test: IperfOption = None,
    diff: DiffOption = None,
    flamegraph: FlameOption = None,
    top: TopOption = 40,
    request: opt.Request,
    json_file: opt.JsonFile = None,
    report_file: opt.ReportFile = None,
) -> None:
    """Profiles every driver and size; tables, files. Raises IrqlabError, after the files have been written."""
    check_outputs(json_file, report_file, flamegraph)
    test = parse_test(iperf_test, load, rate)
    share = parse_load(load, rate)
    if top < 1:
        raise IrqlabError(f"--top {top}: allowed are 1 and more")
    before = comparison.read(diff) if diff is not None else []
    if test is not None:
        request = replace(request, sizes=(iperf.FRAME_BYTES,))

    def profile(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
        if test is not None:
            return [method.run_iperf(runner, workload, test)]
        return [method.run(runner, workload, share, rate)]

    outcome = measure(request.testbeds, request.workloads(), request.jobs, profile, "profile")
    rows = [result.to_json() for result in outcome.results if result.complete]
    for row in rows:
        _show(row, before, top)
    save(outcome, json_file, report_file)
    if flamegraph is not None and rows:
        from irqlab.profile.flamegraph import file

        files.write_atomically(flamegraph, file(rows[-1]).encode())
    if outcome.error is not None:
        raise outcome.error


def _show(row: Row, before: list[Row], top: int) -> None:
    console = Console(highlight=False)
    tables.show(printed.functions_table(row, top), console)
    tables.show(printed.totals_table(row), console)
    print(printed.summary(row))
    if not before:
        return
    old = comparison.counterpart(row, before)
    if old is None:
        print("--diff: no profile there of this frame size and direction.")
        return
    print(f"\nBefore: {printed.title(old)}")
    for table in printed.diff_tables(old, row, top):
        tables.show(table, console)
