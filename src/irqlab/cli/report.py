# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab report`: results in other forms."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab.cli import options as opt
from irqlab.cli.compare import FailOn
from irqlab.cli.output import check_directory, check_outputs
from irqlab.compare import export as exporting
from irqlab.compare import verdict
from irqlab.errors import IrqlabError
from irqlab.files import write_atomically
from irqlab.methods import catalogue
from irqlab.report import plots, write_html

HTML = "html"
_FORMATS = (HTML, *exporting.FORMATS)

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Results written with --json. JUnit, Markdown and CSV compare those that are not from compare with the first one."
    ),
]
Format = Annotated[str | None, typer.Option("--format", help=f"One of: {', '.join(_FORMATS)}; default: html.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The file; default: report.html, and standard output for other formats.")
]
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
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of result files.")]


def command(
    files: Files = None,
    format_: Format = None,
    method: MethodName = None,
    output: Output = None,
    fail_above: FailAbove = None,
    fail_on: FailOn = None,
    plots_directory: opt.PlotsDirectory = None,
    schema_: Schema = False,
) -> None:
    """Writes results in another form."""
    if schema_:
        schema()
    elif not files:
        raise IrqlabError("report: give files that were written with --json, or --schema")
    elif plots_directory is not None:
        check_directory(plots_directory)
        written = plots.write([catalogue.read(file) for file in files], plots_directory)
        print(f"{len(written)} files in {plots_directory}")
    elif method is None and format_ in (None, HTML):
        output = output or Path("report.html")
        check_outputs(output)
        write_html([catalogue.read(file) for file in files], output)
        print(f"report: {output}")
    else:
        _export(files, format_, method, output, fail_above, fail_on)


def export(
    files: Annotated[list[Path], typer.Argument()],
    format_: Format = None,
    method: MethodName = None,
    output: Output = None,
    fail_above: FailAbove = None,
    fail_on: FailOn = None,
) -> None:
    """As `report --format`; default: markdown."""
    _export(files, format_ if format_ or method else "markdown", method, output, fail_above, fail_on)


def schema() -> None:
    """Prints the JSON Schema of result files."""
    print(json.dumps(catalogue.schema(), indent=1))


def _export(
    files: list[Path],
    form: str | None,
    method: str | None,
    output: Path | None,
    fail_above: str | None,
    fail_on: str | None,
) -> None:
    check_outputs(output)
    if method is not None and form is not None:
        raise IrqlabError("--method writes CSV: give --method or --format")
    if method is None and form not in exporting.FORMATS:
        raise IrqlabError(f"--format {form}: allowed are {', '.join(_FORMATS)}")
    contents = [catalogue.read(file) for file in files]
    if method is not None:
        text = _table(contents, method)
    else:
        found = list(exporting.cases(contents, verdict.parse_threshold(fail_above), verdict.parse_judged(fail_on)))
        text = exporting.FORMATS[form or ""](found)
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
