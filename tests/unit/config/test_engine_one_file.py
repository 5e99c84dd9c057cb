# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheme is one file, and a line in each of three tables: they have the schemes that are there, and nothing else names them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irqlab.config import engine
from irqlab.setup import drivers

TABLES = {
    "scheme.h": r"\birqmod_(rx|tx)_(?!scheme,)(\w+)[,;]",
    "schemes.c": r"&irqmod_(rx|tx)_(\w+)\.base,",
    "Kbuild": r"\b(rx|tx)_(\w+)\.o\b",
}
"""Where schemes are listed, in drivers/irqmod, and how."""
DIRECTIONS = ("rx", "tx")


def _files(folder: Path) -> set[tuple[str, str]]:
    return {(path.name[:2], path.stem[3:]) for direction in DIRECTIONS for path in folder.glob(f"{direction}_*.c")}


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_have_the_schemes_that_are_there(table: str) -> None:
    home = drivers.home() / "irqmod"
    listed = re.findall(TABLES[table], (home / table).read_text())
    assert len(listed) == len(set(listed))
    assert set(listed) == _files(home) | _files(home / engine.INSTRUMENTS)


def test_the_lab_has_the_schemes_that_are_there() -> None:
    home = drivers.home() / "irqmod"
    known = {(direction, one.name) for direction in DIRECTIONS for one in engine.all_schemes(direction)}
    assert known == _files(home) | _files(home / engine.INSTRUMENTS)


def test_a_build_for_users_has_no_instruments() -> None:
    """In schemes.c they are listed between #ifdef IRQMOD_INSTRUMENTS and #endif."""
    home = drivers.home() / "irqmod"
    lab = re.findall(r"#ifdef IRQMOD_INSTRUMENTS\n(.*?)#endif", (home / "schemes.c").read_text(), re.DOTALL)
    assert set(re.findall(TABLES["schemes.c"], "".join(lab))) == _files(home / engine.INSTRUMENTS)


def test_no_other_file_names_what_is_in_a_schemes_file() -> None:
    """Its functions, its declaration, the file: not even in a comment. napi.h and de.h are parts of a scheme, for others."""
    home = drivers.home()
    texts = {path: path.read_text() for path in home.rglob("*.[ch]") if "tests" not in path.parts and path.name not in TABLES}
    found = []
    for direction in DIRECTIONS:
        for scheme in engine.all_schemes(direction):
            own = f"{direction}_{scheme.name}"
            named = re.compile(rf"\birqmod_{own}\b|\b{own}\.c\b|\b{own}_\w+\(")
            others = ((path, text) for path, text in texts.items() if path.stem not in (own, scheme.name))
            found += [f"{path.relative_to(home)}: {word}" for path, text in others for word in named.findall(text)]
    assert found == []
