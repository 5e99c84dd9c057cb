# SPDX-License-Identifier: GPL-2.0-or-later
"""A made-up DUT: what it can set, and what that does."""

from __future__ import annotations

from irqlab.dut.settable import Settable
from irqlab.tuning import space
from irqlab.tuning.goal import Figures, Settings

ETH = ("eth0", "eth1")
USECS = tuple(map(str, (0, 5, 10, 20, 30, 50, 70, 100, 200, 500)))
SETTABLE = (
    Settable("coalesce", "adaptive-rx", "on", ("off", "on"), False),
    Settable("coalesce", "rx-usecs", "50", USECS, True),
    Settable("ring", "rx", "256", ("64", "128", "256", "512"), True),
    Settable("ring", "tx", "256", ("64", "128", "256", "512"), True),
    Settable("file", "threaded", "0", ("0", "1"), False),
    Settable("file", "napi_defer_hard_irqs", "0", ("0", "1", "10"), True),
    Settable("file", "gro_flush_timeout", "0", ("0", "10000", "50000", "200000"), True),
    Settable("sysctl", "net.core.netdev_budget", "300", ("8", "64", "300"), True),
)


def made(
    only: str | None = None, without: str | None = None, fixed: str | None = None, waits: tuple[str, ...] = ()
) -> space.Space:
    return space.chosen(space.parameters(SETTABLE, ETH, waits), only, without, fixed)


def figures(**told: float | None) -> Figures:
    usual = {"passed": 40_000.0, "loss": 0.0, "p50_ns": 50_000, "p99_ns": 100_000, "cpu": 0.5, "awake": 0.6}
    return Figures(**{**usual, **told})  # type: ignore[arg-type]


def answer(settings: Settings) -> Figures | str:
    """The best is rx-usecs 30 without adaptive-rx; threads cost processor time; rings and the rest change nothing."""
    if settings.get("threaded") == "1" and settings.get("netdev_budget") == "8":
        return "no such thing"
    usecs = int(settings.get("rx-usecs", "50")) if settings.get("adaptive-rx") == "off" else 80
    p99_ns = 60_000 + 1_000 * abs(usecs - 30) + (2_000 if settings.get("threaded") == "1" else 0)
    cpu = 0.9 - 0.004 * usecs + (0.05 if settings.get("threaded") == "1" else 0.0)
    return figures(p99_ns=p99_ns, p50_ns=p99_ns // 2, cpu=max(0.1, cpu), awake=max(0.1, cpu))
