# SPDX-License-Identifier: GPL-2.0-or-later
"""'Application of NAPI technology in Linux network drive (3)': 8139cp with a timer in place of NAPI, measured again."""

from __future__ import annotations

from irqlab.reproduce.claims import Because
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.rtl8139cp import findings, measure, report

_REFILL = Because(
    "differs",
    "the deferred refill: while frames wait for the network layer, so do their descriptors. On and off: "
    "[when the ring is refilled](#why-they-differ)",
)
_LEFT_OUT = Because("differs", "not explained: [what leaving it out does](#why-they-differ)")

BECAUSE = {
    "With a suitable period the timer receives": Because(
        "differs",
        "at the article's 1 ms the [deferred refill](#why-they-differ), with longer periods the ring: on and off over "
        "the [range of periods](#why-they-differ). Why no period gains as much is not explained",
    ),
    "The timer receives more than NAPI, by": Because(
        "differs", "at 1 ms the [deferred refill](#why-they-differ); why the article's timer gains is not explained"
    ),
    "Of a million frames of 60 bytes the timer takes in more": _REFILL,
    "Of a million frames of 1440 bytes it takes in fewer": Because(
        "differs",
        "here all arrive: the wire, not the driver, is the limit. Why the article's timer loses frames is not explained",
    ),
    "Measure 1. receive interrupts off": _LEFT_OUT,
    "Measure 2. polling in the timer's interrupt": _LEFT_OUT,
    "Measure 3. hand-off to the backlog": _LEFT_OUT,
    "Measure 4. deferred refill": _REFILL,
}

PAPER = Paper(
    name="rtl8139cp",
    source="Application of NAPI technology in Linux network drivers (3), an article on the Internet by an unknown author; "
    "in-tree 8139cp of Linux 2.6.6, PIII 900 MHz.",
    driver="irqmod_rtl8139cp",
    measure=measure.measure,
    claims=findings.CLAIMS,
    picture=report.picture,
    sections=report.sections,
    with_hardware=True,
    with_memory=True,
    kept_with=("--hardware", "pentium3", "--ensemble", "3"),
    lead="The article's two tables, and what it claims in words, beside what the lab measured.",
    because=BECAUSE,
    takes_long="searches with seven periods on two chips",
    series=report.RANGED,
)
