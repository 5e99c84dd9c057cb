# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs jobs in parallel on their benches, with progress and a limit on concurrent trials.

The first error, or Ctrl-C, ends all jobs and QEMUs. Finished trials are in the cache.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Generic, TypeVar

from irqlab.errors import IrqlabError
from irqlab.qemu.cancellation import CancelledError, workers
from irqlab.runner.progress import ProgressDisplay
from irqlab.runner.runner import TrialRunner
from irqlab.trials.bench import Bench

MAX_THREADS = 64
"""Limit on concurrent jobs; concurrent trials are limited separately, by slots."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class UserInterruptError(IrqlabError):
    """Ctrl-C; results so far are kept."""


@contextmanager
def terminate_like_ctrl_c() -> Iterator[None]:
    """Context manager: SIGTERM raises KeyboardInterrupt."""

    def handler(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True)
class Job(Generic[T]):
    """Work on one bench, with a label for the progress display. It depends only on its runner."""

    label: str
    bench: Bench
    work: Callable[[TrialRunner], T]


@dataclass
class Answers(Generic[K, T]):
    """Results of jobs, filled while they run, so that finished ones survive an interruption."""

    done: dict[K, T] = field(default_factory=dict)
    runners: dict[K, TrialRunner] = field(default_factory=dict)
    """Each job's runner, with the trials it has run."""


class JobRunner:
    """Runs jobs. A context manager: leaving it removes the progress display."""

    def __init__(self, jobs: int = 1) -> None:
        self._slots = threading.Semaphore(jobs)
        self.display = ProgressDisplay()

    def __enter__(self) -> JobRunner:
        self.display.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.display.__exit__(kind, error, trace)

    def run(self, what: str, jobs: Mapping[K, Job[T]], answers: Answers[K, T] | None = None) -> dict[K, T]:
        """Runs independent jobs in parallel; returns their results by key, in the order of `jobs`.

        `answers` is filled meanwhile. Raises the first error, of several at once that of the first job. The label of the job
        stands before the text of an IrqlabError.
        """
        answers = Answers() if answers is None else answers
        batch = self.display.batch(what, len(jobs))
        futures: dict[K, Future[T]] = {}
        try:
            with workers(min(MAX_THREADS, len(jobs))) as pool:
                for key, job in jobs.items():
                    tell, finished = batch.job(job.label)
                    answers.runners[key] = TrialRunner(job.bench, self._slots, tell)
                    futures[key] = pool.submit(_one, job, answers.runners[key], finished)
                finished_or_failed, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
                for future in futures.values():
                    if future in finished_or_failed:
                        future.result()
        finally:
            for key, future in futures.items():
                if not future.cancelled() and future.exception() is None:
                    answers.done[key] = future.result()
        return answers.done


def _one(job: Job[T], runner: TrialRunner, finished: Callable[[], None]) -> T:
    try:
        answer = job.work(runner)
    except CancelledError:
        raise
    except IrqlabError as error:
        raise IrqlabError(f"{job.label}: {error}") from error
    finished()
    return answer
