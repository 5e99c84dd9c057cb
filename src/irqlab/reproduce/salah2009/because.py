# SPDX-License-Identifier: GPL-2.0-or-later
"""Why what was measured differs from the paper: the experiments, by the claim that they explain (docs/papers/salah2009.md)."""

from __future__ import annotations

from irqlab.reproduce.claims import Because

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
