# SPDX-License-Identifier: GPL-2.0-or-later
"""A reproduction measures what is recorded, and makes the recorded tables of made-up answers."""

from __future__ import annotations

import pytest

from tests.unit import paper_plans


@pytest.mark.parametrize(("paper", "quick"), paper_plans.NAMES)
def test_a_reproduction_is_as_recorded(paper: str, quick: bool) -> None:
    """What changed: `python -m tests.unit.paper_plans DIRECTORY` here and at the commit before. If it is wanted: without one."""
    name = paper_plans.name_of(paper, quick)
    known = [line for line in paper_plans.PLANS.read_text().splitlines() if line.startswith(f"{name},")]
    assert paper_plans.recorded(paper, quick) == known


def test_a_plan_is_recorded_part_by_part() -> None:
    text = "jobs | 1 | a\njobs | 2 | b\ntable t: Title\n  row\nother | 3 | c\n"
    assert paper_plans.parts(text) == {
        "jobs": ["jobs | 1 | a", "jobs | 2 | b"],
        "table t": ["table t: Title", "  row"],
        "other": ["other | 3 | c"],
    }
