# SPDX-License-Identifier: GPL-2.0-or-later
"""Tools that measure sets of rows, one CSV for all of them: `python -m tools.NAME [SET...]`, or --list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irqlab.errors import IrqlabError
from tools.pages import Figures, Row, read_rows, write_figures, write_rows


@dataclass(frozen=True)
class Tool:
    """What such a tool has. The column "set" of its rows names their set, "what" the row."""

    name: str
    kept: Path
    """The CSV."""
    columns: Sequence[str]
    sets: Mapping[str, Callable[[], Iterator[Row]]]
    """By name, in the order of the CSV."""
    figures: Callable[[], Iterable[Figures]]
    shown: str = "pps"
    """The column that tells progress."""

    def rows(self) -> dict[str, list[Row]]:
        """The rows that are kept, by set."""
        found = read_rows(self.kept) if self.kept.is_file() else []
        return {name: [row for row in found if row["set"] == name] for name in self.sets}

    def row(self, **values: str | float | None) -> Row:
        """A row; numbers with six digits, what is missing or None empty."""
        text = {name: f"{value:.6g}" if isinstance(value, int | float) else value or "" for name, value in values.items()}
        return {name: text.get(name, "") for name in self.columns}

    def main(self, asked: Sequence[str], text: str | None) -> int:
        """Measures the sets that were asked for, or all, and writes the figures; `text` is the help. Returns the exit code.

        Raises IrqlabError for a set that there is not.
        """
        if list(asked) in (["-h"], ["--help"]):
            print(text)
            return 0
        if list(asked) == ["--list"]:
            print(*self.sets, sep="\n")
            return 0
        if unknown := [name for name in asked if name not in self.sets]:
            raise IrqlabError(f"{self.name}: {unknown[0]}: allowed are {', '.join(self.sets)}")
        for name in asked or self.sets:
            rows = []
            for row in self.sets[name]():
                print(name, row["what"], row[self.shown], flush=True)
                rows.append(row)
            kept = self.rows() | {name: rows}
            write_rows(self.kept, self.columns, [row for found in kept.values() for row in found])
        write_figures(self.figures())
        return 0
