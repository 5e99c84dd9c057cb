# SPDX-License-Identifier: GPL-2.0-or-later
"""Figure 8: the round trip of pings, which the kernel answers; no process takes part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from irqlab.config.traffic import Load
from irqlab.present.columns import Col
from irqlab.reproduce.salah2009.rows import Row
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import Asked, Batch, run, trial_table
from irqlab.trials.application import ApplicationTrial
from irqlab.trials.testbed import Testbed

RATES_PPS = (10.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16000.0, 32000.0)
"""The paper's sender reached 8 kpps."""
QUICK_RATES_PPS = (100.0, 8000.0)
DURATION_NS, QUICK_DURATION_NS = 500_000_000, 200_000_000


@dataclass(frozen=True)
class PingRow:
    """Pings at a rate."""

    scheme: Annotated[str, Col("Scheme")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    answered_pps: Annotated[float, Col("Answered", "frames/s")]
    mean_ns: Annotated[float | None, Col("Mean", "ns")]
    p50_ns: Annotated[int | None, Col("p50", "ns")]
    p99_ns: Annotated[int | None, Col("p99", "ns")]
    max_ns: Annotated[int | None, Col("max", "ns")]
    interrupts_per_s: Annotated[float, Col("Interrupts a second")]
    cpu_available: Annotated[float, Col("CPU left", "share")]


def measure(session: Session, testbed: Testbed, chosen: Sequence[Row]) -> Table[PingRow]:
    """Every row at every rate."""
    rates, duration_ns = (QUICK_RATES_PPS, QUICK_DURATION_NS) if session.quick else (RATES_PPS, DURATION_NS)

    def trial(row: Row, rate_pps: float) -> Asked:
        return vars(row), ApplicationTrial(Load(rate_pps=rate_pps), row.tuning, kind="ping", duration_ns=duration_ns)

    found = run(session, "pings", [Batch(row.name, testbed, [trial(row, rate) for rate in rates]) for row in chosen])
    title = "Figure 8: round trip of pings, answered by the kernel"
    return trial_table(title, PingRow, found, lambda r: {"answered_pps": r.returned_pps})
