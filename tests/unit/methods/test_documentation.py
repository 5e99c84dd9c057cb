# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/use/results.md says what the methods declare."""

from __future__ import annotations

from irqlab.methods import catalogue, documentation
from irqlab.methods.fields import texts_of


def test_the_page_is_that_of_todays_methods() -> None:
    page = documentation.FILE.read_text()
    assert documentation.written(page) == page, "run: python -m irqlab.methods.documentation"


def test_every_method_and_field_is_named() -> None:
    lines = {line.split("`")[1]: line for line in documentation.methods().splitlines() if line.startswith("| `")}
    assert lines.keys() == catalogue.methods().keys()
    assert "`collapse_load`" in lines["loss"]
    assert "`offered_pps`" in lines["loss"]


def test_the_schema_describes_the_fields_of_every_method() -> None:
    defined = catalogue.schema()["$defs"]
    assert defined["irqlab.methods.loss.Summary"]["properties"]["collapse_load"]["description"].startswith("The lowest load")
    for method in catalogue.methods().values():
        for kind in (method.sample, method.summary):
            found = defined.get(f"{kind.__module__}.{kind.__name__}") or defined[kind.__name__]
            for name, text in texts_of(kind).items():
                assert not text or "description" in found["properties"][name], (method.name, name)
