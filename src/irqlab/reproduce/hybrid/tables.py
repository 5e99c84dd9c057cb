# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables; their fields' names are those of the CSV files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from irqlab.present.columns import Col
from irqlab.reproduce.table import Table


@dataclass(frozen=True)
class CliffRow:
    """The cliff of a kernel by one sign, with disable-enable."""

    kernel: Annotated[str, Col("Linux")]
    application: Annotated[str, Col("Application")]
    found: Annotated[str, Col("Found by")]
    cliff_pps: Annotated[float | None, Col("Cliff", "frames/s")]
    """None: the sign was not seen."""
    chosen: Annotated[bool, Col("Chosen")]


@dataclass(frozen=True)
class ThroughputRow:
    """What the application receives under a scheme. What is lost is a share of the frames sent."""

    kernel: Annotated[str, Col("Linux")]
    scheme: Annotated[str, Col("Scheme")]
    load_of_cliff: Annotated[float, Col("Load", "of the cliff")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    to_best: Annotated[float, Col("to the best", title="of what is offered, and of what DE and NAPI (300) receive")]
    lost_nic: Annotated[float, Col("Lost by the NIC")]
    lost_socket: Annotated[float, Col("socket")]
    interrupts_per_s: Annotated[float, Col("Interrupts a second")]
    cpu_available: Annotated[float, Col("CPU left", "share")]
    ksoftirqd_share: Annotated[float, Col("ksoftirqd runs", "share")]


@dataclass(frozen=True)
class LatencyRow:
    """The round trip through an application that echoes, below its cliff."""

    kernel: Annotated[str, Col("Linux")]
    scheme: Annotated[str, Col("Scheme")]
    load_of_echo_cliff: Annotated[float, Col("Load", "of the echo's cliff")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    p50_ns: Annotated[int | None, Col("p50", "ns")]
    p99_ns: Annotated[int | None, Col("p99", "ns")]


@dataclass(frozen=True)
class ConditionRow:
    """A scheme at a load under a condition."""

    condition: Annotated[str, Col("Condition")]
    options: Annotated[str, Col("Options")]
    kernel: Annotated[str, Col("Linux")]
    scheme: Annotated[str, Col("Scheme")]
    load_of_cliff: Annotated[float, Col("Load", "of the cliff")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    off_pps: Annotated[float, Col("without the condition", "frames/s")]
    interrupts_per_s: Annotated[float, Col("Interrupts a second")]
    ksoftirqd_share: Annotated[float, Col("ksoftirqd runs", "share")]


@dataclass(frozen=True)
class Tables:
    """Kernels, and conditions."""

    cliff: Table[CliffRow]
    throughput: Table[ThroughputRow]
    latency: Table[LatencyRow]
    conditions: Table[ConditionRow]
    softirqs: Table[ConditionRow] | None = None
    """Of the kernel with the paper's softirqs; None: not asked for (--long)."""

    @property
    def kernels(self) -> tuple[str, ...]:
        """Those compared, in their order."""
        return tuple(self.throughput.by(lambda r: r.kernel))
