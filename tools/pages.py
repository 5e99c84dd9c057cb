# SPDX-License-Identifier: GPL-2.0-or-later
"""What the writers of docs share: figures that are kept as CSV, and tables between the marks of a page."""

from __future__ import annotations

import csv
import io
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from irqlab import files
from irqlab.errors import IrqlabError

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
Row = dict[str, str]


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV file; none if there is no file. What a line lacks is empty."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file, restval=""))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Replaces a CSV file. Raises IrqlabError."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_atomically(path, text.getvalue().encode())


def write(page: Path, text: str) -> None:
    """Replaces a page. Raises IrqlabError."""
    files.write_atomically(page, text.encode())


def between(page: str, name: str, text: str, end: str = "end") -> str:
    """A page with what is between <!-- NAME --> and the next <!-- END --> replaced. Raises IrqlabError if it lacks a mark."""
    head, begun, rest = page.partition(f"<!-- {name} -->\n")
    _, ended, tail = rest.partition(f"<!-- {end} -->")
    if not begun or not ended:
        raise IrqlabError(f"the page lacks <!-- {name} --> or its <!-- {end} -->")
    return f"{head}{begun}{text}{ended}{tail}"


def git(*words: str) -> str:
    """What git prints; nothing if it fails."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
