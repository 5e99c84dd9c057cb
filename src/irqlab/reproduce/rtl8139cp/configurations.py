# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared: the kernel's own driver, and ours with the article's measures, all of them or all but one."""

from __future__ import annotations

from irqlab.config.schemes import Schemes
from irqlab.reproduce.session import Session
from irqlab.trials.testbed import Testbed

IN_TREE = "8139cp"
PERIOD_US = 1000
"""The article sets HZ to 1000 and polls in the timer interrupt."""
SLOW_PERIOD_US = 10_000
"""Of HZ = 100, which the article had before."""
TX = "interrupt"
"""As the kernel's driver has it: receiving is all that differs."""

NAMES = {"before": "8139cp (NAPI)", "after": "timer, as in the article", "napi": "our driver, NAPI"}
"""The three that are compared throughout."""

MEASURES = {
    "all": "nothing",
    "irq_off": "1. receive interrupts off",
    "period": "2. a timer of 1 ms, not 10 ms",
    "top_half": "2. polling in the timer's interrupt, not in softirq",
    "backlog": "3. hand-off to the backlog",
    "refill": "4. deferred refill",
    "both": "3. and 4. together",
}
"""The article's measures as switches; each is left out alone, and at last the two that the timer loses most by, together. Without
interrupts only a timer can poll, so leaving out the first means the receive interrupt in place of the timer. The article's fifth
(nothing else on the machine matters) is a condition."""
ALONE = tuple(name for name in MEASURES if name not in ("all", "both"))


OWN_NAPI = Schemes(rx="napi", tx=TX)


def timer(period_us: int = PERIOD_US, without: str | None = None, refill: str | None = None) -> Schemes:
    """Our driver with the article's measures, less one. `refill`: when the ring is refilled; None: as in the article."""
    return Schemes(rx="timer", tx=TX, rx_usecs=period_us, timer_without=without, timer_refill=refill)


def bed_of(session: Session, name: str, period_us: int | None = None) -> Testbed:
    """The bed of one of NAMES. `period_us`: the timer's; None: the article's."""
    if name == "before":
        return session.testbed(Schemes(), driver=IN_TREE)
    return session.testbed(OWN_NAPI if name == "napi" else timer(period_us or PERIOD_US))


def ablated(session: Session, left_out: str) -> Testbed:
    """The bed without one of MEASURES."""
    if left_out == "period":
        return session.testbed(timer(SLOW_PERIOD_US))
    if left_out == "both":
        return session.testbed(timer(PERIOD_US, "backlog", "poll"))
    return session.testbed(timer(PERIOD_US, None if left_out == "all" else left_out))
