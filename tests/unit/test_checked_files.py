# SPDX-License-Identifier: GPL-2.0-or-later
"""ruff and mypy see every Python file of the lab: one whose name does not end in .py has to be named in pyproject.toml."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def python_files() -> set[Path]:
    """All of git's files, and new ones, that are Python."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    files = [ROOT / name for name in names if name and (ROOT / name).is_file()]
    return {file for file in files if file.suffix == ".py" or (not file.suffix and is_script(file))}


def is_script(file: Path) -> bool:
    with file.open("rb") as opened:
        return re.match(rb"#!.*python", opened.readline(100)) is not None


def test_ruff_sees_them() -> None:
    command = [Path(sys.executable).with_name("ruff"), "check", "--show-files", "."]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert python_files() - {Path(name) for name in seen} == set()


def test_mypy_sees_those_that_are_not_tests() -> None:
    asked = [ROOT / name for name in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]]
    assert all(path.exists() for path in asked)
    unseen = {
        file
        for file in python_files()
        if file not in asked and not (file.suffix == ".py" and any(folder in file.parents for folder in asked))
    }
    assert {file.relative_to(ROOT).parts[0] for file in unseen} == {"tests"}
