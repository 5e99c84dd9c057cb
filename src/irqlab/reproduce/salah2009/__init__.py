# SPDX-License-Identifier: GPL-2.0-or-later
"""Salah, Qahtan: a hybrid interrupt-handling scheme under a receiving application (2009), measured again."""

from __future__ import annotations

from irqlab.reproduce.paper import Paper
from irqlab.reproduce.salah2009 import findings, measure, report
from irqlab.reproduce.salah2009.because import BECAUSE
from irqlab.reproduce.salah2009.rows import SERIES

PAPER = Paper(
    name="salah2009",
    source="K. Salah, A. Qahtan: Implementation and experimental performance evaluation of a hybrid interrupt-handling scheme. "
    "Computer Communications 32 (2009).",
    driver="irqmod_i8255x",
    measure=measure.measure,
    findings=findings.findings,
    picture=report.picture,
    sections=report.sections,
    lead="The cliff and figures 6 to 8 of the paper, with a receiving application in the DUT, and the schemes of today's kernel.",
    with_long=True,
    kept_with=("--long", "--ensemble", "3"),
    because=BECAUSE,
    takes_long="every setting of the schemes of today's kernel, on three drivers",
    series=SERIES,
)
