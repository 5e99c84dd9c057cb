# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab.cli.compare import FailOn
from irqlab.cli.output import check_outputs
from irqlab.compare import export, verdict
from irqlab.errors import IrqlabError
from irqlab.files import write_atomically
from irqlab.methods import catalogue

Files = Annotated[
    list[Path],
    typer.Argument(help="JSON files with results. Those that are not from compare are compared with the first configuration."),
]
Format = Annotated[str | None, typer.Option("--format", help=f"One of: {', '.join(export.FORMATS)}; default: markdown.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Output file; default: standard output.")]
FailAbove = Annotated[
    str | None,
    typer.Option(
        "--fail-above",
        help="Mark figures as failed that are worse than those of the first configuration by more than this, e.g. 1%. "
        "The exit code stays 0.",
    ),
]


MethodName = Annotated[
    str | None,
    typer.Option("--method", help=f"Write this method's table as CSV instead: {', '.join(catalogue.methods())}."),
]


def command(
    files: Files,
    format_: Format = None,
    method: MethodName = None,
    output: Output = None,
    fail_above: FailAbove = None,
    fail_on: FailOn = None,
) -> None:
    """Converts the metrics of one or more files to another format."""
    check_outputs(output)
    if method is not None and format_ is not None:
        raise IrqlabError("--method writes CSV: give --method or --format")
    form = format_ or "markdown"
    contents = [catalogue.read(file) for file in files]
    if method is not None:
        text = _table(contents, method)
    elif form not in export.FORMATS:
        raise IrqlabError(f"--format {form}: allowed are {', '.join(export.FORMATS)}")
    else:
        found = list(export.cases(contents, verdict.parse_threshold(fail_above), verdict.parse_judged(fail_on)))
        text = export.FORMATS[form](found)
    if output is None:
        sys.stdout.write(text)
    else:
        write_atomically(output, text.encode())


def _table(contents: list[dict[str, Any]], name: str) -> str:
    """A method's table over all files as CSV. Raises IrqlabError if no file has results of it."""
    if name not in catalogue.methods():
        raise IrqlabError(f"--method {name}: allowed are {', '.join(catalogue.methods())}")
    rows = catalogue.rows_by_method(catalogue.rows(contents), complete=True).get(name)
    if not rows:
        raise IrqlabError(f"--method {name}: the files have no results of this method")
    return catalogue.methods()[name].lines.csv(rows)
