# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab kernel build`, `irqlab kernel module`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from irqlab.cli.output import guarded
from irqlab.errors import IrqlabError
from irqlab.setup import drivers, kernel
from irqlab.setup.kernel_trees import DEBUG, Options, debug_names

app = typer.Typer(help="Build kernels from source, and your own modules.", no_args_is_help=True)


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


@app.command()
@guarded
def module(
    directory: Annotated[Path, typer.Argument(help="With a Kbuild or Makefile that sets obj-m, and the sources.")],
    dut_kernel: Annotated[str | None, typer.Option("--kernel", help="As for commands that measure; default: 6.1.")] = None,
) -> None:
    """Build your own module for the DUT's kernel, with the compiler of that kernel; the .ko appears beside its sources."""
    if not directory.is_dir():
        raise IrqlabError(f"{directory}: no such directory")
    files = {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if _is_source(path)}
    if not {"Kbuild", "Makefile"} & set(files):
        raise IrqlabError(f"{directory} has no Kbuild and no Makefile; one line is enough: obj-m := NAME.o")
    target = kernel.resolve(dut_kernel)
    made = drivers.build_files(target, files)
    found = sorted(made.rglob("*.ko"))
    if not found:
        raise IrqlabError(f"{directory}: its Kbuild or Makefile builds no module (obj-m := NAME.o)")
    for path in found:
        for beside in (path, path.with_suffix(drivers.DEBUG)):
            shutil.copyfile(beside, directory / beside.relative_to(made))
        print(f"{directory / path.relative_to(made)}: for Linux {target.release}")


def _is_source(path: Path) -> bool:
    return path.is_file() and (path.suffix in (".c", ".h", ".S") or path.name.startswith(("Kbuild", "Makefile")))
