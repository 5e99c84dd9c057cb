# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of the paper's tests: on the instruction clock alone, or with the costs of hardware."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from irqlab.config.hardware import Hardware
from irqlab.config.schemes import VARIANTS, Schemes, combine
from irqlab.config.traffic import FrameSize
from irqlab.config.workload import Workload
from irqlab.reproduce.session import Session, workload_of
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

T = TypeVar("T")
Work = Callable[[TrialRunner], T]

SEARCH_NS = 400_000_000
SEARCH_WIDTH = 0.0005
"""Longer trials and a finer search than usual: k S is but 4 % of T from the smallest frames to the largest."""


@dataclass(frozen=True)
class Run:
    """A session, and the hardware whose costs its trials charge; None: none."""

    session: Session
    hardware: Hardware | None = None

    @property
    def quick(self) -> bool:
        """Fewer points, shorter trials."""
        return self.session.quick

    @property
    def label(self) -> str:
        """Stands behind what is measured with costs."""
        return f", {self.hardware.name}" if self.hardware else ""

    def testbed(self, variant: str) -> Testbed:
        """The bed of one of the six variants."""
        return self.bed(combine(variant)[0])

    def bed(self, schemes: Schemes) -> Testbed:
        """The bed of any schemes."""
        if self.hardware is None:
            return self.session.testbed(schemes)
        return self.session.testbed(schemes, mips=self.hardware.mips, cost_model=True)

    def variants(self, what: str, sizes: Sequence[int], work: Callable[[int, str], Work[T]]) -> dict[tuple[int, str], T]:
        """The answers of the six variants at frame sizes. `work`: what is done, of size and variant."""
        jobs = {(size, v): Job(f"{v} {size} bytes", self.testbed(v), work(size, v)) for size in sizes for v in VARIANTS}
        return self.session.all(f"{what}{self.label}", jobs)

    def workload(self, size: FrameSize) -> Workload:
        """What every test offers: both directions at once, as in the paper."""
        return workload_of(self.quick, size, bidirectional=True, costs=self.hardware.costs if self.hardware else None)

    def search_plan(self, size: FrameSize) -> Workload:
        """The same for a search whose result the linear model is fitted to."""
        usual = self.workload(size)
        return usual if self.quick else replace(usual, duration_ns=SEARCH_NS, relative_width=SEARCH_WIDTH)
