# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab doctor`."""

from __future__ import annotations

import typer
from rich.console import Console

from irqlab.setup.doctor import run_checks


def command() -> None:
    """Checks the set-up. Exit code 1: something is wrong."""
    console = Console(highlight=False, soft_wrap=True)
    checks = run_checks()
    for check in checks:
        mark = "[green]✔[/green]" if check.ok else "[red]✘[/red]"
        console.print(f"{mark} {check.name}: {check.detail}" + ("" if check.ok else f"\n  fix: {check.mend}"))
    if not all(check.ok for check in checks):
        raise typer.Exit(1)
