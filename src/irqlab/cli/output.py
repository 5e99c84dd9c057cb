# SPDX-License-Identifier: GPL-2.0-or-later
"""What commands leave behind: files, messages, exit codes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from irqlab.errors import IrqlabError
from irqlab.present import peer_tables
from irqlab.present import terminal as tables
from irqlab.qemu import machine
from irqlab.report import write_html
from irqlab.results import document
from irqlab.runner.jobs import UserInterruptError
from irqlab.runner.measure import Outcome


def complain(error: BaseException) -> int:
    """Says what went wrong in one message on stderr; returns the exit code."""
    print(f"irqlab: {error}", file=sys.stderr)
    return 130 if isinstance(error, UserInterruptError) else 2


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turns errors of ours into one message and exit code 2, and Ctrl-C into 130, with no process left behind."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except IrqlabError as error:
            raise typer.Exit(complain(error)) from None
        except KeyboardInterrupt:
            machine.cancel_all()
            raise typer.Exit(complain(UserInterruptError("interrupted"))) from None

    return run


def check_outputs(*files: Path | None) -> None:
    """Raises IrqlabError for files that cannot be written, before anything is measured."""
    for file in files:
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            raise IrqlabError(f"cannot write {file}: there is no such directory, or it is one")


def check_directory(out: Path) -> None:
    """Makes a directory, before anything is measured. Raises IrqlabError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IrqlabError(f"cannot write to {out}: {error.strerror}") from error


def save(outcome: Outcome, json_file: Path | None, report_file: Path | None) -> None:
    """Writes the files that were asked for. After an interruption: what there is."""
    if not outcome.environment:
        return
    content = outcome.document()
    if json_file is not None:
        document.write(json_file, content)
    if report_file is not None:
        write_html([content], report_file)


def show(outcome: Outcome) -> None:
    """Prints the tables of what was measured."""
    console = Console()
    printers = {
        "throughput": tables.throughput_table,
        "loss": tables.loss_table,
        "latency": tables.latency_table,
        "burst": tables.burst_table,
        "recovery": tables.recovery_table,
        "iperf": peer_tables.iperf_table,
        "rrul": peer_tables.rrul_table,
    }
    for method, printer in printers.items():
        rows = [r.to_json() for r in outcome.results if r.method == method]
        if rows:
            tables.show(printer(rows), console)


def finish(outcome: Outcome, json_file: Path | None, report_file: Path | None) -> None:
    """Tables, files, and the exit code."""
    show(outcome)
    save(outcome, json_file, report_file)
    if outcome.error is not None:
        raise typer.Exit(complain(outcome.error))
