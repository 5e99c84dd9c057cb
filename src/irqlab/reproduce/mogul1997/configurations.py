# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared: the unmodified kernel, the paper's polling with its quotas, feedback and CPU limits, and what came later.

And how it is tried: a router.
"""

from __future__ import annotations

from dataclasses import dataclass

from irqlab.config.costs import Costs
from irqlab.config.schemes import Schemes
from irqlab.config.traffic import Arrivals, Load
from irqlab.config.workload import Workload
from irqlab.reproduce.trial_rows import lost
from irqlab.trials.application import ApplicationResult, ApplicationTrial, Tuning

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

PLAN = Workload(size=64)
QUICK_PLAN = Workload(size=64, duration_ns=80_000_000, warmup_ns=20_000_000, relative_width=0.01)


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
    todays = {NAPI: napi(), IFPOLL: ifpoll(), SHRINK: shrinking(), NAPI_POLL: napi_poll(), DIM: dim()}
    without = {UNMODIFIED: unmodified()} | {quota_name(quota): polling(quota) for quota in (*QUOTAS, 0)} | todays
    with_it = {UNMODIFIED: unmodified(), NO_FEEDBACK: polling(FEEDBACK_QUOTA)}
    with_it |= {quota_name(quota): polling(quota, HIGH) for quota in (*QUOTAS, 0)} | todays
    return [
        Configuration(name, screend, tuning)
        for screend, every in ((False, without), (True, with_it))
        for name, tuning in every.items()
    ]


# Trials of the router: with a process on the forwarding path or without, and one that takes the CPU time that is left.


def plan_of(quick: bool) -> Workload:
    """How long a trial is."""
    return QUICK_PLAN if quick else PLAN


def spec_of(
    rate_pps: float,
    tuning: Tuning,
    screend: bool,
    quick: bool,
    competes: bool = False,
    arrivals: Arrivals = "constant",
    costs: Costs | None = None,
) -> ApplicationTrial:
    """A trial of the router."""
    plan = plan_of(quick)
    return ApplicationTrial(
        Load(rate_pps=round(rate_pps, 1), size=plan.size, arrivals=arrivals),
        tuning,
        kind="screen" if screend else "forward",
        soaker_competes=competes,
        duration_ns=plan.duration_ns,
        warmup_ns=plan.warmup_ns,
        costs=costs,
    )


def of_peak(r: ApplicationResult, peak_pps: float) -> dict[str, float]:
    """Columns of a trial: rates as shares of the peak, and where frames are lost, by the names of a router."""
    return {
        "offered_to_peak": r.offered_pps / peak_pps,
        "output_to_peak": r.returned_pps / peak_pps,
        "output_pps": r.returned_pps,
        "lost_input_queue": lost(r, "backlog"),
        "lost_screen_queue": lost(r, "socket"),
        "lost_output_queue": lost(r, "elsewhere"),
        "cpu_left": r.cpu_available,
        "cpu_percent": 100 * r.cpu_available,
    }
