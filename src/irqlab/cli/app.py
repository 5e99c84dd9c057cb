# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: `irqlab COMMAND`. Exit codes: 0 done, 1 a check failed, 2 bad input or a failed run, 130 Ctrl-C."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from irqlab.cli import bisect as bisecting
from irqlab.cli import calibrate as calibration
from irqlab.cli import check as checking
from irqlab.cli import compare as comparing
from irqlab.cli import debug as debugging
from irqlab.cli import export as exporting
from irqlab.cli import history as histories
from irqlab.cli import kernels, live_schemes, methods, robustness
from irqlab.cli import matrix as gridding
from irqlab.cli import options as opt
from irqlab.cli import reproduce as reproducing
from irqlab.cli.cache import Action, run_cache
from irqlab.cli.demo import run_demo
from irqlab.cli.output import check_outputs, guarded
from irqlab.cli.shell import run_shell
from irqlab.cli.tap import run_tap
from irqlab.config.schemes import Schemes
from irqlab.methods import catalogue
from irqlab.report import write_html
from irqlab.setup.doctor import run_checks

app = typer.Typer(
    name="irqlab",
    help="Measure what a network driver's interrupt handling costs, and compare schemes. "
    "Boots a Linux kernel in QEMU with deterministic virtual time and benchmarks any network driver according to RFC 2544.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


methods.add_to(app)

app.command("calibrate", help="Fit hardware costs to throughputs measured on a board; writes a file for --hardware.")(
    guarded(calibration.command)
)


app.command("compare", help="Compare two drivers, revisions or kernels: the same trials on both, and a verdict on each metric.")(
    guarded(comparing.command)
)
app.command(
    "reproduce", help="Repeat a paper's measurements: its tables and figures next to irqlab's, as a report, JSON and CSV."
)(guarded(reproducing.command))


app.command("matrix", help="Measure a grid of drivers, schemes and frame sizes: one table, CSV, JSON, heat maps. Resumable.")(
    guarded(gridding.command)
)


app.command("export", help="Convert results of compare or matrix to JUnit, Markdown or CSV.")(guarded(exporting.command))
app.command("bisect")(guarded(bisecting.command))
app.command("history")(guarded(histories.command))
app.command("kernels")(guarded(kernels.kernels_command))
app.add_typer(kernels.app, name="kernel")
app.command("debug")(guarded(debugging.command))
app.add_typer(live_schemes.app, name="live")
app.command("check")(guarded(checking.check_command))
app.command("fuzz")(guarded(robustness.fuzz_command))
app.command("cycles")(guarded(robustness.cycles_command))


@app.command()
@guarded
def doctor() -> None:
    """Check the set-up; report what is wrong and how to fix it."""
    console = Console(highlight=False, soft_wrap=True)
    checks = run_checks()
    for check in checks:
        mark = "[green]✔[/green]" if check.ok else "[red]✘[/red]"
        console.print(f"{mark} {check.name}: {check.detail}" + ("" if check.ok else f"\n  fix: {check.mend}"))
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


@app.command()
@guarded
@opt.asks("mips", *opt.RUN, driver=["?"])
def demo(
    *,
    request: opt.Request,
    out: Annotated[Path, typer.Option("--out", help="Directory for the report and the JSON.")] = Path("results/demo"),
) -> None:
    """Compare the first paper's six variants, on irqmod_i8255x, with in-tree drivers; includes livelock curves."""
    run_demo(request, out)


@app.command("cache")
@guarded
def cache_(
    action: Annotated[
        Action, typer.Argument(help="show: number of trials, size and directory; clear: remove them.")
    ] = Action.SHOW,
) -> None:
    """Show or clear the cache of trial results."""
    run_cache(action)


@app.command()
@guarded
def report(
    files: Annotated[list[Path], typer.Argument(help="Results written with --json.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file.")] = Path("report.html"),
) -> None:
    """Make a self-contained HTML report from result files."""
    check_outputs(output)
    write_html([catalogue.read(file) for file in files], output)
    print(f"report: {output}")


@app.command()
@guarded
def schema() -> None:
    """Print the JSON Schema of result files."""
    print(json.dumps(catalogue.schema(), indent=1))


@app.command()
@guarded
@opt.asks(*opt.DUT, "rx", "tx", "variant")
def shell(*, request: opt.Request) -> None:
    """Run shell commands in the DUT, with the driver loaded and forwarding. Virtual time stops between commands."""
    run_shell(request.testbeds[0])


@app.command()
@guarded
@opt.asks("driver", "nic", "kernel", "mips", "module_parameters", "rx", "tx")
def tap(
    *,
    names: Annotated[list[str] | None, typer.Argument(help="Names of tests in drivers/tests; default: all quick ones.")] = None,
    request: opt.Request,
    long: Annotated[bool, typer.Option("--long", help="Include tests that take minutes.")] = False,
) -> None:
    """Run driver tests inside the DUT; prints TAP."""
    asked = list(dict.fromkeys(testbed.dut.schemes for testbed in request.testbeds))
    plain = dict.fromkeys(replace(testbed, dut=replace(testbed.dut, schemes=Schemes())) for testbed in request.testbeds)
    passed = [run_tap(testbed, names or [], asked, long) for testbed in plain]
    if not all(passed):
        raise typer.Exit(1)


def main() -> None:
    """Entry point."""
    app()
