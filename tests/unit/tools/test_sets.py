# SPDX-License-Identifier: GPL-2.0-or-later
"""Tools that measure sets of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from irqlab.errors import IrqlabError
from tools.pages import Row, read_rows
from tools.sets import Tool


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    def one() -> Iterator[Row]:
        yield made.row(set="one", what="first", pps=12345678.9)
        yield made.row(set="one", what="second", pps=None)

    def two() -> Iterator[Row]:
        yield made.row(set="two", what="third", pps=0.5)

    made = Tool("try", tmp_path / "kept.csv", ("set", "what", "pps"), {"one": one, "two": two}, tuple)
    return made


def test_a_set_replaces_its_own_rows_only(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["two"], None) == 0
    assert tool.main([], None) == 0
    assert tool.main(["one"], None) == 0
    kept = [(row["set"], row["what"], row["pps"]) for row in read_rows(tool.kept)]
    assert kept == [("one", "first", "1.23457e+07"), ("one", "second", ""), ("two", "third", "0.5")]
    assert capsys.readouterr().out.splitlines()[0] == "two third 0.5"


def test_help_list_and_what_there_is_not(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--list"], None) == tool.main(["-h"], "how") == 0
    assert capsys.readouterr().out.split() == ["one", "two", "how"]
    with pytest.raises(IrqlabError, match="try: three: allowed are one, two"):
        tool.main(["three"], None)
    assert not tool.kept.exists()
