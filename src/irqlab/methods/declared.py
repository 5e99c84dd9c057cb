# SPDX-License-Identifier: GPL-2.0-or-later
"""What methods' declarations say in words, read from their source: the list of commands imports no method."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Declared:
    """A method that has a command."""

    name: str
    place: int
    help: str
    panel: str
    """Where the list of commands has it."""


def declared() -> list[Declared]:
    """The methods with a command, in the order of `place` (irqlab.methods.method.Method)."""
    found = [one for file in Path(__file__).parent.glob("*.py") for one in _of(file.read_text())]
    return sorted(found, key=lambda one: (one.place, one.name))


def _of(text: str) -> Iterator[Declared]:
    _, begins, declaration = text.partition("\nMETHOD = ")
    if begins:
        call = ast.parse(declaration.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        given = {one.arg: one.value.value for one in call.keywords if isinstance(one.value, ast.Constant)}
        if "run" not in given:  # None: no command
            yield Declared(str(given["name"]), int(str(given["place"])), str(given["help"]), str(given.get("panel", "")))
