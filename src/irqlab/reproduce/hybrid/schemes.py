# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared: the paper's rows, and hybrid with RX masked above the cliff."""

from __future__ import annotations

from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.rows import Row

DE, NAPI, NAPI_2, HYBRID, PACED = rows.DE, rows.NAPI, rows.NAPI_2, rows.HYBRID, rows.PACED
SERIES = (DE, NAPI, HYBRID, PACED)
"""Lines of the plots, in the order of their styles."""


def compared(cliff_pps: float) -> list[Row]:
    """The rows of the table of kernels."""
    return [rows.de(), rows.napi(rows.DEFAULT_BUDGET), rows.hybrid(cliff_pps), rows.paced(cliff_pps)]


def under_conditions(cliff_pps: float) -> list[Row]:
    """The rows of the table of conditions."""
    napis = [rows.napi(budget) for budget in (rows.DEFAULT_BUDGET, rows.HYBRID_BUDGET)]
    return [rows.de(), *napis, rows.hybrid(cliff_pps), rows.paced(cliff_pps)]
