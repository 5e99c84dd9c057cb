# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a comparison: its answer first, then the figures and functions that changed, then what each side did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irqlab import files
from irqlab.present.parts import Group, Notice, Page, Section
from irqlab.present.tables import Table
from irqlab.report import render, view

Json = dict[str, Any]


def write_html(
    documents: Sequence[Json], names: tuple[str, str], answer: str, failed: bool, tables: Sequence[Table], path: Path
) -> None:
    """Writes the report to `path` atomically. Raises IrqlabError."""
    files.write_atomically(path, render(page(documents, names, answer, failed, tables)).encode())


def page(documents: Sequence[Json], names: tuple[str, str], answer: str, failed: bool, tables: Sequence[Table]) -> Page:
    """The page. `documents`: of the first side and of the second, or one of both; `tables`: the figures first."""
    whole = view.build(list(_named(documents, names)))
    functions = Section("changes", "What changed", "Changes", "", [Group(tables=list(tables[1:]))])
    return replace(
        whole,
        title=f"irqlab compare: {names[0]}, {names[1]}",
        lead="Both sides were offered the same loads; the members of each differ only in what should not matter.",
        answer=[],
        notices=[Notice("bad" if failed else "good", answer), *whole.notices],
        verdicts=[],
        picture=None,
        summary=tables[0],
        sections=[*([functions] if tables[1:] else []), *whole.sections],
    )


def _named(documents: Sequence[Json], names: tuple[str, str]) -> Iterator[Json]:
    """The documents with the sides' names in place of their drivers', which may be the same."""
    for number, document in enumerate(documents):
        rows = document["measured"]["results"]
        half = len(rows) // 2 if len(documents) == 1 else 0 if number else len(rows)
        of = [
            {**row, "driver": names[n >= half], "rx_scheme": None, "tx_scheme": None, "variant": None}
            for n, row in enumerate(rows)
        ]
        yield {**document, "measured": {**document["measured"], "results": of}}
