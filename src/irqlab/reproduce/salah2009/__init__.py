# SPDX-License-Identifier: GPL-2.0-or-later
"""Salah, Qahtan: a hybrid interrupt-handling scheme under a receiving application (2009), measured again."""

from __future__ import annotations

from irqlab.reproduce.claims import Because
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.salah2009 import findings, measure, report
from irqlab.reproduce.salah2009.rows import SERIES

_SOFTIRQS = "because of the kernel's softirqs ([what makes hybrid win](#what-makes-hybrid-win))"
_POISSON = "because of constant arrivals ([Poisson arrivals](#poisson-arrivals))"

_CLIFF = "[the signs and the closed form under other conditions](#the-cliff-under-other-conditions)"
_NOT_MODERATED = "because this NIC does not moderate: [one that delays interrupts](#a-nic-that-moderates) shows it"

BECAUSE = {
    "The signs of the cliff coincide": Because("differs", f"because of constant arrivals: {_CLIFF}"),
    "The closed form": Because("differs", f"{_CLIFF}; why it is too low is not explained"),
    "In throughput and loss hybrid": Because("differs", _SOFTIRQS),
    "With more load the throughput": Because("differs", _SOFTIRQS),
    "DE gives more throughput": Because(
        "differs", "not explained: with the softirqs of Linux 2.6.15 it is so at 2.35 times the cliff, and not at twice the cliff"
    ),
    "Below 200 frames a second": Because("differs", "not explained: [tried with the memory of the paper's machine](#low-rates)"),
    "Hybrid's interrupts fall": Because(
        "differs",
        "in part because a poll that finds the ring empty unmasks: with [`paced`](hybrid.md), where RX stays masked, "
        "they are about 5 % of the frames at 1.5 and 2 times the cliff. The rest is not explained",
    ),
    "Shortly after": Because("differs", _NOT_MODERATED),
    "After 0.6 times": Because("differs", _NOT_MODERATED),
    "NAPI leaves the least": Because("differs", _POISSON),
    "At 0.5 to 0.7": Because("differs", _NOT_MODERATED),
    "With a budget of 300 ksoftirqd": Because("differs", "in part because of [the kernel's softirqs](#when-ksoftirqd-runs)"),
    "At the cliff hybrid switches least": Because("differs", "as seldom with e = 0.3"),
}

PAPER = Paper(
    name="salah2009",
    source="K. Salah, A. Qahtan: Implementation and experimental performance evaluation of a hybrid interrupt-handling scheme. "
    "Computer Communications 32 (2009).",
    driver="irqmod_i8255x",
    measure=measure.measure,
    claims=findings.CLAIMS,
    picture=report.picture,
    sections=report.sections,
    lead="The cliff and figures 6 to 8 of the paper, with a receiving application in the DUT, and the schemes of today's kernel.",
    with_long=True,
    kept_with=("--long", "--ensemble", "3"),
    because=BECAUSE,
    takes_long="every setting of the schemes of today's kernel, on three drivers",
    series=SERIES,
)
