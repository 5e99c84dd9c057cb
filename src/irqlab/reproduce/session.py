# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a paper measures: testbeds as asked for, jobs side by side. After Ctrl-C the trials made are in the cache."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from types import TracebackType
from typing import Any, Generic, TypeVar

from irqlab.config.costs import Costs
from irqlab.config.ensemble import Ensemble, Member
from irqlab.config.hardware import Hardware
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import FrameSize
from irqlab.config.workload import Workload
from irqlab.reproduce.table import Table, sources_of, table_of
from irqlab.results.document import MethodResult
from irqlab.results.records import EnsembleRow
from irqlab.runner.jobs import Job, JobRunner
from irqlab.setup import kernel
from irqlab.setup.kernel_trees import Options
from irqlab.trials.testbed import Testbed

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
T = TypeVar("T")

QUICK_NS, QUICK_WIDTH = 60_000_000, 0.01
"""Of a search of a quick look: how long a trial is, and how fine it is."""


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
                    result.ensemble = EnsembleRow(member.number)
        self._member = None

    @property
    def first(self) -> bool:
        """Whether a member is measured that no other one was before; so it is without an ensemble."""
        return self._member is None or self._member.number == 0

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


def workload_of(quick: bool, size: FrameSize = 64, bidirectional: bool = False, costs: Costs | None = None) -> Workload:
    """What a search offers; in a quick look shorter trials, and a coarser search."""
    usual = Workload(size=size, bidirectional=bidirectional, costs=costs)
    return replace(usual, duration_ns=QUICK_NS, warmup_ns=QUICK_NS // 4, relative_width=QUICK_WIDTH) if quick else usual


def cases(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Every combination of values of columns; the last column changes fastest."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


@dataclass(frozen=True)
class Grid(Generic[T]):
    """Cases, which are columns by name, and the answer of each one's job."""

    cases: Sequence[Mapping[str, Any]]
    answers: Sequence[T]

    def __iter__(self) -> Iterator[tuple[Mapping[str, Any], T]]:
        return zip(self.cases, self.answers, strict=True)

    def of(self, **columns: Any) -> T:
        """The answer of the first case with these values. Raises StopIteration if there is none."""
        return next(answer for case, answer in self if columns.items() <= case.items())

    def table(self, title: str, row: type[R], figures: Callable[..., object] = lambda answer, **_: answer) -> Table[R]:
        """A row for each case. `figures`: of an answer and its case, where columns are from (see table_of); else the case."""
        return table_of(title, row, ((*sources_of(figures(answer, **case)), case) for case, answer in self))


def measured(session: Session, what: str, cases: Iterable[Mapping[str, Any]], job: Callable[..., Job[T]]) -> Grid[T]:
    """Does the job of each case. `job`: makes it, of the case's columns."""
    every = list(cases)
    answers = session.all(what, {tuple(case.values()): job(**case) for case in every})
    return Grid(every, [answers[tuple(case.values())] for case in every])
