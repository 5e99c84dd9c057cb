# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab compare A B`: the same trials on both, one table, and an exit code for CI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from irqlab import units
from irqlab.check import beside as checks
from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs, complain, save, show_document
from irqlab.compare import beside, loads, sides, verdict
from irqlab.compare import tables as printed
from irqlab.errors import IrqlabError
from irqlab.methods import throughput
from irqlab.methods.options import check_rate
from irqlab.present import terminal as tables
from irqlab.report import comparison
from irqlab.results import document
from irqlab.runner.jobs import UserInterruptError
from irqlab.runner.measure import Outcome, measure

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
CheckOption = Annotated[
    str | None,
    typer.Option(
        "--check",
        help="Also run the checklist of irqlab check on both sides, in this time for each, such as 2m. Exit code 1: B "
        "fails what A passes.",
    ),
]
TopOption = Annotated[int, typer.Option("--top", help="How many functions to print.")]
MemoryOption = Annotated[
    bool,
    typer.Option(
        "--memory", help="Also count lines of memory and misses per frame, with the caches of --hardware or else common ones."
    ),
]


@opt.asks(
    *("nic", "kernel", "mips", "ring", "lsm", "sysctl"),
    *opt.TRIAL,
    "above_line_rate",
    *opt.COSTS,
    *opt.ENSEMBLE,
    *opt.RUN,
    driver=["?"],
    optional={"ensemble": loads.MEMBERS},
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
    rate: opt.RateOption = None,
    check: CheckOption = None,
    request: opt.Request,
    json_file: opt.JsonFile = None,
    report_file: opt.ReportFile = None,
) -> None:
    """Compares two sides; prints tables and one sentence, writes files. Exit code 1 if a metric is worse than allowed."""
    check_outputs(json_file, report_file)
    threshold, judged = verdict.parse_threshold(fail_above), verdict.parse_judged(fail_on)
    budget_s = None if check is None else units.host_seconds(check, "--check")
    check_rate(rate)
    if top < 1:
        raise IrqlabError(f"--top {top}: allowed are 1 and more")
    if request.ensemble.members < loads.FEWEST:
        raise IrqlabError(f"--ensemble {request.ensemble.members}: a comparison takes {loads.FEWEST} members and more")
    chosen = [sides.parse(text, request.testbeds[0], driver) for text in (a, b) if text is not None]
    if (found_beside := _files_beside(chosen)) is not None:
        console = Console(highlight=False)
        for table in beside.tables(*found_beside, (a, b or "")):
            tables.show(tables.rich_table(table), console)
        return
    if budget_s is not None and sum(side.testbed is not None for side in chosen) < 2:
        raise IrqlabError("--check: both sides have to be drivers, and no files")
    request = replace(request, testbeds=tuple(side.testbed for side in chosen if side.testbed is not None))
    kept = next((side.rows for side in chosen if side.rows), ())
    _check_members(kept, request.ensemble.members)
    outcome = Outcome()
    if request.testbeds:
        found_by = loads.method(len(request.testbeds), request.sizes, kept, alone=b is None, memory=memory, rate_pps=rate)
        ensembles = [replace(request.ensemble, variants=loads.BOOTS)] * len(request.testbeds)
        name = throughput.METHOD.name
        outcome = measure(request.testbeds, request.workloads(), request.jobs, found_by, "compare", name, ensembles)
    if outcome.error is not None or b is None:
        save(outcome, json_file, report_file)
    elif json_file is not None and outcome.environment:
        document.write(json_file, outcome.document)
    if outcome.error is not None:
        raise typer.Exit(complain(outcome.error))
    if b is None:
        show_document(outcome.document, "metrics")
        return
    broken = budget_s is not None and _checks(chosen, budget_s, request.jobs)
    judge(outcome.document, chosen, threshold, judged, top, report_file)
    if broken:
        raise typer.Exit(1)


def _checks(chosen: Sequence[sides.Side], budget_s: float, jobs: int) -> bool:
    """Runs the checklist on both sides, and prints what differs; whether the second side fails what the first passes."""
    before, after = (checks.checked(side.testbed, budget_s, jobs) for side in chosen if side.testbed is not None)
    names = (chosen[0].name, chosen[1].name)
    if before.interrupted or after.interrupted:
        raise UserInterruptError("interrupted; the same command goes on")
    if checks.differing(before, after):
        tables.show(tables.rich_table(checks.table(before, after, names)), Console(highlight=False))
    print(units.plain(checks.sentence(before, after, names)) + "\n")
    return bool(checks.worse(before, after))


def judge(
    content: dict[str, Any],
    chosen: Sequence[sides.Side],
    threshold: float | None,
    judged: tuple[str, ...] = (),
    top: int = printed.TOP,
    report_file: Path | None = None,
) -> None:
    """Prints the tables of a comparison, and its answer; writes a report. Exit code 1 if a metric is worse than allowed.

    `content`: the document of the sides that were measured.
    """
    rows, names = _by_side(chosen, verdict.measured(content)), (chosen[0].name, chosen[1].name)
    pairs = verdict.pairs(*rows)
    lines = [verdict.lines(*pair, threshold, judged) for pair in pairs]
    found = [(pair[1], many) for pair, many in zip(pairs, lines, strict=True)]
    shown = [table for pair, many in zip(pairs, lines, strict=True) for table in printed.of_pair(*pair, many, names, top)]
    console = Console(highlight=False)
    for table in shown:
        tables.show(tables.rich_table(table), console)
    said = verdict.answer(found, names)
    failed = any(line.failed for many in lines for line in many)
    if report_file is not None:
        documents = [side.document if side.document is not None else content for side in chosen]
        documents = [_at_loads(one, pairs) for one in (documents[:1] if documents[0] is documents[1] else documents)]
        comparison.write_html(documents, names, said, failed, shown, report_file)
    print(units.plain(said))
    if failed:
        raise typer.Exit(1)


def _at_loads(content: dict[str, Any], pairs: Sequence[tuple[verdict.Row, verdict.Row]]) -> dict[str, Any]:
    """A document without the metrics at loads that were not compared."""
    compared = [(row["frame_bytes"], row["bidirectional"], row["summary"]["base_pps"]) for row, _ in pairs]
    rows = [
        row
        for row in content["measured"]["results"]
        if row["method"] != "metrics"
        or not row["complete"]
        or (row["frame_bytes"], row["bidirectional"], row["summary"]["base_pps"]) in compared
    ]
    return {**content, "measured": {"results": rows}}


def _check_members(kept: Sequence[verdict.Row], members: int) -> None:
    """Raises IrqlabError if a file's ensemble is another one."""
    for row in kept:
        if len(row["of_members"]) != members:
            raise IrqlabError(f"the file was measured with --ensemble {len(row['of_members'])}: give the same")


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


def _by_side(chosen: Sequence[sides.Side], found: Sequence[verdict.Row]) -> list[list[verdict.Row]]:
    """The rows of each side: from its file, or its part of those that were measured."""
    count = sum(not side.rows for side in chosen)
    each, left = len(found) // max(count, 1), iter(found)
    return [list(side.rows) or list(islice(left, each)) for side in chosen]
