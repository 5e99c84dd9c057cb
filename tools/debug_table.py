# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes what `make test-debug` found (docs/results/debug.csv) into docs/use/kernels.md: a table, and the tests that failed."""

from __future__ import annotations

import sys
import textwrap

from irqlab.errors import IrqlabError
from tools.pages import DOCS, Row, between, read_rows, write

FOUND, PAGE = DOCS / "results/debug.csv", DOCS / "inside/debug-kernels.md"


def cell(rows: list[Row]) -> str:
    """How many passed, of how many, in how long; or why none ran."""
    ran = [row for row in rows if row["result"] != "skipped"]
    if not ran:
        return "not run" if rows else ""
    passed = sum(row["result"] == "passed" for row in ran)
    return f"{passed} of {len(ran)}, {sum(float(row['seconds']) for row in ran) / 60:.0f} min"


def names(rows: list[Row], column: str) -> list[str]:
    """A column's values, each once, in the order in which they come first."""
    return list(dict.fromkeys(row[column] for row in rows))


def text(rows: list[Row]) -> str:
    """The section, in Markdown."""
    loads = [float(row["load"]) for row in rows]
    builds = names(rows, "build")
    what = f"{len(rows)} tests, of the commits {', '.join(names(rows, 'commit'))}."
    out = [
        *textwrap.wrap(f"{what} The load average was {min(loads):.0f} to {max(loads):.0f}. Passed, of those that ran:", 100),
        "",
        f"| | {' | '.join(f'`{build}`' for build in builds)} |",
        "|---" * (len(builds) + 1) + "|",
    ]
    for driver in names(rows, "driver"):
        cells = [cell([row for row in rows if (row["driver"], row["build"]) == (driver, build)]) for build in builds]
        out.append(f"| `{driver}` | {' | '.join(cells)} |")
    if failed := [row["case"] for row in rows if row["result"] == "failed"]:
        out += ["", "Failed:", "", *(f"- `{case}`" for case in failed)]
    return "\n".join(out) + "\n"


def main() -> None:
    """Writes the page. Raises IrqlabError."""
    rows = read_rows(FOUND)
    if not rows:
        raise IrqlabError(f"there are no results in {FOUND}: run make test-debug")
    write(PAGE, between(PAGE.read_text(), "results", text(rows)))


if __name__ == "__main__":
    try:
        main()
    except IrqlabError as error:
        print(f"debug_table: {error}", file=sys.stderr)
        sys.exit(2)
