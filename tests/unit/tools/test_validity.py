# SPDX-License-Identifier: GPL-2.0-or-later
"""How published figures and the lab's are compared."""

from __future__ import annotations

from tools.validity import Judged, _change, _letters


def test_seventeen_interrupts_are_not_thousands() -> None:
    """Both are few of a million."""
    found = Judged("set", "interrupts")
    found.factor("60 bytes", 17, {"a": 4_441.0, "c": 25.0})
    found.factor("1440 bytes", 946_576, {"a": 2_000_164.0, "c": 500_000.0})
    assert found.summary() == ["set", "interrupts", "2", "up to 261 times off; 0 of 2", "-", "up to 2 times off; 2 of 2"]
    assert "| 60 bytes | 17 | 4,441 (261.2 times off) | - | 25 (1.5 times off) |" in found.table()


def test_a_change_is_judged_by_its_sign_and_by_its_size_if_that_is_of_the_same_thing() -> None:
    found = Judged("set", "after / before")
    _change(found, "grows", 2.0, {"a": 1.0, "c": 1.5})
    _change(found, "stays", 1.0, {"a": 1.004, "c": 1.2}, same=False)
    assert found.summary() == ["set", "after / before", "2", "50 %; 1 of 2", "-", "25 %; 1 of 2"]
    assert "| stays | 1.00 | 1.00 | - | 1.20 |" in found.table()


def test_predictions_that_were_not_made_are_left_out() -> None:
    assert _letters({"a x": 1, "a y": 1, "c x": 1}, "x", "y") == ["a"]
