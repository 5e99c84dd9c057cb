# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tables say, in plain words made from the figures."""

from __future__ import annotations

from irqlab.reproduce.paper import Tables
from irqlab.reproduce.spanos2008 import throughput


def findings(tables: Tables) -> list[str]:
    """One sentence each."""
    return _order(tables)


def _order(tables: Tables) -> list[str]:
    first = tables["table1_throughput"]
    differs = throughput.order_differs(first)
    if not differs:
        return ["The order of the six variants is the paper's at every size that the wire does not cap."]
    return [f"At {size} bytes {slow} is not slower than {fast}, as it is in the paper." for size, slow, fast in differs]
