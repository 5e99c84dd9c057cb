# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes all figures and pictures of README, docs and drivers from what is kept, or checks them.

    python -m tools.figures                          # writes pages and pictures
    python -m tools.figures --check                  # names each place that is not what is kept; exit code 1 if there is one
    python -m tools.figures keep NAME FILE.json ...  # keeps documents that `irqlab ... --json FILE.json` wrote; writes
    python -m tools.figures same NAME FILE.json      # whether a new document has the figures that are kept, to the last digit

How figures are marked in a page: tools.pages. What is kept is in docs/results and docs/papers. For `keep`, NAME is one of those
that are listed if it is another; each document replaces what was kept of that name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from irqlab import files
from irqlab.errors import IrqlabError
from tools import costs, debug_table, documents, gigabit, hunts, papers, processors, speed, tune, validity
from tools.pages import ROOT, Figures, write_figures, wrong

SOURCES = (documents, papers, hunts, speed, validity, costs, debug_table, processors, tune, gigabit)
"""Modules with `figures()`."""


def figures() -> list[Figures]:
    """All of them."""
    return [one for source in SOURCES for one in source.figures()]


def pictures() -> dict[Path, str]:
    """All that are drawn from what is kept."""
    return documents.pictures() | papers.pictures()


def write() -> None:
    """Writes pages and pictures. Raises IrqlabError."""
    write_figures(figures())
    papers.write()
    for path, text in pictures().items():
        files.write_atomically(path, text.encode())


def check() -> Iterator[str]:
    """What is not as it is kept."""
    yield from wrong(figures())
    for path, text in pictures().items():
        if not path.exists() or path.read_text() != text:
            yield f"{path.relative_to(ROOT)}: not drawn from what is kept"
    yield from (f"docs/papers/{name}/{name}.json: not with the claims of today" for name in papers.outdated())


def same(name: str, path: Path) -> int:
    """Compares a new document with what is kept; returns 1 if its figures differ."""
    try:
        found = documents.moved(name, path)
    except documents.OtherCircumstancesError as error:
        print(f"figures: {name}: not compared: {error}")
        return 0
    print(*found, sep="\n", end="\n" if found else "")
    if found:
        print(f"figures: if this is right: .venv/bin/python -m tools.figures keep {name} {path}", file=sys.stderr)
    return 1 if found else 0


def main(words: Sequence[str]) -> int:
    """Returns the exit code."""
    match words:
        case []:
            write()
        case ["-h" | "--help"]:
            print(__doc__)
        case ["--check"]:
            found = list(check())
            print(*found, sep="\n", end="\n" if found else "")
            if found:
                print("figures: if what is kept is right: .venv/bin/python -m tools.figures", file=sys.stderr)
            return 1 if found else 0
        case ["keep", name, *paths] if paths:
            documents.keep(name, [Path(path) for path in paths])
            write()
        case ["same", name, path]:
            return same(name, Path(path))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except IrqlabError as error:
        print(f"figures: {error}", file=sys.stderr)
        sys.exit(2)
