# SPDX-License-Identifier: GPL-2.0-or-later
"""What reports, tables and CSV show of the sample documents stays what it is: figures, marks, labels, what is in which plot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from irqlab.methods import catalogue
from tests.data import make_views

METHODS = sorted(path.stem for path in make_views.VIEWS.glob("*.txt"))


@pytest.fixture(scope="module")
def rows() -> Iterator[Any]:
    return make_views.sample_rows()


@pytest.mark.parametrize("name", METHODS)
def test_a_method_s_view_is_as_recorded(rows, name) -> None:
    """If the change is wanted: .venv/bin/python -m tests.data.make_views."""
    shown = "\n".join(make_views.view_lines(catalogue.methods()[name], rows))
    assert shown == (make_views.VIEWS / f"{name}.txt").read_text()


def test_every_method_with_samples_is_recorded(rows) -> None:
    assert sorted({row.data["method"] for row in rows}) == METHODS
