# SPDX-License-Identifier: GPL-2.0-or-later
"""The timer against NAPI over its whole range of periods, on two chips; its refill rules; and on hardware with memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from irqlab.config.hardware import Hardware
from irqlab.config.schemes import Schemes
from irqlab.config.workload import Workload
from irqlab.methods import throughput
from irqlab.present.columns import Col
from irqlab.reproduce.rtl8139cp.configurations import IN_TREE, PERIOD_US, TX
from irqlab.reproduce.rtl8139cp.trials import GENTLE_PPS, Held, Patient, loaded, workload_of
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table, row_of
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

ARTICLES, OTHER = "RTL8139C+", "8255x"
CHIPS = {ARTICLES: ("irqmod_rtl8139cp", IN_TREE), OTHER: ("irqmod_i8255x", "e100")}
"""Our driver and the kernel's, by chip."""
KERNELS, NAPI, TIMER = "kernel's driver", "our NAPI", "timer"
DEFERRED, AT_ONCE, IN_POLL, HALF = "behind the softirq", "at once", "in the poll", "in the poll, from half a ring on"
RULES = {DEFERRED: "softirq", IN_POLL: "poll", HALF: "half"}
"""Refill rules that are values of rx_timer_refill (drivers/irqmod/rx_timer.c). AT_ONCE: without deferral, frame by frame."""
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


def search(runner: TrialRunner, workload: Workload) -> MethodResult:
    """The throughput without loss; frames may be late."""
    return throughput.run(Patient(runner.bench, runner.slots, runner.progress), workload)


@dataclass(frozen=True)
class _Configured:
    """A configuration: of KERNELS, NAPI, TIMER."""

    name: str
    period_us: int | None = None
    refill: str = ""

    def schemes(self) -> Schemes:
        if self.name == KERNELS:
            return Schemes()
        if self.name == NAPI:
            return Schemes(rx="napi", tx=TX)
        return timer_schemes(self.period_us, self.refill)

    @property
    def label(self) -> str:
        return f"timer {self.period_us} µs, refill {self.refill}" if self.name == TIMER else self.name


def timer_schemes(period_us: int | None, refill: str) -> Schemes:
    """The timer with a refill rule."""
    if refill == AT_ONCE:
        return Schemes(rx="timer", tx=TX, rx_usecs=period_us, timer_without="refill")
    return Schemes(rx="timer", tx=TX, rx_usecs=period_us, timer_refill=RULES[refill])


def _configured(periods: Sequence[int]) -> list[_Configured]:
    timers = [_Configured(TIMER, us, refill) for us in periods for refill in (DEFERRED, AT_ONCE)]
    return [_Configured(KERNELS), _Configured(NAPI), *timers]


def gain_percent(pps: float, base_pps: float) -> float:
    """What a rate is more than another, in per cent; 0: there is no other."""
    return round(100 * (pps / base_pps - 1), 2) if base_pps else 0.0


def chips(session: Session) -> Table[ChipRow]:
    """Every period on both chips; quick: on the article's alone."""
    every = _configured(QUICK_PERIODS_US if session.quick else PERIODS_US)
    measured = (ARTICLES,) if session.quick else tuple(CHIPS)

    def bed(chip: str, one: _Configured) -> Testbed:
        ours, kernels = CHIPS[chip]
        nic = session.config.nic if chip == ARTICLES else None
        return session.testbed(one.schemes(), driver=kernels if one.name == KERNELS else ours, nic=nic)

    jobs = {
        (chip, one): Job(f"{chip}, {one.label}", bed(chip, one), partial(search, workload=workload_of(session.quick)))
        for chip in measured
        for one in every
    }
    found = session.all("the whole range of periods", jobs)
    rows = []
    for (chip, one), result in found.items():
        pps, kernels, napi = (
            found[chip, of].total_throughput_pps or 0.0 for of in (one, _Configured(KERNELS), _Configured(NAPI))
        )
        gains = (gain_percent(pps, kernels), gain_percent(pps, napi))
        rows.append(ChipRow(chip, one.name, one.period_us, one.refill, round(result.total_throughput_pps or 0.0, 1), *gains))
    return Table("The timer over its range of periods, 60 bytes: throughput without loss", ChipRow, tuple(rows))


def cards(session: Session) -> Table[CardRow]:
    """The kernel's driver, our NAPI and the timer on both models of the article's chip."""
    every = [_Configured(KERNELS), _Configured(NAPI), _Configured(TIMER, PERIOD_US, AT_ONCE)]

    def bed(nic: str | None, one: _Configured) -> Testbed:
        changes = {"driver": IN_TREE} if one.name == KERNELS else {}
        return session.testbed(one.schemes(), nic=nic, **changes)

    jobs = {
        (card, one): Job(f"{card}, {one.label}", bed(nic, one), partial(search, workload=workload_of(session.quick)))
        for card, nic in CARDS.items()
        for one in every
    }
    found = session.all("models of the chip", jobs)
    rows = []
    for (card, one), result in found.items():
        pps, kernels = result.total_throughput_pps or 0.0, found[card, every[0]].total_throughput_pps or 0.0
        rows.append(CardRow(card, one.name, round(pps, 1), gain_percent(pps, kernels)))
    return Table("The timer of 1 ms, refilled at once, on two models of the chip, 60 bytes", CardRow, tuple(rows))


def rules(session: Session) -> Table[RuleRow]:
    """The refill rules on the article's chip; quick: two of them, with one period."""
    chosen = ((RULE_PERIODS_US[0],), (DEFERRED, IN_POLL)) if session.quick else (RULE_PERIODS_US, (*RULES, AT_ONCE))
    every = [(us, refill) for us in chosen[0] for refill in chosen[1]]
    beds = {key: session.testbed(timer_schemes(*key)) for key in every}

    def label(us: int, refill: str) -> str:
        return f"{us} µs, {refill}"

    work = partial(search, workload=workload_of(session.quick))
    searched = session.all("refill rules: throughput", {key: Job(label(*key), bed, work) for key, bed in beds.items()})
    jobs = {
        (*key, rate): Job(label(*key), bed, partial(loaded, workload=workload_of(session.quick), rate_pps=rate))
        for key, bed in beds.items()
        for rate in (GENTLE_PPS, None)
    }
    trials = session.all("refill rules: latency and overload", jobs)
    rows = []
    for us, refill in every:
        pps, base = (searched[us, one].total_throughput_pps or 0.0 for one in (refill, DEFERRED))
        row = row_of(
            RuleRow,
            Held.of(trials[us, refill, GENTLE_PPS]),
            refill=refill,
            period_us=us,
            throughput_pps=round(pps, 1),
            gain_percent=gain_percent(pps, base),
            full_rate_forwarded_pps=round(trials[us, refill, None].forwarded_pps, 1),
        )
        rows.append(row)
    return Table("Refill rules, 60 bytes", RuleRow, tuple(rows))


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

    def bed(one: _Configured) -> Testbed:
        changes = {"driver": IN_TREE} if one.name == KERNELS else {}
        return session.testbed(one.schemes(), mips=board.mips, memory=board.memory, cost_model=bool(board.costs), **changes)

    jobs = {one: Job(f"{board.name}, {one.label}", bed(one), partial(search, workload=workload)) for one in every}
    found = session.all(f"throughput, {board.name}", jobs)
    kernels, napi = (found[_Configured(name)].total_throughput_pps or 0.0 for name in (KERNELS, NAPI))
    rows = []
    for one, result in found.items():
        pps, instructions = result.total_throughput_pps or 0.0, result.instructions_per_frame
        row = row_of(
            HardwareRow,
            one,
            hardware=board.name,
            configuration=one.name,
            throughput_pps=round(pps, 1),
            instructions_per_frame=None if instructions is None else round(instructions, 1),
            gain_percent=gain_percent(pps, kernels),
            gain_over_own_napi_percent=gain_percent(pps, napi),
        )
        rows.append(row)
    return Table(f"Throughput without loss on {board.name}, 60 bytes", HardwareRow, tuple(rows))
