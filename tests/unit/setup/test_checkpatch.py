# SPDX-License-Identifier: GPL-2.0-or-later
"""checkpatch.pl, if `make lint` has fetched it."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab.setup import checkpatch, developing
from irqlab.setup.paths import cache_dir
from tests.own_cache import own_cache
from tests.unit.setup.on_the_host import OnTheHost

BAD = "// SPDX-License-Identifier: GPL-2.0-only\nint odd(int x)\n{\n\tif(LINUX_VERSION_CODE)\n\t\treturn 1;\n\treturn x & 1;\n}\n"


@pytest.fixture
def program() -> None:
    if not (cache_dir() / "checkpatch" / checkpatch.SERIES).is_dir():
        pytest.skip("needs checkpatch.pl (make lint)")


@pytest.mark.usefixtures("program")
def test_complaints_name_the_line_and_their_type(tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text(BAD)
    complaints = checkpatch.check([tmp_path / "bad.c"])
    assert [line.removeprefix(f"{tmp_path}/").rpartition(": ")[0] for line in complaints] == ["bad.c:4: ERROR:SPACING"]
    assert any("LINUX_VERSION_CODE" in line for line in checkpatch.check([tmp_path / "bad.c"], ignored=()))


def test_it_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "checkpatch.pl"
    program.write_text('open(my $cache, ">", ".checkpatch-camelcase.git.") or die; print "$ARGV[-1]\n"; exit 1;\n')
    monkeypatch.setattr(checkpatch, "_program", lambda: program)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    tree = developing.tree()
    monkeypatch.setattr(developing, "tree", lambda: tree)
    monkeypatch.setenv("IRQLAB_CACHE", str(own_cache(tmp_path, "checkpatch", "linted")))
    for name in ("bad.c", "worse.c"):
        (here / name).touch()
    assert checkpatch.check([Path("bad.c"), Path("worse.c")]) == [f"{here}/bad.c", f"{here}/worse.c"]
    assert [path.name for path in sorted(here.iterdir())] == ["bad.c", "worse.c"]


def test_a_file_that_has_not_changed_is_not_checked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, ran = tmp_path / "checkpatch.pl", tmp_path / "ran"
    program.write_text(f'open(my $ran, ">>", "{ran}") or die; print $ran "x"; print "$ARGV[-1]\\n"; exit 1;\n')
    monkeypatch.setattr(developing, "tree", lambda: OnTheHost(tmp_path))
    monkeypatch.setattr(checkpatch, "_program", lambda: program)
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))
    files = [tmp_path / "one.c", tmp_path / "other.c"]
    for file in files:
        file.touch()
    assert checkpatch.check(files) == checkpatch.check(files) == [str(file) for file in files]
    assert ran.read_text() == "xx"
    files[0].write_text("changed")
    assert checkpatch.check(files) == [str(file) for file in files]
    assert ran.read_text() == "xxx"
    program.write_text(program.read_text() + "# another version\n")
    checkpatch.check(files)
    assert ran.read_text() == "xxxxx"


def test_what_is_built_and_what_runs_in_user_space_is_not_checked(tmp_path: Path) -> None:
    for name in ("chip/main.c", "chip/chip.h", "chip/chip.mod.c", "chip/tests/sum.c", "chip/Kbuild"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in checkpatch.sources(tmp_path)] == ["chip.h", "main.c"]
