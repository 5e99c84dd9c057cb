# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of the paper's tests: on the instruction clock alone, or with the costs of hardware."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irqlab.config.hardware import Hardware
from irqlab.config.schemes import Schemes, combine
from irqlab.config.traffic import FrameSize
from irqlab.config.workload import Workload
from irqlab.reproduce.session import Session
from irqlab.trials.testbed import Testbed

QUICK_NS, QUICK_WIDTH = 60_000_000, 0.01
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

    def workload(self, size: FrameSize) -> Workload:
        """What every test offers: both directions at once, as in the paper."""
        workload = Workload(size=size, bidirectional=True, costs=self.hardware.costs if self.hardware else None)
        if self.quick:
            return replace(workload, duration_ns=QUICK_NS, warmup_ns=QUICK_NS // 4, relative_width=QUICK_WIDTH)
        return workload

    def search_plan(self, size: FrameSize) -> Workload:
        """The same for a search whose result the linear model is fitted to."""
        return (
            self.workload(size)
            if self.quick
            else replace(self.workload(size), duration_ns=SEARCH_NS, relative_width=SEARCH_WIDTH)
        )
