# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/use/results.md says what the methods declare."""

from __future__ import annotations

from irqlab.methods import catalogue, documentation


def test_the_page_is_that_of_todays_methods() -> None:
    page = documentation.FILE.read_text()
    assert documentation.written(page) == page, "run: python -m irqlab.methods.documentation"


def test_every_method_and_field_is_described() -> None:
    text = documentation.methods()
    for method in catalogue.methods().values():
        assert f"### `{method.name}`" in text
    assert "`collapse_load`: the lowest load" in text
    assert "null" in text
    assert "None" not in text
