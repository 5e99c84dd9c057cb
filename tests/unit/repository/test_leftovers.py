# SPDX-License-Identifier: GPL-2.0-or-later
"""The check that tests leave nothing behind (tests/leftovers.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

TEST = """
import tempfile
from irqlab.files import Scratch

def test_one():
    {}
"""


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize(("body", "left"), [("tempfile.mkdtemp(prefix='irqlab-x')", True), ("Scratch().close()", False)])
def test_a_run_that_leaves_a_directory_fails(tmp_path: Path, workers: str, body: str, left: bool) -> None:
    test = tmp_path / "test_one.py"
    test.write_text(TEST.format(body))
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-p", "tests.leftovers", "-p", "no:cacheprovider", str(test)]
    places = {"TMPDIR": str(tmp_path), "PYTEST_DEBUG_TEMPROOT": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | places
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if left else 0), done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert ("irqlab-x" in done.stdout) is left
    assert not list(tmp_path.glob("*irqlab-*"))
