# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab reproduce PAPER`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab.cli import options as opt
from irqlab.cli.output import check_directory, check_outputs
from irqlab.config import hardware as boards
from irqlab.errors import IrqlabError
from irqlab.files import write_atomically
from irqlab.present import series
from irqlab.report import plots, render
from irqlab.reproduce import PAPERS, document, find
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.session import Session
from irqlab.runner.jobs import UserInterruptError, terminate_like_ctrl_c
from irqlab.setup.nics import our_driver

PaperName = Annotated[str, typer.Argument(metavar="PAPER", help=f"One of: {', '.join(PAPERS)}.")]
Quick = Annotated[bool, typer.Option("--quick", help="Measure fewer points, for a first look; the tables say what was left out.")]
Long = Annotated[
    bool,
    typer.Option(
        "--long",
        help="Also measure what takes minutes more: trials as long as the paper's (spanos2008: 60 s; lan78xx: rrul of 60 s), "
        "experiments (salah2009), a kernel that is built for it (hybrid).",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="Output directory for the report, JSON and CSV; default: results/PAPER.")]
HardwareOption = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        help=f"Also measure with a board's costs: {', '.join(boards.names())}, or a file written by irqlab calibrate.",
    ),
]
DriverOption = Annotated[
    str | None, typer.Option("--driver", help="Kernel module, ours or in-tree; default: ours for --nic, or the paper's.")
]


@opt.asks("nic", "kernel", "mips", "ensemble", "perturb", *opt.RUN, driver=["?"])
def command(
    *,
    paper: PaperName,
    driver: DriverOption = None,
    request: opt.Request,
    hardware: HardwareOption = None,
    quick: Quick = False,
    long: Long = False,
    out: Out = None,
    report_file: opt.ReportFile = None,
    plots_directory: opt.PlotsDirectory = None,
) -> None:
    """Repeats a paper's measurements; prints findings and writes files. Raises IrqlabError."""
    chosen = find(paper)
    if hardware and not chosen.with_hardware:
        raise IrqlabError(
            f"{chosen.name} does not use hardware costs; --hardware is only for {_named(lambda paper: paper.with_hardware)}"
        )
    if long and not chosen.with_long:
        raise IrqlabError(f"{chosen.name} has no long trials; --long is only for {_named(lambda paper: paper.with_long)}")
    asked = request.testbeds[0]
    ours = our_driver(asked.nic) if asked.nic and not driver else None
    testbed = replace(asked, driver=driver or ours or chosen.driver)
    out = out or Path("results") / chosen.name
    check_directory(out)
    check_outputs(report_file)
    if plots_directory is not None:
        check_directory(plots_directory)
    board = boards.load(hardware) if hardware else None
    if board and board.memory and not chosen.with_memory:
        raise IrqlabError(f"--hardware {hardware}: it has a memory model, and {chosen.name} compares costs that were fitted")
    session = Session(testbed, quick, request.jobs, board, long=long, ensemble=request.ensemble)
    try:
        with terminate_like_ctrl_c(), session:
            found = document.Reproduction.measure(chosen, session, ["irqlab", *sys.argv[1:]])
    except KeyboardInterrupt:
        kept = (
            "finished trials are cached: run the same command again to continue"
            if testbed.cached
            else "no trials are cached (--no-cache)"
        )
        raise UserInterruptError(f"interrupted; {kept}") from None
    for finding in found.findings:
        print(f"- {finding.line}")
    print()
    for file in found.write(out)[:2]:
        print(file)
    print(f"{out}/*.csv")
    if report_file is not None:
        write_atomically(report_file, render(found.page()).encode())
    if plots_directory is not None:
        plots.write_plots(found.page(), plots_directory, series.measured_style)


def _named(which: Callable[[Paper[Any]], bool]) -> str:
    return ", ".join(name for name in PAPERS if which(find(name)))
