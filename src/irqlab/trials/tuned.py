# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials with settings that are made in the running DUT first; and the one that finds out what can be set."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar, cast

from irqlab.config.change import Chosen
from irqlab.dut import settable
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.dut.settable import Settable
from irqlab.trials.bench import Bench
from irqlab.trials.fingerprint import code_fingerprint
from irqlab.trials.trial import Conditions, Trial

R = TypeVar("R")

LIMIT_NS = 5_000_000_000
"""Until frames have to pass after settings were made: some of them reset the NIC, and the link is negotiated anew."""


@dataclass(frozen=True)
class TunedTrial(Trial[Any]):
    """A trial after settings were made. The result is the trial's."""

    trial: Trial[Any]
    changes: tuple[Chosen, ...] = ()
    processor: int | None = None
    """Of the application, if the trial has one; None: the testbed's choice."""

    @property
    def cacheable(self) -> bool:
        """As the trial."""
        return self.trial.cacheable

    def specification(self) -> dict[str, Any]:
        """The trial's, with the settings."""
        return {
            "trial": [type(self.trial).__name__, self.trial.specification(), code_fingerprint(type(self.trial).__module__)],
            "changes": [asdict(one) for one in self.changes],
            "processor": self.processor,
        }

    def measure(self, dut: Dut, conditions: Conditions) -> Any:
        """Makes the settings, waits until frames pass, and runs the trial. Raises DutError if the DUT refuses a setting."""
        dut.play_hosts(conditions.line_rate_bps)
        if dut.tune(self.changes, conditions.processors) and dut.wait_forwarding(LIMIT_NS) is None:
            raise DutError("no frames pass any more")
        if self.processor is not None:
            conditions = replace(conditions, placement=replace(conditions.placement, application=self.processor))
        found = self.trial.measure_again(dut, conditions)
        dut.kernel_log.check()
        return found

    def store(self, result: Any) -> dict[str, Any]:
        """As the trial."""
        return self.trial.store(result)

    def restore(self, content: dict[str, Any]) -> Any:
        """As the trial."""
        return self.trial.restore(content)


@dataclass(frozen=True)
class SurveyResult:
    """What can be set."""

    spec: SurveyTrial
    settable: tuple[Settable, ...]
    interfaces: tuple[str, ...]


@dataclass(frozen=True)
class SurveyTrial(Trial[SurveyResult]):
    """Finds out what can be set (irqlab.dut.settable). Offers no load."""

    def measure(self, dut: Dut, conditions: Conditions) -> SurveyResult:
        """Tries every setting, and puts it back."""
        if not dut.interfaces:
            raise DutError("what can be set is known only with an agent: --dut user@board --dut-ports eth0,eth1")
        dut.play_hosts(conditions.line_rate_bps)
        found = settable.find(dut, dut.interfaces, conditions.processors, dut.note)
        if dut.wait_forwarding(LIMIT_NS) is None:
            raise DutError("no frames pass any more after settings were tried")
        dut.kernel_log.check()
        return SurveyResult(self, found, tuple(dut.interfaces))


SurveyTrial.result_type = SurveyResult


@dataclass(frozen=True)
class TunedBench:
    """A bench on which settings are made before each trial: a Bench, for the methods that it is given to."""

    bench: Bench
    changes: tuple[Chosen, ...] = ()
    processor: int | None = None
    """Of the application; None: the bench's choice."""

    def run(self, trial: Trial[R], cached: bool = True) -> R:
        """As the bench. Raises DutError if the DUT refuses a setting."""
        found: R = self.bench.run(TunedTrial(trial, self.changes, self.processor), cached)
        return found

    def __getattr__(self, name: str) -> Any:
        """Everything else is the bench's."""
        return getattr(self.bench, name)


def tuned(bench: Bench, changes: tuple[Chosen, ...], processor: int | None = None) -> Bench:
    """The bench with settings that are made before each trial."""
    return cast(Bench, TunedBench(bench, changes, processor))
