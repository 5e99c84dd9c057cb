# SPDX-License-Identifier: GPL-2.0-or-later
"""The workload of a method: the traffic and duration of its trials."""

from __future__ import annotations

from dataclasses import dataclass

from irqlab.config.costs import Costs
from irqlab.config.traffic import Arrivals, FrameSize

RELATIVE_WIDTH = 0.002


@dataclass(frozen=True)
class Workload:
    """The traffic and duration of a method's trials."""

    size: FrameSize = 64
    bidirectional: bool = False
    arrivals: Arrivals = "constant"
    duration_ns: int = 200_000_000
    warmup_ns: int = 50_000_000
    above_line_rate: bool = False
    """Allow offered loads above line rate."""
    seed: int = 1
    loss_tolerance: float = 0.0
    """Share of frames that may be lost at the throughput."""
    histogram: bool = False
    capture: str | None = None
    costs: Costs | None = None
    """Hardware costs charged in every trial; the testbed must have the cost model."""
    relative_width: float = RELATIVE_WIDTH
    """Relative distance of the highest passing and the lowest failing rate at which a search ends."""
    trials_per_load: int = 1
    """With noise, on real ports: a load passes if more than half of so many trials do. 1: the first one decides."""
    expected_pps: float | None = None
    """Expected throughput per direction. A good guess saves trials of the search; a bad one costs some."""
    expected_within: float = 0.005
    """Initial half width of the bracket around it; it doubles until one end passes and the other fails."""
