# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a paper measures: beds as asked for, jobs side by side, progress. After Ctrl-C the trials made are in the cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from irqlab.config.hardware import Hardware
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.errors import IrqlabError
from irqlab.qemu import machine
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True)
class Job(Generic[T]):
    """Work on one bed, and what it is called while it is done. It must depend on nothing but the stand."""

    label: str
    testbed: Testbed
    work: Callable[[TrialRunner], T]


@dataclass
class Session:
    """A run of a paper. A context manager: leaving it takes the progress bar away."""

    config: TestbedConfig
    """Driver, NIC, kernel and speed; papers replace the schemes."""
    quick: bool = False
    """Fewer points, shorter trials: a look, not the reproduction."""
    jobs: int = 1
    hardware: Hardware | None = None
    """Measure with the costs of this hardware, too."""
    results: list[MethodResult] = field(default_factory=list)
    """Every method's result, in the order in which jobs were given."""

    def __post_init__(self) -> None:
        self._slots = threading.Semaphore(self.jobs)
        self._testbeds: dict[TestbedConfig, Testbed] = {}
        self._board = _Board()

    def __enter__(self) -> Session:
        self._board.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._board.stop()

    def testbed(self, schemes: Schemes | None = None, **changes: Any) -> Testbed:
        """The bed with these schemes; `changes` replace fields of the BedConfig. The same one for the same question."""
        config = replace(self.config, **changes)
        if schemes is not None:
            config = replace(config, dut=replace(config.dut, schemes=schemes))
        if config not in self._testbeds:
            self._testbeds[config] = Testbed.resolve(config)
        return self._testbeds[config]

    def all(self, what: str, jobs: Mapping[K, Job[T]]) -> dict[K, T]:
        """Does independent jobs side by side; answers by their keys. The first error, or Ctrl-C, ends them all."""
        self._board.expect(what, len(jobs))
        pool = ThreadPoolExecutor(max_workers=max(1, min(32, len(jobs))))
        futures: dict[K, Future[T]] = {}
        try:
            for key, job in jobs.items():
                futures[key] = pool.submit(self._one, job)
            done, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            machine.cancel_all()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        answers = {key: future.result() for key, future in futures.items()}
        self.results += [answer for answer in answers.values() if isinstance(answer, MethodResult)]
        return answers

    def environment(self) -> list[dict[str, Any]]:
        """What was measured on, one entry per bed."""
        return [testbed.describe() for testbed in self._testbeds.values()]

    def _one(self, job: Job[T]) -> T:
        try:
            answer = job.work(TrialRunner(job.testbed, self._slots, lambda where: self._board.now(f"{job.label}: {where}")))
        except machine.CancelledError:
            raise
        except IrqlabError as error:
            raise IrqlabError(f"{job.label}: {error}") from error
        self._board.done(job.label)
        return answer


class _Board:
    """Progress on stderr: a bar on a terminal, a line per finished job elsewhere."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.bars = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.fields[now]}"), console=self.console,
        )  # fmt: skip
        self.live = self.console.is_terminal
        self.task: TaskID | None = None
        self.what = ""

    def start(self) -> None:
        if self.live:
            self.bars.start()

    def stop(self) -> None:
        if self.live:
            self.bars.stop()

    def expect(self, what: str, jobs: int) -> None:
        self.what = what
        self.task = self.bars.add_task(what, total=jobs, now="")

    def now(self, text: str) -> None:
        if self.live and self.task is not None:
            self.bars.update(self.task, now=text)

    def done(self, label: str) -> None:
        if self.task is not None:
            self.bars.update(self.task, advance=1)
        if not self.live:
            self.console.print(f"{self.what}: {label}: done", highlight=False, soft_wrap=True)
