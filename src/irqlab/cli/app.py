# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: `irqlab COMMAND`. Exit codes: 0 done, 1 a check failed, 2 bad input or a failed run, 130 Ctrl-C."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from irqlab.cli import defaults
from irqlab.cli.commands import NAMES, Commands
from irqlab.errors import IrqlabError

app = typer.Typer(
    name="irqlab",
    cls=Commands,
    help="What does a network driver's interrupt handling cost, which scheme is right, and is the driver correct? "
    "Boots a Linux kernel in QEMU with deterministic virtual time, with the driver in it, and a tester in the same time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": NAMES},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"irqlab {version('irqlab')}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    profile: Annotated[
        str | None,
        typer.Option("--profile", help="Also take options from \\[profile.NAME] of ./irqlab.toml.", metavar="NAME"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    _: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Options of all commands."""
    defaults.quiet(quiet)
    try:
        found = defaults.read(profile)
        if ctx.invoked_subcommand is not None and found is not None:
            ctx.default_map = {ctx.invoked_subcommand: defaults.of_command(found, ctx.invoked_subcommand, quiet)}
    except IrqlabError as error:
        print(f"irqlab: {error}", file=sys.stderr)
        raise typer.Exit(2) from None


def main() -> None:
    """Entry point."""
    app()
