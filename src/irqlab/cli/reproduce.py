# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab reproduce PAPER`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from irqlab.cli import options as opt
from irqlab.cli.output import check_directory
from irqlab.config import hardware as boards
from irqlab.errors import IrqlabError
from irqlab.qemu import machine
from irqlab.reproduce import PAPERS, document, find
from irqlab.reproduce.session import Session
from irqlab.runner.jobs import UserInterruptError, terminate_like_ctrl_c

PaperName = Annotated[str, typer.Argument(metavar="PAPER", help=f"One of: {', '.join(PAPERS)}.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer points, for a first look; the tables say what was left out.")]
Out = Annotated[Path | None, typer.Option("--out", help="Directory of report, JSON and CSV; default: results/PAPER.")]
HardwareOption = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        help=f"Measure with a board's costs, too: {', '.join(boards.names())}, or a file that irqlab calibrate wrote.",
    ),
]
DriverOption = Annotated[str | None, typer.Option("--driver", help="Name of a module, ours or in-tree; default: the paper's.")]


@opt.asks("nic", "kernel", "mips", *opt.RUN, driver=["?"])
def command(
    *,
    paper: PaperName,
    driver: DriverOption = None,
    request: opt.Request,
    hardware: HardwareOption = None,
    quick: Quick = False,
    out: Out = None,
) -> None:
    """Measures a paper again; tables, findings, files. Raises IrqlabError."""
    chosen = find(paper)
    if hardware and not chosen.with_hardware:
        raise IrqlabError(f"{chosen.name} is measured on the instruction clock alone: --hardware is for {_with_hardware()}")
    testbed = replace(request.testbeds[0], driver=driver or chosen.driver)
    out = out or Path("results") / chosen.name
    check_directory(out)
    session = Session(testbed, quick, request.jobs, boards.load(hardware) if hardware else None)
    try:
        with terminate_like_ctrl_c(), session:
            found = document.Reproduction.measure(chosen, session, ["irqlab", *sys.argv[1:]])
    except KeyboardInterrupt:
        machine.cancel_all()
        kept = (
            "trials already made are kept: the same command goes on from there"
            if testbed.cached
            else "nothing is kept (--no-cache)"
        )
        raise UserInterruptError(f"interrupted; {kept}") from None
    for finding in found.findings:
        print(f"- {finding.line}")
    print()
    for file in found.write(out)[:2]:
        print(file)
    print(f"{out}/*.csv")


def _with_hardware() -> str:
    return ", ".join(name for name in PAPERS if find(name).with_hardware)
