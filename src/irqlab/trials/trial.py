# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial is: how it is named in the cache, how it runs, and how its result is stored and read back.

A trial is a frozen dataclass; its fields are all that it offers. It is a pure function of those and of the DUT's state at its
start: virtual time stands still whenever the lab thinks. The kinds of trials are the modules beside this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from irqlab.dut.counters import Counters
from irqlab.dut.router import Dut

R = TypeVar("R")


@dataclass(frozen=True)
class Conditions:
    """What a trial may know about the testbed it runs on."""

    driver: str
    mips: int
    line_rate_bps: int
    link_wait_ns: int
    """Virtual time from `up` until frames passed."""
    counters: Counters
    """The kernel's counters where trials start."""
    cost_model: bool = False
    """Hardware costs can be charged."""


class Trial(ABC, Generic[R]):
    """A trial with a result of type R: a dataclass with a field `spec`, the trial itself."""

    result_type: ClassVar[type]

    @property
    def cacheable(self) -> bool:
        """False for a trial that has to be run because it writes a file."""
        return True

    def specification(self) -> dict[str, Any]:
        """All that decides the result, as JSON data: the trial's name in the cache."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @abstractmethod
    def measure(self, dut: Dut, conditions: Conditions) -> R:
        """Runs the trial on a DUT as restored. Raises IrqlabError."""

    def store(self, result: R) -> dict[str, Any]:
        """The result as JSON data, less the specification."""
        content: dict[str, Any] = msgspec.to_builtins(result)
        del content["spec"]
        return content

    def restore(self, content: dict[str, Any]) -> R:
        """The result from `store`'s data. Raises msgspec.ValidationError for what is not that."""
        whole = {**content, "spec": msgspec.to_builtins(self)}
        return replace(msgspec.convert(whole, self.result_type), spec=self)
