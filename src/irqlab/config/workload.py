# SPDX-License-Identifier: GPL-2.0-or-later
"""What a method offers: the traffic of its trials and how long they last."""

from __future__ import annotations

from dataclasses import dataclass

from irqlab.config.costs import Costs
from irqlab.config.traffic import Arrivals, FrameSize

RELATIVE_WIDTH = 0.002


@dataclass(frozen=True)
class Workload:
    """What a method offers."""

    size: FrameSize = 64
    bidirectional: bool = False
    arrivals: Arrivals = "constant"
    duration_ns: int = 200_000_000
    warmup_ns: int = 50_000_000
    above_line_rate: bool = False
    """Offer more than the wire carries."""
    seed: int = 1
    loss_tolerance: float = 0.0
    """Lost share of the frames that throughput still tolerates."""
    histogram: bool = False
    capture: str | None = None
    costs: Costs | None = None
    """Hardware costs that every trial charges; the bed must have the cost model."""
    relative_width: float = RELATIVE_WIDTH
    """A search ends when the highest passing and the lowest failing rate are this close."""
    expected_pps: float | None = None
    """Throughput per direction to search around: saves trials where it is nearly right, costs some where it is not."""
