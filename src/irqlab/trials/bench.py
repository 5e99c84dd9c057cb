# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs trials: the lab (irqlab.trials.testbed), or real ports (irqlab.live.testbed)."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from irqlab.config.ensemble import Member
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import FrameSize
from irqlab.setup.nics import Nic
from irqlab.trials.initial import LineProfile
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial

R = TypeVar("R")


class Bench(Protocol):
    """A device under test with the tester on both sides. Trials may be asked for in several threads."""

    @property
    def config(self) -> TestbedConfig:
        """What was asked for. `mips` is 0 on real ports: instructions are not counted."""

    @property
    def nic(self) -> Nic:
        """The NIC under test."""

    @property
    def driver(self) -> str:
        """The name of the driver under test."""

    @property
    def label(self) -> str:
        """The driver with the requested schemes."""

    @property
    def where(self) -> str:
        """What it is measured on, for the user."""

    def scheme_names(self) -> dict[str, str | None]:
        """`rx_scheme`, `tx_scheme` and `variant`, as in result rows; all None if the driver is not built on irqmod."""

    def describe(self) -> dict[str, Any]:
        """The DUT as in result documents (irqlab.results.environment)."""

    def with_member(self, member: Member | None) -> Bench:
        """The same for a member of an ensemble."""

    def ceiling_pps(self, size: FrameSize, bidirectional: bool) -> float:
        """The highest rate of one direction, in frames/s, that the tester can offer; infinite in the lab."""

    def most_pps(self, size: FrameSize, bidirectional: bool) -> float:
        """The highest rate of one direction, in frames/s, that is worth a trial; infinite in the lab."""

    def run(self, trial: Trial[R], cached: bool = True) -> R:
        """A trial's result. Not `cached`: it runs even if its result is known. Raises IrqlabError."""

    def profile(self, trial: Trial[R], addresses: dict[str, Any], lines: LineProfile | None = None) -> tuple[R, dict[str, Any]]:
        """As `run`, and the profile of its window (docs/inside/protocol.md, `profile`). Raises IrqlabError on real ports."""

    def lab(self) -> Testbed:
        """The lab's testbed, in which the DUT can be opened and looked into. Raises IrqlabError on real ports."""
