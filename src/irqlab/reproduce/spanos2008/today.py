# SPDX-License-Identifier: GPL-2.0-or-later
"""Schemes of today, searched like table 1: completions taken in the poll, and moderation by the kernel's net_dim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from irqlab.config.schemes import VARIANT_WEIGHT, Schemes
from irqlab.present.columns import Col
from irqlab.reproduce.spanos2008 import throughput
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.throughput import BASE, ThroughputRow, sizes_of, us_per_frame
from irqlab.reproduce.table import Table
from irqlab.runner.jobs import Job

SCHEMES = {"NAPI, poll": ("napi", "poll"), "dim, off": ("dim", "off"), "dim, poll": ("dim", "poll")}
"""Receive and transmit scheme. `poll` with NAPI is what nearly all drivers of today do."""


@dataclass(frozen=True)
class TodayRow:
    """A size and a pair of schemes. Mbit/s are per interface, preamble and gap counted."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    schemes: Annotated[str, Col("Schemes")]
    """One of SCHEMES."""
    throughput_mbps: Annotated[float, Col("", "Mbit/s")]
    capped: Annotated[bool, Col("Wire is the limit")]
    free_mbps: Annotated[float, Col("Without the wire's limit", "Mbit/s")]
    free_ratio: Annotated[float, Col(f"times {BASE}")]
    """Of ORIGINAL's, both without the wire's limit."""
    us_per_frame: Annotated[float, Col("Time a frame", "µs")]
    """1/rate, without the wire's limit."""


def measure(run: Run, sizes: Sequence[int], first: Table[ThroughputRow]) -> Table[TodayRow]:
    """The throughput with each pair of schemes at every size. `first`: table 1, for ORIGINAL's."""
    beds = {name: run.bed(Schemes(rx=rx, tx=tx, weight=VARIANT_WEIGHT)) for name, (rx, tx) in SCHEMES.items()}
    jobs = {name: Job(name, bed, partial(sizes_of, run=run, sizes=sizes)) for name, bed in beds.items()}
    found = run.session.all(f"schemes of today{run.label}", jobs)
    rows = []
    for size in sizes:
        base = throughput.base_of(first, size)
        for name in SCHEMES:
            wire, free = (results[size] for results in found[name])
            run.session.results += [wire] if free is wire else [wire, free]
            free_mbps = free.per_interface_throughput_mbps or 0.0
            row = TodayRow(
                frame_bytes=size,
                schemes=name,
                throughput_mbps=round(wire.per_interface_throughput_mbps or 0.0, 4),
                capped=bool(wire.line_rate_limited),
                free_mbps=round(free_mbps, 4),
                free_ratio=round(free_mbps / base.free_mbps, 4),
                us_per_frame=round(us_per_frame(free), 5),
            )
            rows.append(row)
    return Table("Schemes of today: zero-loss throughput per interface, Mbit/s", TodayRow, tuple(rows))
