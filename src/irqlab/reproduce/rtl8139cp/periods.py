# SPDX-License-Identifier: GPL-2.0-or-later
"""The timer against NAPI over its whole range of periods, on two chips; its refill rules; and on hardware with memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from irqlab.config.hardware import Hardware
from irqlab.config.schemes import Schemes
from irqlab.config.workload import Workload
from irqlab.present.columns import Col
from irqlab.reproduce.rtl8139cp.configurations import IN_TREE, OWN_NAPI, PERIOD_US, timer
from irqlab.reproduce.rtl8139cp.trials import gained, loaded, search
from irqlab.reproduce.session import Session, cases, measured, workload_of
from irqlab.reproduce.table import Table
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job

T = TypeVar("T")

ARTICLES, OTHER = "RTL8139C+", "8255x"
CHIPS = {ARTICLES: ("irqmod_rtl8139cp", IN_TREE), OTHER: ("irqmod_i8255x", "e100")}
"""Our driver and the kernel's, by chip."""
KERNELS, NAPI, TIMER = "kernel's driver", "our NAPI", "timer"
DEFERRED, AT_ONCE, IN_POLL, HALF = "behind the softirq", "at once", "in the poll", "in the poll, from half a ring on"
RULES = {DEFERRED: "softirq", IN_POLL: "poll", HALF: "half"}
"""Refill rules that are values of rx_timer_refill (instruments/rx_timer.c). AT_ONCE: without deferral, frame by frame."""
PERIODS_US = (100, 200, 400, 700, 1000, 2000, 4000)
QUICK_PERIODS_US = (400,)
RULE_PERIODS_US = (400, 1000)
QEMUS, CHECKING = "QEMU's model", "the tester's card"
CARDS = {QEMUS: None, CHECKING: "irqlab-8139cp"}
"""Models of the article's chip. The second checks the checksums of received packets (docs/inside/rtl8139-model.md)."""
HARDWARE_PERIODS_US = (400, 1000)
HARDWARE_NS = 100_000_000
"""A memory model makes a trial several times as long."""


@dataclass(frozen=True)
class ChipRow:
    """Throughput without loss, 60 bytes, and what it is more than that of the same chip's other drivers."""

    chip: Annotated[str, Col("Chip")]
    configuration: Annotated[str, Col("Configuration")]
    period_us: Annotated[int | None, Col("Period", "µs")]
    refill: Annotated[str, Col("Refill")]
    throughput_pps: Annotated[float, Col("Throughput", "frames/s")]
    gain_percent: Annotated[float, Col("over the kernel's driver", "%")]
    gain_over_own_napi_percent: Annotated[float, Col("over our NAPI", "%")]


@dataclass(frozen=True)
class RuleRow:
    """A refill rule, 60 bytes."""

    refill: Annotated[str, Col("Refill")]
    period_us: Annotated[int, Col("Period", "µs")]
    throughput_pps: Annotated[float, Col("Throughput", "frames/s")]
    gain_percent: Annotated[float, Col(f"over {DEFERRED}", "%")]
    full_rate_forwarded_pps: Annotated[float, Col("Forwarded at the wire's full rate", "frames/s")]
    latency_p50_us: Annotated[float | None, Col("p50 at 5,000 frames/s", "µs")]


@dataclass(frozen=True)
class HardwareRow:
    """Throughput without loss on hardware that is stated (`--hardware`), 60 bytes."""

    hardware: Annotated[str, Col("Hardware")]
    configuration: Annotated[str, Col("Configuration")]
    period_us: Annotated[int | None, Col("Period", "µs")]
    refill: Annotated[str, Col("Refill")]
    throughput_pps: Annotated[float, Col("Throughput", "frames/s")]
    instructions_per_frame: Annotated[float | None, Col("Instructions a frame")]
    gain_percent: Annotated[float, Col("over the kernel's driver", "%")]
    gain_over_own_napi_percent: Annotated[float, Col("over our NAPI", "%")]


@dataclass(frozen=True)
class CardRow:
    """Throughput without loss on a model of the article's chip, 60 bytes; the timer with 1 ms, refilled at once."""

    card: Annotated[str, Col("Card")]
    configuration: Annotated[str, Col("Configuration")]
    throughput_pps: Annotated[float, Col("Throughput", "frames/s")]
    gain_percent: Annotated[float, Col("over the kernel's driver", "%")]


@dataclass(frozen=True)
class _Configured:
    """A configuration: of KERNELS, NAPI, TIMER."""

    configuration: str
    period_us: int | None = None
    refill: str = ""

    def schemes(self) -> Schemes:
        if self.configuration == KERNELS:
            return Schemes()
        if self.configuration == NAPI:
            return OWN_NAPI
        return timer_schemes(self.period_us, self.refill)

    @property
    def label(self) -> str:
        return f"timer {self.period_us} µs, refill {self.refill}" if self.configuration == TIMER else self.configuration


def timer_schemes(period_us: int | None, refill: str) -> Schemes:
    """The timer with a refill rule."""
    us = period_us or PERIOD_US
    return timer(us, "refill") if refill == AT_ONCE else timer(us, refill=RULES[refill])


def _configured(periods: Sequence[int]) -> list[_Configured]:
    timers = [_Configured(TIMER, us, refill) for us in periods for refill in (DEFERRED, AT_ONCE)]
    return [_Configured(KERNELS), _Configured(NAPI), *timers]


def _searching(session: Session, begin: str, one: _Configured, workload: Workload, **changes: Any) -> Job[MethodResult]:
    """A search of a configuration. `changes`: of its testbed."""
    if one.configuration == KERNELS:
        changes = {"driver": IN_TREE} | changes
    return Job(f"{begin}, {one.label}", session.testbed(one.schemes(), **changes), partial(search, workload=workload))


def chips(session: Session) -> Table[ChipRow]:
    """Every period on both chips; quick: on the article's alone."""
    workload = workload_of(session.quick)

    def job(chip: str, one: _Configured) -> Job[MethodResult]:
        ours, kernels = CHIPS[chip]
        nic = session.config.nic if chip == ARTICLES else None
        return _searching(session, chip, one, workload, driver=kernels if one.configuration == KERNELS else ours, nic=nic)

    every = cases(
        chip=(ARTICLES,) if session.quick else CHIPS, one=_configured(QUICK_PERIODS_US if session.quick else PERIODS_US)
    )
    found = measured(session, "the whole range of periods", every, job)
    return found.table(
        "The timer over its range of periods, 60 bytes: throughput without loss",
        ChipRow,
        lambda result, chip, one: (one, gained(result, *(found.of(chip=chip, one=_Configured(of)) for of in (KERNELS, NAPI)))),
    )


def cards(session: Session) -> Table[CardRow]:
    """The kernel's driver, our NAPI and the timer on both models of the article's chip."""
    every = cases(card=CARDS, one=[_Configured(KERNELS), _Configured(NAPI), _Configured(TIMER, PERIOD_US, AT_ONCE)])
    workload = workload_of(session.quick)
    found = measured(
        session,
        "models of the chip",
        every,
        lambda card, one: _searching(session, card, one, workload, nic=CARDS[card]),
    )
    return found.table(
        "The timer of 1 ms, refilled at once, on two models of the chip, 60 bytes",
        CardRow,
        lambda result, card, one: (one, gained(result, found.of(card=card, one=_Configured(KERNELS)))),
    )


def rules(session: Session) -> Table[RuleRow]:
    """The refill rules on the article's chip; quick: two of them, with one period."""
    every = cases(
        period_us=RULE_PERIODS_US[:1] if session.quick else RULE_PERIODS_US,
        refill=(DEFERRED, IN_POLL) if session.quick else (*RULES, AT_ONCE),
    )
    workload = workload_of(session.quick)

    def job(work: Callable[..., T], period_us: int, refill: str) -> Job[T]:
        return Job(
            f"{period_us} µs, {refill}", session.testbed(timer_schemes(period_us, refill)), partial(work, workload=workload)
        )

    searched = measured(session, "refill rules: throughput", every, partial(job, search))
    under_load = measured(session, "refill rules: latency and overload", every, partial(job, loaded))
    return searched.table(
        "Refill rules, 60 bytes",
        RuleRow,
        lambda result, **case: (under_load.of(**case), gained(result, searched.of(**{**case, "refill": DEFERRED}))),
    )


def hardware(session: Session, board: Hardware) -> Table[HardwareRow]:
    """The article's chip on hardware with costs or memory. No trial is charged a wire: loads beyond its rate are offered."""
    every = _configured(QUICK_PERIODS_US[:1] if session.quick else HARDWARE_PERIODS_US)
    workload = Workload(
        size=64,
        duration_ns=HARDWARE_NS,
        warmup_ns=HARDWARE_NS // 4,
        above_line_rate=True,
        relative_width=0.01,
        costs=board.costs if board.costs else None,
    )
    bed = {"mips": board.mips, "memory": board.memory, "cost_model": bool(board.costs)}
    found = measured(
        session,
        f"throughput, {board.name}",
        cases(hardware=(board.name,), one=every),
        lambda hardware, one: _searching(session, hardware, one, workload, **bed),
    )
    return found.table(
        f"Throughput without loss on {board.name}, 60 bytes",
        HardwareRow,
        lambda result, one, **_: (one, gained(result, *(found.of(one=_Configured(of)) for of in (KERNELS, NAPI)))),
    )
