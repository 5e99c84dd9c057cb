# SPDX-License-Identifier: GPL-2.0-or-later
"""'Application of NAPI technology in Linux network drive (3)': 8139cp with a timer in place of NAPI, measured again."""

from __future__ import annotations

from irqlab.reproduce.paper import Paper
from irqlab.reproduce.rtl8139cp import differences, findings, measure, report

PAPER = Paper(
    name="rtl8139cp",
    source="Application of NAPI technology in Linux network drivers (3), an article on the Internet by an unknown author; "
    "in-tree 8139cp of Linux 2.6.6, PIII 900 MHz.",
    driver="irqmod_rtl8139cp",
    measure=measure.measure,
    findings=findings.findings,
    picture=report.picture,
    sections=report.sections,
    with_hardware=True,
    with_memory=True,
    kept_with=("--hardware", "pentium3", "--ensemble", "3"),
    lead="The article's two tables, and what it claims in words, beside what the lab measured.",
    because=differences.BECAUSE,
    takes_long="searches with seven periods on two chips",
    series=report.RANGED,
)
