# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything the paper measured, in the order in which one needs it."""

from __future__ import annotations

from irqlab.reproduce.paper import Tables
from irqlab.reproduce.session import Session
from irqlab.reproduce.spanos2008 import throughput


def measure(session: Session) -> Tables:
    """The tables by the name of their CSV file."""
    found = throughput.search(session, throughput.QUICK_SIZES if session.quick else throughput.SIZES)
    table1 = throughput.table1(found)
    return {"table1_throughput": table1, "table2_improvement": throughput.table2(table1)}
