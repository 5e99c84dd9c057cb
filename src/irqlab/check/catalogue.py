# SPDX-License-Identifier: GPL-2.0-or-later
"""Discovers all rows of the checklist."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from irqlab.check import rows as package
from irqlab.check.row import Row
from irqlab.errors import IrqlabError

GROUPS = (
    "Life",
    "Frames",
    "Numbers",
    "A full transmit ring",
    "Races",
    "Failures",
    "Settings",
    "Overload",
    "Polling by others",
    "Power",
    "The kernel's selftests",
    "Deep",
)
"""In the order of the checklist."""


@cache
def rows() -> tuple[Row, ...]:
    """Every row: the `ROWS` of each module of the package, by group, in the order of their declaration."""
    names = sorted(found.name for found in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found: list[Row] = [row for module in modules for row in module.ROWS]
    return tuple(sorted(found, key=lambda row: GROUPS.index(row.group)))


def chosen(only: Sequence[str], deep: bool) -> list[Row]:
    """The rows that are asked for: by name or by the beginning of one (`frames`); all, if none is named. Raises IrqlabError."""
    known = rows()
    for name in only:
        if not any(_means(name, row) for row in known):
            groups = dict.fromkeys(row.name.partition("-")[0] for row in known)
            raise IrqlabError(f"--only {name}: allowed are {', '.join(groups)}, and names of rows (irqlab list checks)")
    if only:
        return [row for row in known if any(_means(name, row) for name in only)]
    return [row for row in known if deep or not row.deep]


def _means(name: str, row: Row) -> bool:
    exact = any(one.name == name for one in rows())
    return row.name == name if exact else row.name.startswith(name)
