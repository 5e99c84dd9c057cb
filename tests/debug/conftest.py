# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps the results of `make test-debug` in docs/results/debug.csv, of which tools.debug_table makes the table in docs.

A test's row replaces that of an earlier run, so a test that is repeated alone counts as it ended last.
"""

from __future__ import annotations

import csv
import io
import os
import subprocess

import pytest

from irqlab import files
from irqlab.project import project_dir

FILE = project_dir() / "docs/results/debug.csv"
FIELDS = ("case", "build", "driver", "schemes", "scripts", "result", "seconds", "load", "commit")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # With -n, the processes that run the tests report to the one that counts them; this is for the latter.
    found = dict(report.user_properties)
    if report.when != "call" or "case" not in found or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    row = {name: str(value) for name, value in found.items()}
    row |= {"result": report.outcome, "seconds": f"{report.duration:.0f}", "load": f"{os.getloadavg()[0]:.1f}"}
    keep(row | {"commit": revision()})


def keep(row: dict[str, str]) -> None:
    """Adds a row, in place of the one of the same case; sorted by case."""
    rows = []
    if FILE.exists():
        with FILE.open(newline="") as file:
            rows = [there for there in csv.DictReader(file) if there["case"] != row["case"]]
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted([*rows, row], key=lambda there: there["case"]))
    files.write_atomically(FILE, text.getvalue().encode())


def revision() -> str:
    """The commit, with a plus if there are changes that are not committed, other than those of docs."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=project_dir(), capture_output=True, text=True, check=False)

    changed = git("diff", "--quiet", "HEAD", "--", ".", ":(exclude)docs").returncode
    return git("rev-parse", "--short", "HEAD").stdout.strip() + ("+" if changed else "")
