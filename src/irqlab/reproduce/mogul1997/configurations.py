# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared: the unmodified kernel, the paper's polling with its quotas, feedback and CPU limits, and what came later."""

from __future__ import annotations

from dataclasses import dataclass

from irqlab.config.schemes import Schemes
from irqlab.trials.application import Tuning

FIRST = -20
"""nice value of ksoftirqd. The paper's polling thread goes before all processes; ksoftirqd usually shares the CPU with them."""
LINUX = 0
"""As Linux has it."""
QUOTAS = (5, 10, 20, 100)
FEEDBACK_QUOTA = 10
"""In figure 6-4, by the text."""
CPU_QUOTA = 5
"""In figure 7-1."""
HIGH, LOW = 24, 8
"""75 and 25 % of the paper's queue of 32."""
LIMITS = (25, 50, 75, 100)
"""Of figure 7-1, in per cent."""

UNMODIFIED, NO_QUOTA, NO_FEEDBACK = "unmodified", "no quota", "no feedback"
NAPI, IFPOLL, SHRINK = "NAPI", "ifpoll", "shrinking ring"
NAPI_POLL, DIM = "NAPI, poll", "dim"
NOT_QUICK = (NAPI_POLL, DIM)
"""What the quick look leaves out."""
SERIES = (UNMODIFIED, *(f"quota {quota}" for quota in QUOTAS), NO_QUOTA, NO_FEEDBACK, NAPI, IFPOLL, SHRINK, NAPI_POLL, DIM)
"""Lines of the plots, in the order of their styles. With screend those of a quota, and of none, have feedback."""


@dataclass(frozen=True)
class Configuration:
    """A kernel of the paper, or today's."""

    name: str
    """One of SERIES."""
    screend: bool
    tuning: Tuning


def polling(quota: int, high: int = 0, nice: int = FIRST, cpu_percent: int | None = None) -> Tuning:
    """The paper's polling, and completions with it. `quota`: 0: none; `high`: 0: no feedback."""
    schemes = Schemes(rx="polling", tx="poll", quota=quota, queue_high=high, queue_low=LOW, cpu_percent=cpu_percent)
    return Tuning(schemes=schemes, ksoftirqd_nice=nice)


def unmodified(nice: int = FIRST) -> Tuning:
    """4.2BSD's way: the handler queues frames for the protocol code; every packet sent interrupts."""
    return Tuning(schemes=Schemes(rx="interrupt", tx="interrupt"), ksoftirqd_nice=nice)


def napi() -> Tuning:
    """Our driver as it is used on Linux."""
    return Tuning(schemes=Schemes(rx="napi", tx="off"))


def napi_poll() -> Tuning:
    """NAPI that takes completions in its poll, as nearly all drivers of today do."""
    return Tuning(schemes=Schemes(rx="napi", tx="poll"))


def dim() -> Tuning:
    """NAPI that keeps RX masked after a pass for as long as the kernel's net_dim says."""
    return Tuning(schemes=Schemes(rx="dim", tx="off"))


def ifpoll() -> Tuning:
    """DragonFly BSD's polling from a clock, with its half of the CPU for processes."""
    return Tuning(schemes=Schemes(rx="ifpoll", tx="poll"), ksoftirqd_nice=FIRST)


def shrinking(pause_usecs: int | None = None) -> Tuning:
    """OpenBSD's receive ring, shorter while the machine is livelocked. `pause_usecs`: for so long RX is masked after a pass."""
    return Tuning(schemes=Schemes(rx="shrink", tx="interrupt", pause_usecs=pause_usecs), ksoftirqd_nice=FIRST)


def quota_name(quota: int) -> str:
    """A name of SERIES. `quota`: 0: none."""
    return f"quota {quota}" if quota else NO_QUOTA


def all_configurations() -> list[Configuration]:
    """Those of figures 6-1 to 6-6, without screend first."""
    quotas = (*QUOTAS, 0)
    return [
        Configuration(UNMODIFIED, False, unmodified()),
        *(Configuration(quota_name(quota), False, polling(quota)) for quota in quotas),
        Configuration(NAPI, False, napi()),
        Configuration(IFPOLL, False, ifpoll()),
        Configuration(SHRINK, False, shrinking()),
        Configuration(NAPI_POLL, False, napi_poll()),
        Configuration(DIM, False, dim()),
        Configuration(UNMODIFIED, True, unmodified()),
        Configuration(NO_FEEDBACK, True, polling(FEEDBACK_QUOTA)),
        *(Configuration(quota_name(quota), True, polling(quota, HIGH)) for quota in quotas),
        Configuration(NAPI, True, napi()),
        Configuration(IFPOLL, True, ifpoll()),
        Configuration(SHRINK, True, shrinking()),
        Configuration(NAPI_POLL, True, napi_poll()),
        Configuration(DIM, True, dim()),
    ]
