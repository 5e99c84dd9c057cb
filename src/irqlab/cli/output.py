# SPDX-License-Identifier: GPL-2.0-or-later
"""Output of commands: files, messages, exit codes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from irqlab import units
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.present import terminal
from irqlab.present.tables import Table
from irqlab.present.variants import Row
from irqlab.report import plots, write_html
from irqlab.results import document
from irqlab.runner.jobs import UserInterruptError
from irqlab.runner.measure import Outcome


def complain(error: BaseException) -> int:
    """Prints an error as one message on stderr; returns the exit code."""
    print(f"irqlab: {error}", file=sys.stderr)
    return 130 if isinstance(error, UserInterruptError) else 2


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turns an IrqlabError into one message and exit code 2, and Ctrl-C into exit code 130."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except IrqlabError as error:
            raise typer.Exit(complain(error)) from None
        except KeyboardInterrupt:
            raise typer.Exit(complain(UserInterruptError("interrupted"))) from None

    return run


def check_outputs(*files: Path | None) -> None:
    """Checks, before anything is measured, that no file is a directory, and that its directory exists. Raises IrqlabError."""
    for file in files:
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            raise IrqlabError(f"cannot write {file}: it is a directory, or its directory does not exist")


def check_directory(out: Path) -> None:
    """Creates an output directory before anything is measured. Raises IrqlabError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IrqlabError(f"cannot write to {out}: {error.strerror}") from error


def save(outcome: Outcome, json_file: Path | None, report_file: Path | None, plots_directory: Path | None = None) -> None:
    """Writes the requested files; after an interruption, with the results so far."""
    if not outcome.environment:
        return
    content = outcome.document
    if json_file is not None:
        document.write(json_file, content)
    if report_file is not None:
        write_html([content], report_file)
    if plots_directory is not None:
        plots.write([content], plots_directory)


def show(found: Iterable[Table | str]) -> None:
    """Prints tables and text."""
    console = Console(highlight=False)
    for one in found:
        if isinstance(one, str):
            print(units.plain(one))
        else:
            terminal.show(terminal.rich_table(one), console)


def show_answers(rows: Sequence[Row]) -> None:
    """Prints what rows say, after their tables."""
    if found := catalogue.answers(rows):
        print("\n".join(["", *map(units.plain, found)]))


def show_document(content: dict[str, Any], *methods: str) -> None:
    """Prints the tables and the answers of a result document: those of the given methods, or all."""
    shown = [row for row in catalogue.rows([content]) if not methods or row.data["method"] in methods]
    for name, rows in catalogue.rows_by_method(shown).items():
        method = catalogue.methods()[name]
        show(method.printed(rows, method.options()))
    show_answers(shown)


def finish(outcome: Outcome, json_file: Path | None, report_file: Path | None) -> None:
    """Writes files, prints tables, and sets the exit code."""
    save(outcome, json_file, report_file)
    if outcome.environment:
        show_document(outcome.document)
    leave(outcome)


def leave(outcome: Outcome) -> None:
    """Ends the command with an error if the measurement had one."""
    if outcome.error is not None:
        raise typer.Exit(complain(outcome.error))
