# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab check`: whether a driver is correct."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from irqlab import files, units
from irqlab.check import answer, catalogue, session
from irqlab.check.clock import Budget
from irqlab.check.row import FAIL
from irqlab.check.session import Checked
from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs, complain, show
from irqlab.errors import IrqlabError
from irqlab.report import check as report
from irqlab.runner.jobs import UserInterruptError
from irqlab.runner.progress import ProgressDisplay
from irqlab.trials.testbed import Testbed

BudgetText = Annotated[
    str, typer.Option("--budget", help="Host time on all cores of --jobs: 90s, 5m, 1h. It is counted as CPU time.")
]
Only = Annotated[
    str | None, typer.Option("--only", help="Rows, comma-separated, or the beginnings of their names (frames); default: all.")
]
Deep = Annotated[bool, typer.Option("--deep", help="Also the rows that need hours.")]
JUnit = Annotated[Path | None, typer.Option("--junit", help="Write the checklist to this file, as JUnit.")]
EVIDENCE = 24
"""Lines of a failed row that are printed."""


@opt.asks("driver", "nic", "kernel", "mips", "module_parameters", "may_log", *opt.RUN, *opt.SCHEMES)
def command(
    *,
    request: opt.Request,
    budget: BudgetText = "5m",
    only: Only = None,
    deep: Deep = False,
    junit: JUnit = None,
    json_file: opt.JsonFile = None,
    report_file: opt.ReportFile = None,
) -> None:
    """Say whether a driver is correct: a checklist with evidence. Exit code 1: something failed."""
    check_outputs(json_file, report_file, junit)
    if len(request.testbeds) > 1:
        raise IrqlabError("--driver: give one driver with one scheme")
    rows = catalogue.chosen([name.strip() for name in (only or "").split(",") if name.strip()], deep)
    budget_s = units.host_seconds(budget, "--budget")
    if request.testbeds[0].round_ns:
        raise IrqlabError("--cpus, --quantum: a driver is checked on one processor")
    testbed = Testbed.resolve(Testbed.on_card(request.testbeds[0]))
    with ProgressDisplay() as display:
        checked = Checked(testbed, budget_s)
        session.check(testbed, rows, Budget(budget_s, request.jobs), request.jobs, display, checked)
    content = answer.document(checked, ["irqlab", *sys.argv[1:]])
    if json_file is not None:
        answer.write_json(json_file, content)
    if junit is not None:
        files.write_atomically(junit, answer.junit(content).encode())
    if report_file is not None:
        report.write_html(checked, ["irqlab", *sys.argv[1:]], report_file)
    _print(checked)
    if checked.interrupted:
        raise typer.Exit(complain(UserInterruptError("interrupted; what was found is kept, and the same command goes on")))
    if checked.of(FAIL):
        raise typer.Exit(1)


def _print(checked: Checked) -> None:
    show(answer.tables(checked))
    for one, replay in answer.evidence(checked):
        print(f"\n{one.row.title} ({one.row.name}): {units.plain(one.outcome.said)}")
        for line in one.outcome.evidence[:EVIDENCE]:
            print(f"  {units.plain(line)}")
        print(f"  replay: {replay}")
    print(f"\n{units.plain(answer.sentence(checked))}")
