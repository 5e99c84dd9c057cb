# SPDX-License-Identifier: GPL-2.0-or-later
"""What the claims share: the paper's figures, the rows of the paper's driver, and when two figures count as equal."""

from __future__ import annotations

from irqlab.reproduce import reference
from irqlab.reproduce.salah2009.loads import EchoingRow, ReceivingRow
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.units import percent

EQUAL = 0.02
"""Two figures that differ by no more than this share are level: hybrid and DE, which are one scheme below the cliff, are there
up to 1.6 % apart."""
NO_CPU = 0.01
"""A share of the CPU that counts as none."""
Curves = dict[str, list[ReceivingRow]]
"""By scheme; the lowest load first."""


def paper(quantity: str) -> float:
    """A figure of the paper's text (data/reference)."""
    return float(reference.by("salah2009_points", "quantity")[quantity]["value"])


def of_cliff(quantity: str) -> float:
    """A rate of the paper's text, as a multiple of the paper's cliff."""
    return paper(quantity) / paper("cliff")


CLIFF_BAND = paper("epsilon")
"""How close ways to the cliff, its signs, and where no CPU is left are to be: the paper's band around its cliff."""
BAND = f"within {percent(CLIFF_BAND)}, the paper's band around its cliff (e)"


def ours(tables: Tables) -> tuple[ReceivingRow, ...]:
    """Rows of the driver on which the paper's schemes were compared."""
    return tables.application.where(lambda r: r.driver == tables.driver)


def echoes(tables: Tables) -> tuple[EchoingRow, ...]:
    """Its round trips."""
    return tables.round_trip.where(lambda r: r.driver == tables.driver)


def curve_of(tables: Tables, scheme: str) -> list[ReceivingRow]:
    """A scheme at all its loads, the lowest first."""
    return sorted((row for row in ours(tables) if row.scheme == scheme), key=lambda row: row.offered_pps)


def curves_of(tables: Tables, *schemes: str) -> Curves | None:
    """Those of some schemes; None if one is missing."""
    found = {scheme: curve_of(tables, scheme) for scheme in schemes}
    return found if all(found.values()) else None
