# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: `irqlab COMMAND`. Exit codes: 0 done, 1 a check failed, 2 bad input or a failed run, 130 Ctrl-C."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from irqlab.cli import calibrate as calibration
from irqlab.cli import compare as comparing
from irqlab.cli import export as exporting
from irqlab.cli import matrix as gridding
from irqlab.cli import methods, robustness
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
    help="What does this NIC's interrupt handling cost, and which scheme is right? "
    "Boots a Linux kernel in QEMU with deterministic virtual time and measures any network driver after RFC 2544.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


methods.add_to(app)

app.command("calibrate", help="Fit hardware costs to a board's measured throughputs; writes a file for --hardware.")(
    guarded(calibration.command)
)


app.command(
    "compare", help="What did a change cost? The same trials on two drivers, revisions or kernels, and a verdict for each figure."
)(guarded(comparing.command))
app.command("reproduce", help="Measure a paper again: its tables and figures beside the lab's, as a report, JSON and CSV.")(
    guarded(reproducing.command)
)


app.command("matrix", help="A grid of drivers, schemes and frame sizes: one table, CSV, JSON, heat maps. Resumable.")(
    guarded(gridding.command)
)


app.command("export", help="Write what compare or matrix found as JUnit, Markdown or CSV.")(guarded(exporting.command))
app.command("fuzz")(guarded(robustness.fuzz_command))
app.command("cycles")(guarded(robustness.cycles_command))


@app.command()
@guarded
def doctor() -> None:
    """Check the set-up; say what is wrong and how to mend it."""
    console = Console(highlight=False, soft_wrap=True)
    checks = run_checks()
    for check in checks:
        mark = "[green]✔[/green]" if check.ok else "[red]✘[/red]"
        console.print(f"{mark} {check.name}: {check.detail}" + ("" if check.ok else f"\n  mend: {check.mend}"))
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


@app.command()
@guarded
@opt.asks("mips", *opt.RUN, driver=["?"])
def demo(
    *,
    request: opt.Request,
    directory: Annotated[Path, typer.Option("--directory", help="Where report and JSON go.")] = Path("results/demo"),
) -> None:
    """Measure the first paper's six variants on irqmod_i8255x, with livelock curves, beside drivers of the kernel."""
    run_demo(request, directory)


@app.command("cache")
@guarded
def cache_(
    action: Annotated[Action, typer.Argument(help="show: trials, bytes, where; clear: remove them.")] = Action.SHOW,
) -> None:
    """Show or clear the trials that are kept, so as not to make them twice."""
    run_cache(action)


@app.command()
@guarded
def report(
    files: Annotated[list[Path], typer.Argument(help="Results written with --json.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file.")] = Path("report.html"),
) -> None:
    """Make one self-contained HTML report of results."""
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
    """Try commands in the DUT, with the driver loaded and forwarding. Virtual time stands still between them."""
    run_shell(request.testbeds[0])


@app.command()
@guarded
@opt.asks("driver", "nic", "kernel", "mips", "module_parameters", "rx", "tx")
def tap(
    *,
    names: Annotated[list[str] | None, typer.Argument(help="Tests of drivers/tests; default: all that are quick.")] = None,
    request: opt.Request,
    long: Annotated[bool, typer.Option("--long", help="Those that take minutes, too.")] = False,
) -> None:
    """Run tests of a driver inside the DUT; they print TAP."""
    asked = list(dict.fromkeys(testbed.dut.schemes for testbed in request.testbeds))
    plain = dict.fromkeys(replace(testbed, dut=replace(testbed.dut, schemes=Schemes())) for testbed in request.testbeds)
    passed = [run_tap(testbed, names or [], asked, long) for testbed in plain]
    if not all(passed):
        raise typer.Exit(1)


def main() -> None:
    """Entry point."""
    app()
