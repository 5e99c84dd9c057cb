# SPDX-License-Identifier: GPL-2.0-or-later
"""Salah, Qahtan: a hybrid interrupt-handling scheme under a receiving application (2009), measured again."""

from __future__ import annotations

from irqlab.reproduce.claims import Because
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.salah2009 import findings, measure, report
from irqlab.reproduce.salah2009.rows import SERIES

_SOFTIRQS = "because of the kernel's softirqs ([what makes hybrid win](#what-makes-hybrid-win))"
_POISSON = "because of constant arrivals ([Poisson arrivals](#poisson-arrivals))"

BECAUSE = {
    "The signs of the cliff coincide": Because(
        "differs", "[the signs under other conditions](#the-cliff-under-other-conditions)"
    ),
    "The closed form": Because(
        "differs",
        "[the closed form under other conditions](#the-cliff-under-other-conditions); why it is too low is not explained",
    ),
    "At 2 times the cliff hybrid": Because("differs", _SOFTIRQS),
    "At 4 times the cliff hybrid": Because("differs", _SOFTIRQS),
    "Where frames are lost": Because("differs", f"at 2.35 times the cliff {_SOFTIRQS}; at other loads not explained"),
    "Below 200 frames a second": Because("differs", "not explained: [tried with the memory of the paper's machine](#low-rates)"),
    "The interrupt rate follows": Because(
        "differs", "not explained: with [Poisson arrivals](#poisson-arrivals) it bends, but it does not turn"
    ),
    "Hybrid's interrupts fall": Because(
        "differs",
        "in part because a poll that finds the ring empty unmasks: with [`paced`](hybrid.md), where RX stays masked, "
        "they are about 5 % of the frames at 1.5 and 2 times the cliff. The rest is not explained",
    ),
    "Shortly after": Because("differs", "[what Poisson arrivals change](#poisson-arrivals); the drop is not explained"),
    "NAPI leaves the least": Because("differs", _POISSON),
    "At 0.5 to 0.7": Because("differs", "not explained: in the paper interrupts drop at these loads, and here they do not"),
    "At 2 times the cliff the application receives more": Because("differs", _SOFTIRQS),
    "At 4 times the cliff the application receives more": Because("differs", _SOFTIRQS),
    "With a budget of 300 ksoftirqd": Because("differs", "in part because of [the kernel's softirqs](#when-ksoftirqd-runs)"),
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
