# SPDX-License-Identifier: GPL-2.0-or-later
"""The mutation test of the tester (tools/mutants_rust.py): the tree it builds, and the code it writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import ROOT
from tools import mutants_rust as mutants


def test_its_tree_is_a_whole_workspace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(mutants, "TREE", tmp_path / "tree")
    mutants.copy_tree()
    command = [ROOT / "scripts/cargo", "metadata", "--no-deps", "--offline", "--format-version=1"]
    done = subprocess.run(command, cwd=tmp_path / "tree", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_function_switches_between_its_mutants() -> None:
    source = 'fn f(a: u32) -> &str { if a > 1 { "}" } else { "{" } }\n'
    end = source.index("\n")
    at = source.index("> 1")
    one = mutants.Mutant(7, "f: > by <", "f.rs", at, at + 1, "<", (0, end))
    text, lines = mutants.switched(source, [one], {})
    assert text == (
        "fn f(a: u32) -> &str {match crate::mutants::active(0) {\n"
        '7 => { if a < 1 { "}" } else { "{" } \n}\n'
        '_ => { if a > 1 { "}" } else { "{" } \n}\n}}\n'
    )
    assert lines == {2: one, 3: one}
