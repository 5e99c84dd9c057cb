# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reader of the repository relies on: a name tells what is in a file, no file is empty, a class has its own name."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests import ROOT

MAY_BE_EMPTY = {"__init__.py", "py.typed"}
LICENSED = re.compile(r"\.(c|h|py|rs|sh|toml|html|j2)$|(^|/)(Makefile|Kbuild)$|^(scripts|\.ci)/")
LICENCE = b"SPDX-License-Identifier: GPL-2.0"
MOST_SCRIPTS = 10
SHARED = {"config", "present", "results"}
"""Packages whose values are used in the whole lab."""
GIVEN_AND_STATED = {
    "Dma", "Dut", "Interrupt", "Kernel", "Memory", "Module", "Nic", "Processor", "RegisterRead", "StoreBuffer", "Tlb",
    "Translation",
}  # fmt: skip
"""In results as a document states it, elsewhere as it is used."""
BESIDE = {"drivers", "repository"}
"""Folders of tests/unit for what is not Python of ours."""
OTHERS = {
    "Cache": "of the modelled processor; the kernel's of slabs",
    "Cell": "of a table; of a grid; what a board was measured with",
    "Line": "of a plot; of a method's table; of a source",
    "Member": "of an ensemble; of a C structure",
    "Place": "where a setting of a scheme is written; of a finding; in an object",
    "Row": "of a document; of a calibration",
}


@cache
def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def test_python_is_named_so_that_its_checks_find_it() -> None:
    others = [path for path in tracked() if path.suffix != ".py" and not path.is_symlink()]
    assert names([path for path in others if re.match(rb"#!.*python", path.read_bytes())]) == []


def test_no_file_is_empty() -> None:
    assert names([path for path in tracked() if path.stat().st_size == 0 and path.name not in MAY_BE_EMPTY]) == []


def test_each_source_names_its_licence() -> None:
    sources = [path for path in tracked() if LICENSED.search(path.relative_to(ROOT).as_posix())]
    assert len(sources) > 100
    assert names([path for path in sources if path.stat().st_size and LICENCE not in path.read_bytes()]) == []


def test_scripts_are_few() -> None:
    scripts = [name for name in names(tracked()) if name.startswith("scripts/")]
    assert 0 < len(scripts) <= MOST_SCRIPTS, scripts


def test_a_class_has_a_name_of_its_own() -> None:
    """One of the shared packages is not used again in another package; a paper's words are its own."""
    packages = defaultdict(set)
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("src/irqlab/") and path.suffix == ".py" and "/reproduce/" not in name:
            classes = [one.name for one in ast.parse(path.read_text()).body if isinstance(one, ast.ClassDef)]
            for one in classes:
                packages[one].add(name.split("/")[2])
    twice = {name for name, found in packages.items() if len(found) > 1 and found & SHARED}
    allowed = GIVEN_AND_STATED | OTHERS.keys()
    assert twice - allowed == set(), "another name, or a reason in this file"
    assert allowed - twice == set(), "no longer there twice"


def test_a_unit_test_is_where_its_module_is() -> None:
    """tests/unit/PACKAGE/test_NAME.py: NAME is a module of the package or the package, or begins with one of these and _."""
    unit = ROOT / "tests/unit"
    tests = [path for path in tracked() if path.is_relative_to(unit) and path.name.startswith("test_")]
    assert len(tests) > 100
    lost = []
    for path in tests:
        folder = path.parent.relative_to(unit)
        if folder.parts[:1] and folder.parts[0] in BESIDE:
            continue
        home = ROOT / "tools" if folder.parts[:1] == ("tools",) else ROOT / "src/irqlab" / folder
        there = {one.stem for one in home.glob("*") if one.suffix == ".py" or (one / "__init__.py").is_file()} | {home.name}
        if not any(path.stem == f"test_{name}" or path.stem.startswith(f"test_{name}_") for name in there):
            lost.append(path)
    assert names(lost) == []
