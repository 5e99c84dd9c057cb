# SPDX-License-Identifier: GPL-2.0-or-later
"""Why claims differ, as docs/papers/mogul1997.md has it. Each names an experiment or says that there is none."""

from __future__ import annotations

from irqlab.reproduce.claims import Because

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
