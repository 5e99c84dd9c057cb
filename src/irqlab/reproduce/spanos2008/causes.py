# SPDX-License-Identifier: GPL-2.0-or-later
"""Experiments on why the lab's figures differ from the paper's: each turns one thing on and off.

They are made on the instruction clock, without the costs of a board, except for the condition that charges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from irqlab.config import hardware
from irqlab.config.costs import Costs
from irqlab.config.schemes import VARIANTS, combine
from irqlab.config.testbed import DutConfig
from irqlab.config.workload import Workload
from irqlab.methods import throughput as search
from irqlab.present.columns import Col, figures
from irqlab.reproduce import patches
from irqlab.reproduce.session import cases, measured
from irqlab.reproduce.spanos2008 import curves, interrupts
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.throughput import BASE, paper_mbps
from irqlab.reproduce.table import Table, rounded
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.testbed import Testbed

BYTES = 64
FREEING, LISTS, PREEMPTION, CHIP = "freeing of sent packets", "NAPI against TX-OFF", "preemption", "chip"
MEMORY = "memory of frames"
"""On Linux 6.1, patched, which is built first, if need be, in minutes (--long)."""
BASE_CAUSE = "none"
"""Throughputs that those of PREEMPTION and CHIP are compared with."""
AS_PAPER = "as in the paper"
FREED = {
    "ours": "nothing", "one by one": "batch", "not when receiving": "receive", "no timer": "timer", AS_PAPER: "all",
}  # fmt: skip
"""Settings of FREEING, and what of `off` is disabled (drivers/irqmod/tx_off.c)."""
ONE_BY_ONE = (("../../../../../module/irqmod/parameters/single_frames", "Y"),)
"""NAPI passes frames to the stack one by one, not as lists (drivers/irqmod/deliver.c)."""
PATCH = ("6.1", "docs/patches/skb-singly.patch")
SLAB = (str(Path(__file__).with_name("slab.config")),)
SINGLY: dict[str, Any] = {
    "kernel_arguments": "skbuff.singly=1",
    "dut": DutConfig(attributes=(("../../../../../module/irqmod/parameters/slab_heads", "Y"),)),
}
"""Each sk_buff and each head of a received frame is allocated and freed on its own, as in Linux 2.6.9."""
MEMORIES: dict[str, dict[str, Any]] = {
    "SLUB, in bulk": {},
    "SLUB, one by one": SINGLY,
    "SLAB, in bulk": {"kconfig": SLAB},
    "SLAB, one by one": {"kconfig": SLAB, **SINGLY},
}
"""Settings of MEMORY, and what they change in the testbed besides the kernel."""
NONE, SINGLE, NO_PREEMPTION, TIMED = "none", "one by one", "preempt=none", "irqlab-82559"
LIST_SIZES = (64, 256, 896)
"""At the last two NAPI is slower than TX-OFF in the paper."""
BOARD = "mpc8250"
CHARGED, HANDLER = f"costs of {BOARD}", "costs with one in the handler"
WITH_HANDLER = Costs(byte=10.875, free_irq=5203, netif_rx=2236)
"""An earlier fit to table 1, with a cost for each frame that is put on the backlog, which the handler does."""
FEW_FRAMES, QUICK_FEW_FRAMES = 20_000, 2_000
"""Per interface, for table 3 under a condition."""
_DIGITS = figures(4)


@dataclass(frozen=True)
class ThroughputCauseRow:
    """A throughput without loss, both directions together, the wire's limit lifted."""

    cause: Annotated[str, Col("Cause")]
    setting: Annotated[str, Col("Setting")]
    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    throughput_pps: Annotated[float, Col("Throughput", "frames/s")]
    instructions_per_frame: Annotated[float | None, Col("Instructions a frame")]
    paper_mbps: Annotated[float, Col("The paper", "Mbit/s per interface")]


@dataclass(frozen=True)
class CollapseCauseRow:
    """Where ORIGINAL collapses with 64-byte frames."""

    setting: Annotated[str, Col("Setting")]
    variant: Annotated[str, Col("Variant")]
    loss_free_pps: Annotated[float, Col("Loss-free", "frames/s", _DIGITS)]
    collapse_pps: Annotated[float | None, Col("Collapse at", "frames/s", _DIGITS)]
    collapse_ratio: Annotated[float | None, Col("Collapse / loss-free", "", _DIGITS)]
    paper_collapse_ratio: Annotated[float | None, Col("paper", "", _DIGITS)]


@dataclass(frozen=True)
class InterruptCauseRow:
    """Table 3's load under a condition, as shares: of the frames offered; interrupts of the frames received or sent."""

    setting: Annotated[str, Col("Setting")]
    variant: Annotated[str, Col("Variant")]
    forwarded_share: Annotated[float, Col("Forwarded", "share", _DIGITS)]
    paper_forwarded_share: Annotated[float, Col("paper", "", _DIGITS)]
    rx_interrupts_per_frame: Annotated[float, Col("RX interrupts a frame", "", _DIGITS)]
    paper_rx_interrupts_per_frame: Annotated[float, Col("paper", "", _DIGITS)]
    tx_interrupts_per_frame: Annotated[float, Col("TX interrupts a frame", "", _DIGITS)]
    paper_tx_interrupts_per_frame: Annotated[float, Col("paper", "", _DIGITS)]


@dataclass(frozen=True)
class Condition:
    """What differs from the first run: of the testbed, and of the trials."""

    name: str
    changes: dict[str, Any] = field(default_factory=dict, hash=False)
    costs: Costs | None = None
    off_without: str | None = None
    """Of the schemes."""


def conditions(quick: bool) -> tuple[Condition, ...]:
    """Those of the overload, without any first."""
    board = hardware.load(BOARD)
    charged = {"cost_model": True, "mips": board.mips}
    every = (
        Condition(NONE),
        Condition(NO_PREEMPTION, {"kernel_arguments": NO_PREEMPTION}),
        Condition(TIMED, {"nic": TIMED}),
        Condition(CHARGED, charged, board.costs),
        Condition(HANDLER, charged, WITH_HANDLER),
    )
    return tuple(one for one in every if not quick or one.name in (NONE, CHARGED))


@dataclass(frozen=True)
class _Plan:
    cause: str
    condition: Condition
    frame_bytes: int
    variant: str


def _plans(quick: bool, long: bool) -> Iterator[_Plan]:
    by = {one.name: one for one in conditions(quick=False)}
    for setting in ("ours", AS_PAPER) if quick else FREED:
        for variant in ("NAPI-TX-OFF",) if quick else ("TX-OFF", "NAPI-TX-OFF"):
            yield _Plan(FREEING, Condition(setting, off_without=FREED[setting]), BYTES, variant)
    for size in LIST_SIZES[1:2] if quick else LIST_SIZES:
        for variant in ("TX-OFF", "NAPI"):
            yield from (_Plan(LISTS, by[name], size, variant) for name in (NONE, CHARGED))
        yield _Plan(LISTS, Condition(SINGLE, {"dut": DutConfig(attributes=ONE_BY_ONE)}), size, "NAPI")
    if not quick:
        for cause, name in ((BASE_CAUSE, NONE), (PREEMPTION, NO_PREEMPTION), (CHIP, TIMED)):
            yield from (_Plan(cause, by[name], BYTES, variant) for variant in (BASE, "NAPI", "NAPI-TX-OFF"))
    for setting, changes in MEMORIES.items() if long and not quick else ():
        on = Condition(setting, {"kernel": patches.kernel(*PATCH), **changes})
        yield from (_Plan(MEMORY, on, BYTES, variant) for variant in VARIANTS)


def throughputs(run: Run) -> Table[ThroughputCauseRow]:
    """Experiments on table 1."""
    paper = paper_mbps()

    def job(plan: _Plan) -> Job[MethodResult]:
        beyond = plan.frame_bytes != BYTES and not run.quick  # a quick look has no size at which the wire is the limit
        workload = replace(run.workload(plan.frame_bytes), above_line_rate=beyond, costs=plan.condition.costs)
        bed = _bed(run, plan.condition, plan.variant)
        return Job(f"{plan.variant}, {plan.condition.name}", bed, partial(search.run, workload=workload))

    def figures(found: MethodResult, plan: _Plan) -> tuple[object, ...]:
        return plan, {
            "setting": plan.condition.name,
            "throughput_pps": round(found.total_throughput_pps or 0.0, 1),
            "instructions_per_frame": rounded(found.instructions_per_frame, 1),
            "paper_mbps": paper[plan.frame_bytes, plan.variant],
        }

    found = measured(run.session, "causes: throughput", cases(plan=_plans(run.quick, run.session.long)), job)
    return found.table("Throughput: one cause on and off", ThroughputCauseRow, figures)


def collapses(run: Run) -> Table[CollapseCauseRow]:
    """Figure 5's collapse of ORIGINAL under each condition."""
    precision = curves.QUICK_PRECISION if run.quick else curves.PRECISION

    def job(one: Condition) -> Job[curves.Curve]:
        workload = replace(run.workload(BYTES), costs=one.costs)
        return Job(one.name, _bed(run, one, BASE), partial(_collapse, workload=workload, precision=precision))

    paper_ratio = curves.paper_collapse(BASE).ratio
    return measured(run.session, "causes: collapse", cases(one=conditions(run.quick)), job).table(
        f"Figure 5: where {BASE} collapses, under conditions",
        CollapseCauseRow,
        lambda curve, one: CollapseCauseRow(one.name, BASE, curve.loss_free_pps, curve.collapse.at_pps, curve.ratio, paper_ratio),
    )


def _collapse(runner: TrialRunner, workload: Workload, precision: float) -> curves.Curve:
    known = search.run(runner, workload)
    return curves.curve(runner, workload, curves.QUICK_POINTS, precision, known)


def _bed(run: Run, condition: Condition, variant: str) -> Testbed:
    schemes = replace(combine(variant)[0], off_without=condition.off_without)
    return run.session.testbed(schemes, **condition.changes)


def table3(run: Run) -> Table[InterruptCauseRow]:
    """Table 3's load under each condition, for a shorter time."""
    frames = QUICK_FEW_FRAMES if run.quick else FEW_FRAMES

    def job(one: Condition, variant: str) -> Job[ForwardingResult]:
        workload = Workload(size=interrupts.FRAME_BYTES, bidirectional=True, costs=one.costs)
        work = partial(interrupts.arrivals, workload=workload, frames=frames)
        return Job(f"{variant}, {one.name}", _bed(run, one, variant), work)

    every = cases(one=conditions(run.quick), variant=interrupts.VARIANTS)
    return measured(run.session, "causes: interrupts", every, job).table(
        f"Table 3's load, {frames:,} frames per interface, under conditions",
        InterruptCauseRow,
        lambda trial, one, variant: _shares(one.name, interrupts.row_of(variant, trial)),
    )


def _shares(setting: str, row: interrupts.InterruptRow) -> InterruptCauseRow:
    def share(count: int | None, of: int) -> float:
        return round((count or 0) / max(1, of), 5)

    return InterruptCauseRow(
        setting=setting,
        variant=row.variant,
        forwarded_share=round(row.forwarded_share, 5),
        paper_forwarded_share=round(row.paper_forwarded_share, 5),
        rx_interrupts_per_frame=share(row.rx_interrupts, row.received_frames),
        paper_rx_interrupts_per_frame=share(row.paper.rx_interrupts, row.paper.received_frames),
        tx_interrupts_per_frame=share(row.tx_interrupts, row.transmitted_frames),
        paper_tx_interrupts_per_frame=share(row.paper.tx_interrupts, row.paper.transmitted_frames),
    )
