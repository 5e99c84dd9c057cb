# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from irqlab.cli.compare import FailAbove, FailOn
from irqlab.cli.output import check_outputs
from irqlab.compare import export, verdict
from irqlab.errors import IrqlabError
from irqlab.files import write_atomically
from irqlab.methods import catalogue

Files = Annotated[
    list[Path],
    typer.Argument(help="What compare or matrix wrote as JSON; others are held against the first configuration."),
]
Format = Annotated[str, typer.Option("--format", help=f"One of: {', '.join(export.FORMATS)}.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file; default: standard output.")]


def command(
    files: Files, format_: Format = "markdown", output: Output = None, fail_above: FailAbove = None, fail_on: FailOn = None
) -> None:
    """Writes the figures of one or more files in another format."""
    check_outputs(output)
    if format_ not in export.FORMATS:
        raise IrqlabError(f"--format {format_}: there are {', '.join(export.FORMATS)}")
    rows = [row for file in files for row in catalogue.read(file)["measured"]["results"]]
    found = list(export.cases(rows, verdict.parse_threshold(fail_above), verdict.parse_judged(fail_on)))
    text = export.FORMATS[format_](found)
    if output is None:
        sys.stdout.write(text)
    else:
        write_atomically(output, text.encode())
