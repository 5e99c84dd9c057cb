# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of the paper's tests: on the instruction clock alone, or with the costs of hardware."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irqlab.bed import Bed
from irqlab.hardware import Hardware
from irqlab.methods.stand import Plan
from irqlab.reproduce.session import Session
from irqlab.schemes import combine
from irqlab.trial import FrameSize

QUICK_NS = 100_000_000
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

    def bed(self, variant: str) -> Bed:
        """The bed of one of the six variants."""
        schemes = combine(variant)[0]
        if self.hardware is None:
            return self.session.bed(schemes)
        return self.session.bed(schemes, mips=self.hardware.mips, cost_model=True)

    def plan(self, size: FrameSize) -> Plan:
        """What every test offers: both directions at once, as in the paper."""
        plan = Plan(size=size, bidirectional=True, costs=self.hardware.costs if self.hardware else None)
        if self.quick:
            return replace(plan, duration_ns=QUICK_NS, warmup_ns=QUICK_NS // 4)
        return plan

    def search_plan(self, size: FrameSize) -> Plan:
        """The same for a search whose result the linear model is fitted to."""
        return self.plan(size) if self.quick else replace(self.plan(size), duration_ns=SEARCH_NS, relative_width=SEARCH_WIDTH)
