# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python API's example notebook runs, cell by cell, and shows the output that it describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs/use/notebook.ipynb"


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)
    assert (tmp_path / "period.svg").stat().st_size > 1000
    periods, instructions, p50, p99, polls = zip(*names["rows"], strict=True)
    assert list(p99) == sorted(p99), "latency grows with the period"
    assert p50[-1] == pytest.approx(periods[-1] / 2, rel=0.3)
    assert list(instructions) == sorted(instructions, reverse=True), "and fewer polls cost less"
    assert list(polls) == sorted(polls, reverse=True)
