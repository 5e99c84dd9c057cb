# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared: the paper's rows, and hybrid with RX masked above the cliff."""

from __future__ import annotations

from irqlab.config.schemes import Schemes
from irqlab.methods.budget import WEIGHT
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.rows import Row
from irqlab.trials.application import Tuning

DE, NAPI, NAPI_2, HYBRID, PACED = rows.DE, rows.NAPI, rows.NAPI_2, rows.HYBRID, "hybrid, paced"
SERIES = (DE, NAPI, HYBRID, PACED)
"""Lines of the plots, in the order of their styles."""
EPSILON_PERMILLE = 150


def paced(cliff_pps: float) -> Row:
    """Hybrid, improved: above the cliff RX stays masked, and a timer starts each poll."""
    schemes = Schemes(rx="hybrid", weight=WEIGHT, cliff_pps=round(cliff_pps), epsilon_permille=EPSILON_PERMILLE, above="paced")
    return Row(PACED, "", Tuning(schemes=schemes, budget=rows.DEFAULT_BUDGET))


def compared(cliff_pps: float) -> list[Row]:
    """Those of the table of kernels."""
    return [rows.de(), rows.napi(rows.DEFAULT_BUDGET), rows.hybrid(cliff_pps), paced(cliff_pps)]


def under_conditions(cliff_pps: float) -> list[Row]:
    """Those of the table of conditions."""
    return [rows.de(), rows.napi(rows.DEFAULT_BUDGET), rows.napi(rows.HYBRID_BUDGET), rows.hybrid(cliff_pps), paced(cliff_pps)]
