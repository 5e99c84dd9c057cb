# SPDX-License-Identifier: GPL-2.0-or-later
"""The base class of trials: its key in the cache, how it runs, and how its result is stored and read back.

A trial is a frozen dataclass whose fields specify the load. Its result is a pure function of these fields and of the DUT's
initial state, since virtual time stops while irqlab computes. The kinds of trials are in the other modules of this package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from irqlab.config.placement import Placement
from irqlab.dut.counters import Counters
from irqlab.dut.router import Dut
from irqlab.typed import typed

R = TypeVar("R")


@dataclass(frozen=True)
class Conditions:
    """Facts about the testbed that a trial may use."""

    driver: str
    mips: int
    line_rate_bps: int
    link_wait_ns: int
    """Virtual time from setting the link up until frames passed."""
    counters: Counters
    """The kernel's counters in the initial state."""
    cost_model: bool = False
    """Whether hardware costs can be charged."""
    processors: int = 1
    placement: Placement = field(default_factory=Placement)
    instruction_ns: float | None = None
    """With a memory model: how long an instruction takes that does not stall. None: without one, instructions are the time."""


class Trial(ABC, Generic[R]):
    """A trial with a result of type R: a dataclass with a field `spec`, the trial itself."""

    result_type: ClassVar[type]

    @property
    def cacheable(self) -> bool:
        """False if the trial has to run because it writes a file."""
        return True

    def specification(self) -> dict[str, Any]:
        """Everything that determines the result, as JSON data; part of the cache key."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @abstractmethod
    def measure(self, dut: Dut, conditions: Conditions) -> R:
        """Runs the trial on a restored DUT. Raises IrqlabError."""

    def measure_again(self, dut: Dut, conditions: Conditions) -> R:
        """As `measure`, on a DUT that was not just restored, so that its counters are not known."""
        return self.measure(dut, conditions)

    def without_memory(self, result: R) -> R:
        """The result without the memory model's counters, if it has any."""
        return result

    def store(self, result: R) -> dict[str, Any]:
        """The result as JSON data, without the specification."""
        content: dict[str, Any] = msgspec.to_builtins(result)
        del content["spec"]
        return content

    def restore(self, content: dict[str, Any]) -> R:
        """Reads a result back from `store`'s data. Raises msgspec.ValidationError if the data do not match."""
        whole = {**content, "spec": msgspec.to_builtins(self)}
        return replace(typed(whole, self.result_type), spec=self)
