# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a paper measures: testbeds as asked for, jobs side by side. After Ctrl-C the trials made are in the cache."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, TypeVar

from irqlab.config.ensemble import Ensemble, Member
from irqlab.config.hardware import Hardware
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.reproduce.table import Table, row_of
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job, JobRunner
from irqlab.setup import kernel
from irqlab.setup.kernel_trees import Options
from irqlab.trials.testbed import Testbed

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
T = TypeVar("T")


@dataclass
class Session:
    """A run of a paper. A context manager: leaving it takes the progress display away."""

    config: TestbedConfig
    """Driver, NIC, kernel and speed; papers replace the schemes."""
    quick: bool = False
    """Fewer points, shorter trials: a look, not the reproduction."""
    jobs: int = 1
    hardware: Hardware | None = None
    """Measure with the costs of this hardware, too."""
    long: bool = False
    """Also make trials as long as the paper's, if it has some."""
    results: list[MethodResult] = field(default_factory=list)
    """Every method's result, in the order in which jobs were given."""
    ensemble: Ensemble = field(default_factory=Ensemble)
    """Measure once for each member."""

    def __post_init__(self) -> None:
        self._runner = JobRunner(self.jobs)
        self._testbeds: dict[TestbedConfig, Testbed] = {}
        self._member: Member | None = None

    def __enter__(self) -> Session:
        self._runner.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._runner.__exit__(kind, error, trace)

    def members(self) -> Iterator[None]:
        """Iterates over the members: what is measured meanwhile is measured by one of them."""
        for member in self.ensemble.cast():
            self._member, before = member, len(self.results)
            yield
            if member is not None:
                for result in self.results[before:]:
                    result.ensemble = {"member": member.number}
        self._member = None

    def testbed(self, schemes: Schemes | None = None, **changes: Any) -> Testbed:
        """The testbed with these schemes; `changes` replace fields of the TestbedConfig. The same one for the same question."""
        config = replace(self.config, member=self._member, **changes)
        if schemes is not None:
            config = replace(config, dut=replace(config.dut, schemes=schemes))
        if config not in self._testbeds:
            self._testbeds[config] = Testbed.resolve(config)
        return self._testbeds[config]

    def kernel_release(self) -> str:
        """The release of the DUT's kernel, as `uname -r` has it. Raises SetupError."""
        return kernel.resolve(self.config.kernel, Options(self.config.kconfig, self.config.debug)).release

    def all(self, what: str, jobs: Mapping[K, Job[T]]) -> dict[K, T]:
        """Does independent jobs side by side; answers by their keys. The first error, or Ctrl-C, ends them all."""
        number = self._member.number if self._member else 0
        answers = self._runner.run(f"{what} #{number}" if number else what, jobs)
        self.results += [answer for answer in answers.values() if isinstance(answer, MethodResult)]
        return answers

    def environment(self) -> list[dict[str, Any]]:
        """What was measured on, one entry per testbed."""
        return [testbed.describe() for testbed in self._testbeds.values()]


def grid(
    session: Session,
    what: str,
    title: str,
    row: type[R],
    cases: Iterable[Mapping[str, Any]],
    job: Callable[..., Job[T]],
    figures: Callable[..., object] = lambda answer, **_: answer,
) -> Table[R]:
    """A table with a row for each case, whose job is done.

    `cases`: columns by name, which are the arguments of `job`; `figures`: of a job's answer and its case, where the other columns
    are from, by name.
    """
    every = list(cases)
    answers = session.all(what, {tuple(case.values()): job(**case) for case in every})
    rows = (row_of(row, case, figures(answers[tuple(case.values())], **case)) for case in every)
    return Table(title, row, tuple(rows))
