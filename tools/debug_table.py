# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of docs/inside/debug-kernels.md: what `make test-debug` found (docs/results/debug.csv)."""

from __future__ import annotations

from collections.abc import Iterator

from tools.pages import RESULTS, Figures, Row, read_rows, table

FOUND = RESULTS / "debug.csv"


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


def figures() -> Iterator[Figures]:
    """A line for each driver; below them the tests that failed, if any."""
    rows = read_rows(FOUND)
    builds = names(rows, "build")
    lines = [
        (f"`{driver}`", *(cell([row for row in rows if (row["driver"], row["build"]) == (driver, build)]) for build in builds))
        for driver in names(rows, "driver")
    ]
    text = table(("", *(f"`{build}`" for build in builds)), lines, len(builds) + 1)
    if failed := [row["case"] for row in rows if row["result"] == "failed"]:
        text += "".join(["\nFailed:\n\n", *(f"- `{case}`\n" for case in failed)])
    yield Figures("debug kernels", "make test-debug", text)
