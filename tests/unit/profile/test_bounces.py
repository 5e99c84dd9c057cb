# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that bounce between processors: what the tester counted, by object, field and function, and in a table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from irqlab.profile import bounces

PLACES = {
    100: ("a ring", 8, "next_to_use"),
    104: ("a ring", 12, "count"),
    164: ("a ring", 72, "next_to_clean"),
    900: ("page", -1, ""),
}
FUNCTIONS = ["xmit", "clean"]


def _at(address: int) -> Any:
    name, offset, field = PLACES[address]
    return SimpleNamespace(kind="memory", object=name, offset=offset, field=field)


def _found(*rows: tuple[int, int, int, int, int]) -> dict[str, Any]:
    objects: Any = SimpleNamespace(at=_at)
    found = bounces.examine(rows, FUNCTIONS, objects, 64)
    return {"summary": {"memory": {"bounced": found}, "frames": 10}}


def test_accesses_are_added_up_by_field_and_function() -> None:
    row = _found((0, 104, 1, 100, 3), (0, 104, 1, 100, 2), (1, 900, -1, 900, 4))
    first, second = row["summary"]["memory"]["bounced"]
    names = ("object", "line", "field", "function", "written", "writer", "count")
    assert [first[name] for name in names] == ["a ring", 0, "count", "xmit", "next_to_use", "clean", 5]
    assert [second[name] for name in names] == ["page", -1, "", "clean", "", "", 4]


def test_a_line_is_told_with_its_fields_and_who_writes_it() -> None:
    row = _found((0, 104, 1, 100, 30), (0, 100, 1, 100, 10), (1, 164, 0, 164, 5))
    line, other = bounces.lines(row)
    assert (line.object, line.name, line.count) == ("a ring", "0", 40)
    assert (other.name, other.count) == ("1", 5)
    table = bounces.table(row, 1)
    assert table is not None
    assert [cell.text for cell in table.rows[0]] == ["a ring", "0", "4.00", "count, next_to_use", "xmit", "next_to_use", "clean"]
    assert table.note == "1 more lines are not shown."
    said = "4.50 lines per frame bounce between processors; most: a ring, count, 4.00 (used by xmit, written by clean)"
    assert bounces.verdict(row) == said


def test_one_processor_has_no_such_lines() -> None:
    row: Any = {"summary": {"memory": {}, "frames": 10}}
    assert (bounces.table(row, 5), bounces.verdict(row), bounces.lines(row)) == (None, None, [])
