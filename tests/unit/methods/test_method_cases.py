# SPDX-License-Identifier: GPL-2.0-or-later
"""What methods ask of DUTs that are formulas, what they make of the answers, and what is shown of that, stays what it is."""

from __future__ import annotations

import pytest

from tests.data import make_cases


@pytest.mark.parametrize("method", make_cases.CASES_OF)
def test_a_method_s_cases_are_as_recorded(method: str) -> None:
    """If the change is wanted: python -m tests.data.make_cases."""
    assert make_cases.text(method) == (make_cases.CASES / f"{method}.txt").read_text()
