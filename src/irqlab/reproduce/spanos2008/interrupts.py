# SPDX-License-Identifier: GPL-2.0-or-later
"""Table 3: interrupts while 512-byte frames arrive at the wire's rate at both interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.present.columns import Col, Nested
from irqlab.reproduce import reference
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.table import Table
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

FRAMES = 1_000_000
"""Per interface, as in the paper."""
QUICK_FRAMES = 5_000
FRAME_BYTES = 512
VARIANTS = ("ORIGINAL", "TX-OFF", "NAPI", "NAPI-TX-OFF")
"""Those of the paper's table 3."""


@dataclass(frozen=True)
class Counts:
    """What table 3 counts, over both interfaces."""

    offered_frames: Annotated[int, Col("offered")]
    received_frames: Annotated[int, Col("received")]
    transmitted_frames: Annotated[int, Col("transmitted")]
    rx_interrupts: Annotated[int, Col("RX interrupts")]
    tx_interrupts: Annotated[int, Col("TX interrupts")]


@dataclass(frozen=True)
class InterruptRow:
    """A row of table 3: counts over the whole trial, both interfaces together."""

    variant: Annotated[str, Col("Variant")]
    offered_frames: Annotated[int, Col("Offered")]
    received_frames: Annotated[int, Col("Received")]
    """Handed to the kernel, by the interfaces' counters."""
    transmitted_frames: Annotated[int, Col("Transmitted")]
    rx_interrupts: Annotated[int | None, Col("RX interrupts")]
    tx_interrupts: Annotated[int | None, Col("TX interrupts")]
    """By cause; None if the driver does not tell."""
    paper: Annotated[Counts, Nested("paper: ")]
    idle_ratio: Annotated[float, Col("CPU idle", "share")]

    @property
    def forwarded_share(self) -> float:
        """Of the frames offered."""
        return self.transmitted_frames / self.offered_frames

    @property
    def paper_forwarded_share(self) -> float:
        """The same in the paper."""
        return self.paper.transmitted_frames / self.paper.offered_frames


def arrivals(runner: TrialRunner, workload: Workload, frames: int) -> ForwardingResult:
    """All frames, from the first to the last, at the wire's rate; nothing is offered before or after them."""
    rate_pps = runner.wire_pps(workload)
    spec = ForwardingTrial(
        loads=(Load(rate_pps=rate_pps, size=FRAME_BYTES, count=frames),),
        bidirectional=True,
        warmup_ns=0,
        duration_ns=round(frames / rate_pps * 1e9) + 1_000_000,
        costs=workload.costs,
    )
    trial = runner.trial(spec)
    runner.progress(f"{frames} frames")
    return trial


def measure(run: Run) -> dict[str, ForwardingResult]:
    """One trial per variant. The whole count is offered: a livelock's shares need not be those of a shorter one."""
    work = partial(arrivals, workload=run.workload(FRAME_BYTES), frames=QUICK_FRAMES if run.quick else FRAMES)
    return run.session.all(f"interrupts{run.label}", {v: Job(v, run.testbed(v), work) for v in VARIANTS})


def table3(found: Mapping[str, ForwardingResult]) -> Table[InterruptRow]:
    """Counts beside the paper's."""
    title = "Table 3: interrupts while 512-byte frames arrive at 100 Mbit/s at both interfaces"
    return Table(title, InterruptRow, tuple(row_of(variant, trial) for variant, trial in found.items()))


def row_of(variant: str, trial: ForwardingResult) -> InterruptRow:
    """A variant's row."""
    return InterruptRow(
        variant=variant,
        offered_frames=trial.total("sent"),
        received_frames=sum(counted["rx_packets"] for counted in trial.counters.interfaces.values()),
        transmitted_frames=trial.total("received"),
        rx_interrupts=_caused(trial, "rx_interrupts"),
        tx_interrupts=_caused(trial, "tx_interrupts"),
        paper=paper_counts(variant),
        idle_ratio=round(trial.idle_ratio or 0.0, 4),
    )


def paper_counts(variant: str) -> Counts:
    """A row of the paper's table 3."""
    said = reference.by("spanos2008_table3_interrupts", "driver")[variant]
    return Counts(
        offered_frames=2 * FRAMES,
        received_frames=int(said["received_frames"]),
        transmitted_frames=int(said["transmitted_frames"]),
        rx_interrupts=int(said["rx_interrupts"]),
        tx_interrupts=int(said["tx_interrupts"]),
    )


def _caused(trial: ForwardingResult, name: str) -> int | None:
    values = [counted[name] for counted in trial.counters.driver.values() if name in counted]
    return sum(values) if values else None
