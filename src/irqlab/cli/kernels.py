# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab kernels` and `irqlab kernel build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from irqlab.cli.output import guarded
from irqlab.errors import IrqlabError
from irqlab.setup import kernel, kernel_packages
from irqlab.setup.kernel_trees import DEBUG, Options, debug_names

app = typer.Typer(help="Build kernels from source.", no_args_is_help=True)


def kernels_command(
    all_: Annotated[bool, typer.Option("--all", help="Every kernel; default: the newest of each series.")] = False,
) -> None:
    """List Debian's kernels that --kernel accepts, and which of them are downloaded."""
    offers = kernel_packages.offers()
    newest = {(offer.series, offer.is_rt): offer for offer in offers}
    chosen = kernel.present()
    table = Table(box=None, pad_edge=False)
    for column in ("--kernel", "release", "version", "suite", ""):
        table.add_column(column, no_wrap=True)
    for offer in offers:
        is_newest = newest[offer.series, offer.is_rt] is offer
        if not (is_newest or all_):
            continue
        there = kernel_packages.present(offer.release)
        state = "" if there is None else "default" if chosen and chosen.release == offer.release else "downloaded"
        table.add_row(
            f"{offer.series}{'-rt' * offer.is_rt}" if is_newest else "", offer.release, offer.version, offer.suite, state
        )
    Console(highlight=False).print(table)


@app.command()
@guarded
def build(
    source: Annotated[str | None, typer.Option("--source", help="Debian's source of a series: 6.1, 6.12, 7.3.")] = None,
    tree: Annotated[str | None, typer.Option("--tree", help="A source tree, PATH or PATH@REVISION.")] = None,
    kconfig: Annotated[list[str] | None, typer.Option("--kconfig", help="A file with CONFIG_ lines; repeatable.")] = None,
    debug: Annotated[str | None, typer.Option("--debug", help=f"Comma-separated: {', '.join(DEBUG)}.")] = None,
) -> None:
    """Build a kernel, and print what to pass to --kernel. Commands that measure build it by themselves."""
    if (source is None) == (tree is None):
        raise IrqlabError("kernel build: give either --source SERIES or --tree PATH")
    spec = f"source:{source}" if source is not None else f"tree:{tree}"
    built = kernel.resolve(spec, Options(tuple(kconfig or ()), debug_names(debug or "")))
    size_mb = sum(path.stat().st_size for path in Path(built.modules).rglob("*.ko*")) / 1e6
    print(f"Linux {built.release}: kernel {built.vmlinux.stat().st_size / 1e6:.0f} MB, modules {size_mb:.0f} MB")
    print(f"use it with: --kernel {built.package}")
