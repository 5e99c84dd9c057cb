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
Quick = Annotated[bool, typer.Option("--quick", help="Measure fewer points, for a first look; the tables say what was left out.")]
Out = Annotated[Path | None, typer.Option("--out", help="Output directory for the report, JSON and CSV; default: results/PAPER.")]
HardwareOption = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        help=f"Also measure with a board's costs: {', '.join(boards.names())}, or a file written by irqlab calibrate.",
    ),
]
DriverOption = Annotated[str | None, typer.Option("--driver", help="Kernel module, ours or in-tree; default: the paper's.")]


@opt.asks("nic", "kernel", "mips", "ensemble", "perturb", *opt.RUN, driver=["?"])
def command(
    *,
    paper: PaperName,
    driver: DriverOption = None,
    request: opt.Request,
    hardware: HardwareOption = None,
    quick: Quick = False,
    out: Out = None,
) -> None:
    """Repeats a paper's measurements; prints findings and writes files. Raises IrqlabError."""
    chosen = find(paper)
    if hardware and not chosen.with_hardware:
        raise IrqlabError(f"{chosen.name} does not use hardware costs; --hardware is only for {_with_hardware()}")
    testbed = replace(request.testbeds[0], driver=driver or chosen.driver)
    out = out or Path("results") / chosen.name
    check_directory(out)
    board = boards.load(hardware) if hardware else None
    if board and board.memory:
        raise IrqlabError(f"--hardware {hardware}: it has a memory model, and reproduce compares costs that were fitted")
    session = Session(testbed, quick, request.jobs, board, ensemble=request.ensemble)
    try:
        with terminate_like_ctrl_c(), session:
            found = document.Reproduction.measure(chosen, session, ["irqlab", *sys.argv[1:]])
    except KeyboardInterrupt:
        machine.cancel_all()
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


def _with_hardware() -> str:
    return ", ".join(name for name in PAPERS if find(name).with_hardware)
