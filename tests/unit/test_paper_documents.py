# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' documents are what the scripts write from docs/papers: no table is older than what is kept, and none was edited."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARKED = re.compile(r"<!-- (table .*?|claims|times) -->\n(.*?)<!-- end(?: of \w+)? -->", re.S)
LEAST = 60
"""Tables, pictures and kept files; fewer: they were not found."""


def parts(docs: Path) -> Iterator[tuple[str, str]]:
    """What the scripts write: each table of each document, each picture, each kept file."""
    for page in sorted(docs.glob("*.md")):
        yield from ((f"{page.name}: {name}", text) for name, text in MARKED.findall(page.read_text()))
    for path in sorted([*docs.glob("images/*2008*.svg"), *docs.glob("papers/*/*.json")]):
        yield path.relative_to(docs).as_posix(), path.read_text()


def test_the_documents_are_of_what_is_kept(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    before = dict(parts(tmp_path / "docs"))
    assert len(before) >= LEAST
    done = subprocess.run([tmp_path / "scripts/papers", "--page"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    after = dict(parts(tmp_path / "docs"))
    stale = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    assert stale == [], "run: scripts/papers --page"
