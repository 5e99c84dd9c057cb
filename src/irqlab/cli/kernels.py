# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab kernel build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from irqlab.cli.output import guarded
from irqlab.errors import IrqlabError
from irqlab.setup import kernel
from irqlab.setup.kernel_trees import DEBUG, Options, debug_names

app = typer.Typer(help="Build kernels from source.", no_args_is_help=True)


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
