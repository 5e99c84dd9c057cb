# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheme is one file: without it the drivers build, and one more is found by the build and by the lab."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from irqlab.config import engine
from irqlab.setup import drivers, kernel

GONE = {"rx": "dim", "tx": "poll"}
LIKE, NEW = "interrupt", "third"
CHIPS = ("irqmod_i8255x", "irqmod_rtl8139cp", "irqmod_lan78xx", "irqmod_loop")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The drivers' sources with two schemes less and one more; the lab reads them."""
    root = tmp_path / "drivers"
    shutil.copytree(drivers.home(), root, ignore=shutil.ignore_patterns("tests", "*.o", "*.ko", "*.mod*", ".*"))
    home = root / "irqmod"
    for direction, name in GONE.items():
        (home / f"{direction}_{name}.c").unlink()
    text = (home / f"rx_{LIKE}.c").read_text()
    for old, new in ((f"rx_{LIKE}", f"rx_{NEW}"), (f"SCHEME({LIKE})", f"SCHEME({NEW})"), (f'"{LIKE}"', f'"{NEW}"')):
        assert old in text
        text = text.replace(old, new)
    (home / f"rx_{NEW}.c").write_text(text)
    monkeypatch.setattr(engine, "SOURCES", home)
    engine.all_schemes.cache_clear()
    yield root
    engine.all_schemes.cache_clear()


@pytest.mark.long
def test_the_drivers_are_built_with_the_schemes_that_are_there(tree: Path) -> None:
    target = kernel.present()
    if target is None:
        pytest.skip("needs the DUT's kernel (make setup)")
    built = drivers.build(target, *CHIPS, root=tree)
    assert {path.stem for path in built.rglob("*.ko")} == {"irqmod", *CHIPS}
    symbols = set(re.findall(rb"\0irqmod_([rt]x_[a-z]+)(?=\0)", (built / "irqmod/irqmod.ko").read_bytes()))
    files = {path.stem for path in (tree / "irqmod").rglob("[rt]x_*.c")}
    assert {name.decode() for name in symbols} >= files
    assert not {f"{direction}_{name}".encode() for direction, name in GONE.items()} & symbols


def test_the_lab_has_the_schemes_that_are_there(tree: Path) -> None:
    names = {direction: {one.name for one in engine.schemes(direction, engine.MASK)} for direction in GONE}
    assert {NEW, LIKE} <= names["rx"]
    assert not any(name in names[direction] for direction, name in GONE.items())


def test_no_other_file_names_what_is_in_a_schemes_file() -> None:
    """Its functions, its declaration, the file: not even in a comment. napi.h and de.h are parts of a scheme, for others."""
    home = drivers.home()
    every = {path: path.read_text() for path in home.rglob("*.[ch]") if "tests" not in path.parts}
    found = []
    for direction in GONE:
        for scheme in engine.all_schemes(direction):
            own = f"{direction}_{scheme.name}"
            named = re.compile(rf"\birqmod_{own}\b|\b{own}\.c\b|\b{own}_\w+\(")
            texts = ((path, text) for path, text in every.items() if path.stem not in (own, scheme.name))
            found += [f"{path.relative_to(home)}: {word}" for path, text in texts for word in named.findall(text)]
    assert found == []
