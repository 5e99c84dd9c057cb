# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of the results."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from . import conftest


def test_a_repeated_test_replaces_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "FILE", tmp_path / "build/results.csv")
    for case, result in (("a", "failed"), ("b", "passed"), ("a", "passed")):
        conftest.keep({"case": case, "result": result})
    with conftest.FILE.open(newline="") as file:
        assert [(row["case"], row["result"]) for row in csv.DictReader(file)] == [("a", "passed"), ("b", "passed")]
