# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' documents are what the scripts write from docs/papers: no table is older than what is kept, and none was edited."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TABLE = re.compile(r"<!-- (table .*?|claims|times) -->\n(.*?)<!-- end(?: of \w+)? -->", re.S)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the documents, as the scripts write them."""
    home = tmp_path_factory.mktemp("documents")
    shutil.copytree(ROOT / "scripts", home / "scripts")
    shutil.copytree(DOCS / "papers", home / "docs/papers")
    (home / "docs/images").mkdir()
    for page in DOCS.glob("*.md"):
        shutil.copy(page, home / "docs")
    (home / ".venv").symlink_to(sys.prefix)
    done = subprocess.run([home / "scripts/papers", "--page"], cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "docs"


def test_every_table_and_picture_is_of_what_is_kept(written: Path) -> None:
    stale = []
    for page in sorted(written.glob("*.md")):
        today = dict(TABLE.findall(page.read_text()))
        stale += [f"{page.name}: {name}" for name, text in TABLE.findall((DOCS / page.name).read_text()) if today[name] != text]
    stale += [one.name for one in sorted((written / "images").iterdir()) if one.read_text() != (DOCS / "images" / one.name).read_text()]
    stale += [
        f"papers/{one.name}" for one in written.glob("papers/*/*.json") if one.read_text() != (DOCS / one.relative_to(written)).read_text()
    ]
    assert stale == [], "run: scripts/papers --page"


def test_a_table_that_was_edited_is_noticed(written: Path) -> None:
    found = TABLE.findall((written / "spanos2008.md").read_text())
    assert {"table claims", "table table 1"} <= {name for name, _ in found}
    assert all(text.strip() for _, text in found if _ == "table table 1")
