# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab profile`: where a frame's instructions go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from irqlab import tables
from irqlab.cli.measure import Outcome, measure, save
from irqlab.cli.options import Request
from irqlab.errors import IrqlabError
from irqlab.profile import diff, method
from irqlab.profile import tables as printed
from irqlab.profile.tree import Row

LoadOption = Annotated[
    str | None,
    typer.Option("--load", help="Offered load as a multiple of the throughput, which is searched first; default: 2x."),
]
RateOption = Annotated[float | None, typer.Option("--rate", help="Offered load in frames/s in each direction, not --load.")]
DiffOption = Annotated[Path | None, typer.Option("--diff", help="Compare with the profile in this JSON file.")]
TopOption = Annotated[int, typer.Option("--top", help="How many functions to print.")]

MAX_LOAD = 100.0


def parse_load(text: str | None, rate_pps: float | None) -> float | None:
    """The multiple of the throughput; None if a rate was given. Raises IrqlabError: what was wrong, and what is allowed."""
    if rate_pps is not None:
        if text is not None:
            raise IrqlabError("--load and --rate: give one of them")
        if not 1 <= rate_pps <= 1e8:
            raise IrqlabError(f"--rate {rate_pps:g}: allowed are 1 to 100000000 frames/s")
        return None
    if text is None:
        return method.DEFAULT_LOAD
    try:
        load = float(text.strip().removesuffix("x"))
    except ValueError:
        load = -1.0
    if not 0 < load <= MAX_LOAD:
        raise IrqlabError(f"--load {text}: allowed are multiples of the throughput up to {MAX_LOAD:g}x, such as 0.5x or 2x")
    return load


def run_profile(
    request: Request, load: float | None, rate_pps: float | None, other: Path | None, top: int, json_file: Path | None,
    report_file: Path | None,
) -> Outcome:  # fmt: skip
    """Profiles every driver and size of a request; tables, files. The caller turns `Outcome.error` into an exit code."""
    if top < 1:
        raise IrqlabError(f"--top {top}: allowed are 1 and more")
    before = diff.read(other) if other is not None else []
    outcome = measure(request, lambda stand, plan: [method.run(stand, plan, load, rate_pps)], "profile")
    rows = [r.to_json() for r in outcome.results if r.complete and r.method == "profile"]
    for row in rows:
        _show(row, before, other, top)
    save(outcome, json_file, report_file)
    return outcome


def _show(row: Row, before: list[Row], other: Path | None, top: int) -> None:
    console = Console(highlight=False)
    tables.show(printed.functions_table(row, top), console)
    tables.show(printed.totals_table(row), console)
    print(printed.summary(row))
    if other is None:
        return
    old = diff.counterpart(row, before)
    if old is None:
        print(f"{other} has no profile of this frame size and direction to compare with.")
        return
    print(f"\nBefore: {printed.title(old)}")
    for table in printed.diff_tables(old, row, top):
        tables.show(table, console)
