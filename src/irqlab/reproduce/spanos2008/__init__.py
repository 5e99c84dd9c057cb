# SPDX-License-Identifier: GPL-2.0-or-later
"""Spanos, Meliones, Stassinopoulos: six variants of a Fast Ethernet driver in a router (2008), measured again."""

from __future__ import annotations

from irqlab.config.schemes import VARIANTS
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.spanos2008 import because, differences, findings, measure, report

PAPER = Paper(
    name="spanos2008",
    source="S. Spanos, A. Meliones, G. Stassinopoulos: The internals of advanced interrupt handling techniques: Performance "
    "optimization of an embedded Linux network interface. Computer Communications 31 (2008).",
    driver="irqmod_i8255x",
    measure=measure.measure,
    claims=(*findings.CLAIMS, *because.CLAIMS),
    tested_besides=findings.with_costs,
    picture=report.picture,
    sections=report.sections,
    lead="Tables 1 to 5 and figures 4 to 7 of the paper beside what the lab measured.",
    with_hardware=True,
    with_long=True,
    kept_with=("--long", "--hardware", "mpc8250", "--ensemble", "3"),
    because=differences.BECAUSE,
    takes_long="six variants at eight sizes, with the limit of the wire and without, overload, phases, and each cause on and off",
    series=tuple(VARIANTS),
)
