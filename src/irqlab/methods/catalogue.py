# SPDX-License-Identifier: GPL-2.0-or-later
"""Discovers all methods in the package, and reads the documents that hold their results."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from irqlab import methods as package
from irqlab.methods.fields import texts_of
from irqlab.methods.method import Method
from irqlab.present.variants import Row, rows_of
from irqlab.results import ensemble
from irqlab.results.document import Documents, row_type


@cache
def methods() -> dict[str, Method]:
    """Every method by its name: the `METHOD` of each module of the package, in order of `place`."""
    modules = [importlib.import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__)]
    found: list[Method] = [module.METHOD for module in modules if hasattr(module, "METHOD")]
    return {method.name: method for method in sorted(found, key=lambda method: (method.place, method.name))}


@cache
def documents() -> Documents:
    """The document type for results of these methods."""
    return Documents(tuple(row_type(method.name, method.sample, method.summary) for method in methods().values()))


def schema() -> dict[str, Any]:
    """The JSON Schema of result documents, with the meaning of each method's fields."""
    found = documents().schema()
    for kind in {kind for method in methods().values() for kind in (method.sample, method.summary)}:
        defined = found["$defs"].get(f"{kind.__module__}.{kind.__name__}", found["$defs"].get(kind.__name__, {}))
        for name, text in texts_of(kind).items():
            if text and name in defined.get("properties", {}):
                defined["properties"][name].setdefault("description", text)
    return found


def read(path: Path) -> dict[str, Any]:
    """Reads and validates a document. Raises IrqlabError that names the invalid field."""
    return documents().read(path)


def rows(contents: Sequence[dict[str, Any]]) -> list[Row]:
    """The typed rows of documents, in order, one per ensemble. Raises IrqlabError if one is not a result document."""
    typed = [documents().convert(content).measured.results for content in contents]
    collapsed = [ensemble.collapse(content) for content in contents]
    if not any(any(members) for _, members in collapsed):
        return rows_of(contents, typed)
    result_of = {
        id(data): result
        for content, results in zip(contents, typed, strict=True)
        for data, result in zip(content["measured"]["results"], results, strict=True)
    }
    shown = [content for content, _ in collapsed]
    found = rows_of(shown, [documents().convert(content).measured.results for content in shown])
    members_of = {
        id(data): members
        for content, all_members in collapsed
        for data, members in zip(content["measured"]["results"], all_members, strict=False)
    }

    def members(row: Row) -> tuple[Row, ...]:
        return tuple(replace(row, data=data, result=result_of[id(data)]) for data in members_of.get(id(row.data), []))

    return [replace(row, members=members(row)) for row in found]


def answers(found: Sequence[Row]) -> list[str]:
    """What rows say, and how sure that is: sentences for the end of the terminal output and the beginning of the report."""
    mine = [(methods()[name], own) for name, own in rows_by_method(found, complete=True).items()]
    said = [(method, own, verdicts) for method, own in mine if (verdicts := method.verdicts(own))]
    sure = dict.fromkeys(text for method, own, _ in said if (text := method.sure(own)))
    whole = [text for text in sure if not any(other != text and other.endswith(text) for other in sure)]
    return [text for _, _, verdicts in said for text in verdicts] + whole


def rows_by_method(found: Sequence[Row], complete: bool = False) -> dict[str, list[Row]]:
    """Rows grouped by method name, in the order of the methods. `complete`: leave out interrupted ones."""
    kept = [row for row in found if row.data["complete"] or not complete]
    return {name: mine for name in methods() if (mine := [row for row in kept if row.data["method"] == name])}
