# SPDX-License-Identifier: GPL-2.0-or-later
"""A reproduction measures what is recorded, and makes the recorded tables of made-up answers."""

from __future__ import annotations

import pytest

from tests.unit import paper_plans


@pytest.mark.parametrize(("paper", "quick"), paper_plans.NAMES)
def test_a_reproduction_is_as_recorded(paper: str, quick: bool) -> None:
    """If the change is wanted: python -m tests.unit.paper_plans."""
    assert paper_plans.PAPERS[paper](quick) == paper_plans.path_of(paper, quick).read_text()
