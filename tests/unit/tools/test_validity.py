# SPDX-License-Identifier: GPL-2.0-or-later
"""How published figures and the lab's are compared."""

from __future__ import annotations

from tools.validity import Judged


def test_seventeen_interrupts_are_not_thousands() -> None:
    """Both are few of a million."""
    found = Judged("set", "interrupts")
    found.factor("60 bytes", 17, {"a": 4_441.0, "c": 25.0})
    found.factor("1440 bytes", 946_576, {"a": 2_000_164.0, "c": 500_000.0})
    assert found.summary() == ["set", "interrupts", "2", "up to 261 times off; 0 of 2", "-", "up to 2 times off; 2 of 2"]
    assert "| 60 bytes | 17 | 4,441 (261.2 times off) | - | 25 (1.5 times off) |" in found.table()
