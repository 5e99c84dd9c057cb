# SPDX-License-Identifier: GPL-2.0-or-later
"""Table 5, measured: what a forwarded frame costs in the paper's phases, from a profile of a trial at the throughput.

An instruction counts for the innermost function of its call stack that stands in FUNCTIONS: what a function calls is part of
its phase, unless it stands there itself. What no such function is on the stack of is `rest`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Annotated, Any

from irqlab.methods import profile as method
from irqlab.methods import throughput as search
from irqlab.present.columns import Col, Nested, figures
from irqlab.profile.owners import bare_name
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.throughput import Results, us_per_frame
from irqlab.reproduce.table import Table
from irqlab.results.document import MethodResult

CS_IN, CS_OUT, RX, COPY, IP, TX, SKB, REST = "cs_in", "cs_out", "rx", "copy", "ip", "tx", "skb", "rest"

FUNCTIONS = {
    # From the processor's entry until it is known which ring the interrupt is about (arch/x86/entry, kernel/irq, the ISR).
    CS_IN: (
        r"irq_entries_start|asm_common_interrupt|error_entry|irqentry_enter|irq_enter_rcu|common_interrupt|__common_interrupt"
        r"|handle_\w+_irq|handle_irq_event|__handle_irq_event_percpu|\w+_isr|irqmod_interrupt"
    ),
    # From there back to what was interrupted, less the softirqs run on the way.
    CS_OUT: (
        r"add_interrupt_randomness|note_interrupt|ioapic_ack_level|apic_ack_\w+|irq_exit_rcu|__irq_exit_rcu|irqentry_exit"
        r"|error_return|restore_regs_and_return_to_kernel|native_irq_return_iret|early_xen_iret_patch"
    ),
    # From the ring to the IP stack: descriptors, a new skb, backlog or poll (drivers/irqmod/rx_*.c, net/core/dev.c).
    RX: (
        r"rx_\w+_irq|irqmod_rx_\w+|\w+_rx_take|\w+_rx_refill|irqmod_poll|irqmod_deliver_\w+|net_rx_action|__napi_poll"
        r"|process_backlog|netif_rx|netif_receive_skb\w*|__netif_receive_skb\w*|eth_type_trans|napi_complete_done"
    ),
    # The frame's bytes, out of the ring (lib/memcpy_64.S).
    COPY: r"memcpy|__memcpy|memcpy_orig|memcpy_erms",
    # The IP stack, up to the neighbour's header (net/ipv4).
    IP: r"ip_rcv\w*|ip_list_rcv|ip_sublist_rcv\w*|ip_forward\w*|ip_output|ip_finish_output\w*|ip_route_\w+",
    # From the queue to the ring (net/core/dev.c, net/sched, the driver).
    TX: (
        r"__dev_queue_xmit|__qdisc_run|sch_direct_xmit|dev_hard_start_xmit|\w+_(xmit|tx_commit)|irqmod_tx_(full|arm)"
        r"|tx_coalesce_queued"
    ),
    # Sent buffers given back: reclaiming the ring, dev_kfree_skb_irq and the softirq it asks for, timers that reclaim.
    SKB: (
        r"irqmod_tx_(irq_reclaim|rx_reclaim|reclaim_early|locked_reclaim|timer|wake)|tx_off_(irq|work)|\w+_tx_reclaim|net_tx_action"
        r"|napi_consume_skb|__kfree_skb_defer|consume_skb|kfree_skb\w*|__dev_kfree_skb_irq"
    ),
    # Nobody's: dispatch of softirqs, the clock, the scheduler, user space.
    REST: (
        r"handle_softirqs|__do_softirq|(asm_)?sysvec_apic_timer_interrupt|run_timer_softirq|hrtimer_run_softirq"
        r"|do_idle|run_ksoftirqd"
    ),
}
"""Phase -> the functions it begins with: names, whole, without a compiler's suffix. No function is in two."""

PHASES = (CS_IN, CS_OUT, RX, COPY, IP, TX, SKB)
NAMES = {CS_IN: "T_CS(in)", CS_OUT: "T_CS(out)", RX: "T_RX", COPY: "T_COPY", IP: "T_IP", TX: "T_TX", SKB: "T_SKB", REST: "rest"}
"""As the paper calls them."""
_DIGITS = figures(4)


@dataclass(frozen=True)
class Phases:
    """A figure of each phase."""

    cs_in: Annotated[float, Col(NAMES[CS_IN], "", _DIGITS)]
    cs_out: Annotated[float, Col(NAMES[CS_OUT], "", _DIGITS)]
    rx: Annotated[float, Col(NAMES[RX], "", _DIGITS)]
    copy: Annotated[float, Col(NAMES[COPY], "", _DIGITS)]
    ip: Annotated[float, Col(NAMES[IP], "", _DIGITS)]
    tx: Annotated[float, Col(NAMES[TX], "", _DIGITS)]
    skb: Annotated[float, Col(NAMES[SKB], "", _DIGITS)]
    rest: Annotated[float, Col(NAMES[REST], "", _DIGITS)]

    def of(self, phase: str) -> float:
        """One of them, by its name."""
        return float(asdict(self)[phase])


@dataclass(frozen=True)
class PhaseRow:
    """A row of table 5, per forwarded frame."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    instructions: Annotated[Phases, Nested(behind=True, unit="instructions")]
    us: Annotated[Phases, Nested(behind=True, unit="µs")]
    sum_instructions: Annotated[float, Col("sum", "instructions", _DIGITS)]
    sum_us: Annotated[float, Col("sum", "µs", _DIGITS)]
    """All that was executed."""
    per_frame_us: Annotated[float | None, Col("1/rate", "µs", _DIGITS)]
    """Of all frames; None if the trials were too short to find the rate exactly."""
    sum_error_percent: Annotated[float | None, Col("sum against 1/rate", "%", _DIGITS)]
    """None if `per_frame_us` is."""
    idle_us: Annotated[float, Col("CPU idle", "µs", _DIGITS)]
    enabled_share: Annotated[float, Col("interrupts enabled", "share", _DIGITS)]
    """Instructions outside hard interrupts, of all. An upper bound: locks taken with interrupts disabled are not seen."""
    paper_enabled_share: Annotated[float, Col("share of the paper's phases", "", _DIGITS)]
    """The share of the phases during which interrupts are enabled by the paper's table 5."""
    interrupts_per_frame: Annotated[float, Col("interrupts a frame", "", _DIGITS)]
    paper_interrupts_per_frame: Annotated[float, Col("the paper's", "", _DIGITS)]
    interrupts_per_s: Annotated[float, Col("interrupts a second", "", _DIGITS)]
    paper_total: Annotated[str, Col("The paper's total packet process time")]
    paper_total_us: Annotated[float, Col("with the phases measured", "µs", _DIGITS)]


@dataclass(frozen=True)
class Formula:
    """A row of the paper's table 5. `interrupts` per frame; `enabled`: the phases during which interrupts are enabled."""

    interrupts: float
    enabled: tuple[str, ...]
    rate: str

    @property
    def total(self) -> str:
        """The total packet process time, as printed."""
        factor = {2.0: "2", 1.0: "", 0.0: None}.get(self.interrupts, self.rate.removesuffix(" R"))
        switches = [] if factor is None else [f"{factor} (T_CS(in) + T_CS(out))".strip()]
        return " + ".join([*switches, *(NAMES[p] for p in (RX, COPY, IP, TX, SKB))])


FORMULAS = {
    "ORIGINAL": Formula(2, (IP,), "2 R"),
    "TX-128": Formula(129 / 128, (IP,), "129/128 R"),
    "TX-OFF": Formula(1, (IP, TX, SKB), "R"),
    "NAPI": Formula(1, (RX, COPY, IP), "R"),
    "NAPI-TX-128": Formula(1 / 128, (RX, COPY, IP), "1/128 R"),
    "NAPI-TX-OFF": Formula(0, (RX, COPY, IP, TX, SKB), "~0"),
}
"""The paper's table 5. R: the rate of frames."""

_PATTERNS = {phase: re.compile(names) for phase, names in FUNCTIONS.items()}


@cache
def phases_of(function: str) -> tuple[str, ...]:
    """The phases whose functions this name is among: one or none."""
    bare = bare_name(function)
    return tuple(phase for phase, names in _PATTERNS.items() if names.fullmatch(bare))


def by_phase(row: Mapping[str, Any]) -> dict[str, int]:
    """Instructions of a profile (a row of method `profile`, docs/use/results.md) by phase, `rest` included."""
    sums = Counter(dict.fromkeys((*PHASES, REST), 0))
    of_node: list[str] = []
    for parent, number, instructions, _ in row["summary"]["stacks"]:
        own = phases_of(row["samples"][number]["function"])
        of_node.append(own[0] if own else of_node[parent] if parent >= 0 else REST)
        sums[of_node[-1]] += instructions
    return dict(sums)


def measure(run: Run, throughputs: Results, sizes: Sequence[int]) -> dict[tuple[int, str], MethodResult]:
    """A profile of every variant at its throughput."""
    return run.variants(
        "profiles",
        sizes,
        lambda size, v: partial(
            method.run, workload=run.workload(size), rate_pps=search.rate_per_direction(throughputs[size, v])
        ),
    )


def table5(found: Mapping[tuple[int, str], MethodResult], throughputs: Results | None) -> Table[PhaseRow]:
    """Phases per forwarded frame; compared with the rates, if they are exact enough for it.

    Trials of 60 ms (`--quick`) end before a small overload has filled the rings. The rate that they find is up to 3 % too high.
    """
    rows = []
    for (size, variant), result in found.items():
        trial, formula, frames = result.trials[0], FORMULAS[variant], result.summary.frames
        per_frame = {phase: count / frames for phase, count in by_phase(result.to_json()).items()}
        us_per_instruction = 1 / result.mips
        us = {phase: count * us_per_instruction for phase, count in per_frame.items()}
        total_us = sum(us.values())
        at_rate_us = us_per_frame(throughputs[size, variant]) if throughputs else None
        interrupts = result.interrupts_per_frame or 0.0
        switch_us = (us[CS_IN] + us[CS_OUT]) / interrupts if interrupts else 0.0
        in_interrupts = result.summary.by_context.get("hardirq", 0)
        row = PhaseRow(
            frame_bytes=size,
            variant=variant,
            instructions=Phases(**{phase: round(count, 2) for phase, count in per_frame.items()}),
            us=Phases(**{phase: round(time, 4) for phase, time in us.items()}),
            sum_instructions=round(sum(per_frame.values()), 2),
            sum_us=round(total_us, 4),
            per_frame_us=round(at_rate_us, 4) if at_rate_us else None,
            sum_error_percent=round(100 * (total_us / at_rate_us - 1), 3) if at_rate_us else None,
            idle_us=round((trial.idle_ns or 0) / frames / 1e3, 4),
            enabled_share=round(1 - in_interrupts / result.summary.instructions, 4),
            paper_enabled_share=round(sum(us[p] for p in formula.enabled) / total_us, 4),
            interrupts_per_frame=round(interrupts, 5),
            paper_interrupts_per_frame=round(formula.interrupts, 5),
            interrupts_per_s=round(interrupts * trial.forwarded_pps, 1),
            paper_total=formula.total,
            paper_total_us=round(switch_us * formula.interrupts + sum(us[p] for p in (RX, COPY, IP, TX, SKB)), 4),
        )
        rows.append(row)
    return Table("Table 5: what a forwarded frame costs, by phase", PhaseRow, tuple(rows))
