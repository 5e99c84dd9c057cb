# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' documents are what tools.papers writes from docs/papers: no table is older than that, and none was edited."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests import ROOT
from tools.paper_tables import TABLES as PAGES

MARKED = re.compile(r"<!-- (table .*?|claims|times) -->\n(.*?)<!-- end(?: of \w+)? -->", re.S)
LEAST = 60
"""Tables, pictures and kept files; fewer: they were not found."""


def parts(docs: Path) -> Iterator[tuple[str, str]]:
    """What is written: each table of each document, each picture, each kept file."""
    for page in sorted(docs.glob("*.md")):
        yield from ((f"{page.name}: {name}", text) for name, text in MARKED.findall(page.read_text()))
    for path in sorted([*docs.glob("images/*2008*.svg"), *docs.glob("papers/*/*.json")]):
        yield path.relative_to(docs).as_posix(), path.read_text()


def test_the_documents_are_of_what_is_kept(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    before = dict(parts(tmp_path / "docs"))
    assert len(before) >= LEAST
    for page in (*PAGES, "papers"):
        path = tmp_path / f"docs/{page}.md"
        path.write_text(MARKED.sub(lambda found: found[0].replace(found[2], ""), path.read_text()))
    for picture in tmp_path.glob("docs/images/*2008*.svg"):
        picture.unlink()
    command = [sys.executable, "-m", "tools.papers", "--page"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    after = dict(parts(tmp_path / "docs"))
    stale = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    assert stale == [], "run: python -m tools.papers --page"
