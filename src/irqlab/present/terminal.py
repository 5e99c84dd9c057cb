# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables on a terminal."""

from __future__ import annotations

import re

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from irqlab import units
from irqlab.present import tables

PLAIN_WIDTH = 250
"""Maximum table width if the output is not a terminal."""
PROSE_WIDTH, LEAST_PROSE = 120, 24
"""Width of a table with sentences if the output is not a terminal, and of a column of them."""


def show(table: Table, console: Console | None = None) -> None:
    """Prints a table without truncating values: files get the full width, and a terminal wraps long lines."""
    console = console or Console(highlight=False)
    usual = console.width
    whole = Measurement.get(console, console.options.update(width=PLAIN_WIDTH), table).maximum
    prose = [column for column in table.columns[1:] if not column.no_wrap]
    foldable = sum(_longest(column) - (column.min_width or 0) for column in (table.columns[0], *prose))
    needed = whole - foldable if console.is_terminal else PROSE_WIDTH if prose else PLAIN_WIDTH
    try:
        console.width = max(usual, needed) if console.is_terminal or not prose else needed
        with console.capture() as printed:
            console.print(table)
        console.file.write(re.sub(r" +$", "", printed.get(), flags=re.MULTILINE))
    finally:
        console.width = usual


def _longest(column: Column) -> int:
    return max((len(str(cell)) for cell in column.cells), default=0)


_STYLES = {"good": "green", "warn": "yellow", "bad": "bold red", "strong": "bold"}


def rich_table(table: tables.Table) -> Table:
    """A table for a terminal."""
    made = Table(
        title=Text(units.plain(table.caption)) if table.caption else None, title_justify="left", title_style="bold",
        caption=Text(units.plain(table.note)) if table.note else None, caption_justify="left",
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold",
    )  # fmt: skip
    longest = max((len(word) for row in table.rows for word in row[0].text.split()), default=6)
    for number, column in enumerate(table.columns):
        names = number == 0 and not column.number
        made.add_column(
            Text("\n".join(text for text in (column.text, column.unit) if text)), justify="right" if column.number else "left",
            no_wrap=not (names or column.prose), overflow="fold",
            min_width=longest if names else LEAST_PROSE if column.prose else None,
        )  # fmt: skip
    for number, row in enumerate(table.rows):
        made.add_row(*(_cell(cell) for cell in row))
        if number in table.breaks:
            made.add_section()
    return made


def _cell(cell: tables.Cell) -> Text:
    """Text of a cell, without markup or control characters, since names come from files."""
    text, spread = ("".join(c if c.isprintable() else "?" for c in units.plain(part)) for part in (cell.text, cell.range))
    made = Text(text, style=_STYLES.get(cell.mark, ""))
    return made.append(f"\n{spread}", style="dim") if spread else made
