# SPDX-License-Identifier: GPL-2.0-or-later
"""The workload of a method: the traffic and duration of its trials."""

from __future__ import annotations

from dataclasses import dataclass

from irqlab.config.costs import Costs
from irqlab.config.traffic import ARRIVALS, Arrivals, FrameSize, check_size
from irqlab.errors import IrqlabError

RELATIVE_WIDTH = 0.002
MIN_DURATION_S, MAX_DURATION_S = 0.001, 3600
MAX_WARMUP_S = 60
MAX_SEED = (1 << 64) - 1
"""What the tester takes."""


@dataclass(frozen=True)
class Workload:
    """The traffic and duration of a method's trials. Raises IrqlabError for a value out of range, in the words of the options."""

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

    def __post_init__(self) -> None:
        check_size(self.size)
        if not MIN_DURATION_S <= (seconds := self.duration_ns / 1e9) <= MAX_DURATION_S:
            raise IrqlabError(f"--duration {seconds:.12g}: allowed are {MIN_DURATION_S:g} to {MAX_DURATION_S} seconds")
        if not 0 <= (seconds := self.warmup_ns / 1e9) <= MAX_WARMUP_S:
            raise IrqlabError(f"--warmup {seconds:.12g}: allowed are 0 to {MAX_WARMUP_S} seconds")
        if self.arrivals not in ARRIVALS:
            raise IrqlabError(f"--arrivals {self.arrivals}: allowed are {', '.join(ARRIVALS[:-1])} and {ARRIVALS[-1]}")
        if not 0 <= self.loss_tolerance < 1:
            raise IrqlabError(f"--loss-tolerance {self.loss_tolerance}: allowed are 0 up to, but not including, 1")
        if not 0 <= self.seed <= MAX_SEED:
            raise IrqlabError(f"--seed {self.seed}: allowed are 0 to {MAX_SEED}")
