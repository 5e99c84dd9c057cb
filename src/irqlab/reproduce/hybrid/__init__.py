# SPDX-License-Identifier: GPL-2.0-or-later
"""Hybrid, improved: against disable-enable and NAPI on three kernels; and which condition makes hybrid win as in the paper."""

from __future__ import annotations

from irqlab.reproduce.claims import Because
from irqlab.reproduce.hybrid import findings, measure, report, schemes
from irqlab.reproduce.paper import Paper

BECAUSE = {
    "On Linux 6.1 hybrid": Because("differs", "because of the kernel's softirqs: the next row"),
}

PAPER = Paper(
    name="hybrid",
    source="K. Salah, A. Qahtan: Implementation and experimental performance evaluation of a hybrid interrupt-handling scheme. "
    "Computer Communications 32 (2009).",
    driver="irqmod_i8255x",
    measure=measure.measure,
    claims=findings.CLAIMS,
    picture=report.picture,
    sections=report.sections,
    lead="Hybrid as in the paper and improved, on three kernels, and the paper's environment, one condition at a time.",
    with_long=True,
    kept_with=("--long", "--ensemble", "3"),
    because=BECAUSE,
    takes_long="three kernels, and eleven conditions",
    series=schemes.SERIES,
)
