# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab history`: what drivers cost on many kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from irqlab.cli import options as opt
from irqlab.cli.output import check_directory, show
from irqlab.errors import IrqlabError
from irqlab.runner.jobs import UserInterruptError, terminate_like_ctrl_c
from irqlab.setup import kernel_packages, qemu
from irqlab.setup.say import say
from irqlab.versions import history, history_report
from irqlab.versions.history import History
from irqlab.versions.history_report import Report

Kernels = Annotated[
    str | None, typer.Option("--kernels", help="Kernels as for --kernel, comma-separated; default: the newest of each series.")
]
Drivers = Annotated[
    str | None,
    typer.Option("--drivers", help="DRIVER[+OPTIONS] as for irqlab compare, comma-separated; default: all in-tree ones."),
]
Out = Annotated[Path, typer.Option("--out", help="Directory for history.json and history.html.")]


@opt.asks("mips", "size", "bidirectional", "duration", "warmup", *opt.RUN, driver=["?"])
def command(
    *,
    kernels: Kernels = None,
    drivers: Drivers = None,
    request: opt.Request,
    out: Out = Path("results/history"),
) -> None:
    """Measure drivers on many kernels: throughput, and instructions per frame by owner. Run it again to resume."""
    common = request.testbeds[0]
    named = history.default_drivers(qemu.find()) if drivers is None else history.names("--drivers", drivers)
    testbeds = {name: history.driver_of(name, common) for name in named}
    asked = history.default_kernels(kernel_packages.offers()) if kernels is None else history.names("--kernels", kernels)
    check_directory(out)
    made = History(asked)
    try:
        with terminate_like_ctrl_c():
            made.found, missing = history.resolve(asked, say)
            history.measure(made, missing, testbeds, request.workloads(), request.jobs)
    except KeyboardInterrupt:
        _finish(made, out, complete=False)
        kept = "run the same command again to continue" if common.cached else "the rest is lost (--no-cache)"
        raise UserInterruptError(f"interrupted; {len(made.entries)} rows are in {out}; {kept}") from None
    _finish(made, out, complete=True)


def _finish(made: History, out: Path, complete: bool) -> None:
    """Writes and prints what was measured. Raises IrqlabError if that is nothing."""
    if not any(entry.functions for entry in made.entries):
        if complete:
            raise IrqlabError("\n".join(dict.fromkeys(f"{e.driver} on {e.kernel}: {e.why}" for e in made.entries)))
        return
    report = Report(made, ["irqlab", *sys.argv[1:]], complete)
    report.write(out)
    show(history_report.tables(report.to_json()))
    print(f"{out}/history.html, history.json")
