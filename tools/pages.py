# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures in README, docs and drivers: what was measured is kept in docs, and text between markers is made from it.

A marker names the figures and the command that measured them, and renders as nothing:

    <!-- figures NAME: COMMAND -->
    a table, a block of code, or words within a line
    <!-- end -->
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irqlab import files
from irqlab.errors import IrqlabError

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
RESULTS = DOCS / "results"
MARKED = re.compile(r"<!-- figures (?P<name>[^:\n]+):[^\n]*?-->(?P<text>.*?)<!-- end -->", re.DOTALL)
Row = dict[str, str]


@dataclass(frozen=True)
class Figures:
    """What stands between the markers of a name."""

    name: str
    command: str
    """That measured them."""
    text: str
    """Lines, which get lines of their own if the last one ends with a newline; else it stands within a line."""

    @property
    def marked(self) -> str:
        """With its markers."""
        begin = "\n" if self.text.endswith("\n") else ""
        return f"<!-- figures {self.name}: {self.command} -->{begin}{self.text}<!-- end -->"


def pages(root: Path = ROOT) -> list[Path]:
    """All that may have figures."""
    return [root / "README.md", *sorted(path for folder in ("docs", "drivers") for path in (root / folder).rglob("*.md"))]


def write_figures(every: Iterable[Figures], root: Path = ROOT) -> None:
    """Writes these figures into all pages that have their markers. Raises IrqlabError."""
    found = {one.name: one for one in every}
    for page in pages(root):
        text = page.read_text()
        new = MARKED.sub(lambda mark: found[mark["name"]].marked if mark["name"] in found else mark[0], text)
        if new != text:
            write(page, new)


def wrong(every: Iterable[Figures], root: Path = ROOT) -> Iterator[str]:
    """Each place in a page that is not what is kept: file, line, and both; and figures of which nothing is kept."""
    found = {one.name: one for one in every}
    used = set()
    for page in pages(root):
        text = page.read_text()
        for mark in MARKED.finditer(text):
            where, line = page.relative_to(root), text.count("\n", 0, mark.start()) + 1
            used.add(mark["name"])
            one = found.get(mark["name"])
            if one is None:
                yield f"{where}:{line}: no figures {mark['name']} are kept"
            elif not one.text.endswith("\n") and text[: mark.start()].endswith("\n"):
                yield f"{where}:{line}: a line that begins with a comment is not Markdown: begin it with a word"
            elif mark[0] != one.marked:
                yield f"{where}:{_difference(line, mark[0], one)}"
    yield from (f"figures {name} are on no page" for name in found.keys() - used)


def _difference(line: int, text: str, kept: Figures) -> str:
    """The first line that differs, and what it should be."""
    there, right = text.splitlines(), kept.marked.splitlines()
    pairs = list(zip(there, right, strict=False))
    number = next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))
    a, b = ((lines[number] if number < len(lines) else "nothing") for lines in (there, right))
    return f"{line + number}: of `{kept.command}`, {kept.name}:\n  in the text: {a}\n  as measured: {b}"


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


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """In Markdown. The first `texts` columns are text, the others numbers. Raises IrqlabError if a row has other columns."""
    lines = [columns, ["---"] * texts + ["---:"] * (len(columns) - texts), *rows]
    if any(len(line) != len(columns) for line in lines):
        raise IrqlabError(f"a row of a table has not the columns {', '.join(columns)}")
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def git(*words: str) -> str:
    """What git prints; nothing if it fails."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
