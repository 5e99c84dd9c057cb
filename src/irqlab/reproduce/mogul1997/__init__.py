# SPDX-License-Identifier: GPL-2.0-or-later
"""Mogul, Ramakrishnan: Eliminating Receive Livelock in an Interrupt-Driven Kernel (1996, 1997), measured again."""

from __future__ import annotations

from irqlab.reproduce.claims import Because
from irqlab.reproduce.mogul1997 import findings, measure, report
from irqlab.reproduce.mogul1997.configurations import SERIES
from irqlab.reproduce.paper import Paper

_PRIORITY = Because("agrees", "if [ksoftirqd goes first](#why-they-differ)")

BECAUSE = {
    "Without screend smaller quotas work better": Because(
        "differs", "in part because of [the ring](#why-they-differ); the rest is not explained"
    ),
    "With feedback the peak is much improved": Because(
        "differs", "in part [arrivals and the cost of interrupts](#why-they-differ); the rest is not explained"
    ),
    "With a limit the process's share is fairly stable": Because(
        "differs", "not explained: [dearer interrupts](#why-they-differ) lower the level nearly as much as the dip"
    ),
    "With screend polling without feedback": _PRIORITY,
    "Without a limit a compute-bound process": _PRIORITY,
}

PAPER = Paper(
    name="mogul1997",
    source="J. C. Mogul, K. K. Ramakrishnan: Eliminating Receive Livelock in an Interrupt-Driven Kernel. "
    "USENIX Annual Technical Conference (1996); ACM Transactions on Computer Systems 15(3) (1997).",
    driver="irqmod_rtl8139cp",
    measure=measure.measure,
    claims=findings.CLAIMS,
    picture=report.picture,
    sections=report.sections,
    lead="Figures 6-1 to 7-1 of the paper: a router with and without a process on its forwarding path, and what is left for "
    "other processes.",
    kept_with=("--ensemble", "3"),
    because=BECAUSE,
    takes_long="19 curves of 14 loads, and five of figure 7-1",
    series=SERIES,
)
