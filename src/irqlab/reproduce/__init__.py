# SPDX-License-Identifier: GPL-2.0-or-later
"""Papers measured again: `irqlab reproduce PAPER`.

A paper is a package here with a PAPER (irqlab.reproduce.paper.Paper). It measures, and yields tables in which the paper's figures
stand beside the lab's. JSON, CSV files, findings and the report are made from those tables and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from irqlab.errors import IrqlabError
from irqlab.reproduce.paper import Paper

PAPERS = ("spanos2008", "salah2009", "hybrid", "rtl8139cp", "lan78xx", "mogul1997")
"""Packages of irqlab.reproduce."""


def find(name: str) -> Paper[Any]:
    """The paper of that name. Raises IrqlabError, which names those there are."""
    if name not in PAPERS:
        raise IrqlabError(f"there is no paper {name!r}: there are {', '.join(PAPERS)}")
    found: Paper[Any] = import_module(f"irqlab.reproduce.{name}").PAPER
    return found
