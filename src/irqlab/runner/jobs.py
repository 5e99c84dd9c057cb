# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs jobs side by side on their testbeds, with a limit on trials at once and with progress.

The first error, or Ctrl-C, ends them all and leaves no QEMU behind. Trials that were made are in the cache.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Generic, TypeVar

from irqlab.errors import IrqlabError
from irqlab.qemu import machine
from irqlab.runner.progress import ProgressDisplay
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

MAX_THREADS = 64
"""Jobs under way at once. What they may run at once are trials, which the slots limit."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class UserInterruptError(IrqlabError):
    """Ctrl-C; what was measured so far is kept."""


@contextmanager
def terminate_like_ctrl_c() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt inside the block."""

    def handler(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True)
class Job(Generic[T]):
    """Work on one testbed, and what it is called while it is done. It depends on nothing but its runner."""

    label: str
    testbed: Testbed
    work: Callable[[TrialRunner], T]


@dataclass
class Answers(Generic[K, T]):
    """What jobs have come to so far: filled while they run, so that an interruption leaves what was done."""

    done: dict[K, T] = field(default_factory=dict)
    runners: dict[K, TrialRunner] = field(default_factory=dict)
    """Of every job, the runner with the trials it has made."""


class JobRunner:
    """A context manager: leaving it takes the progress display away."""

    def __init__(self, jobs: int = 1) -> None:
        self._slots = threading.Semaphore(jobs)
        self.display = ProgressDisplay()

    def __enter__(self) -> JobRunner:
        self.display.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.display.__exit__(kind, error, trace)

    def run(self, what: str, jobs: Mapping[K, Job[T]], answers: Answers[K, T] | None = None) -> dict[K, T]:
        """Does independent jobs side by side; returns their answers by key, in the order of `jobs`.

        `answers` is filled on the way. Raises the first job's error, an IrqlabError under the job's label.
        """
        answers = Answers() if answers is None else answers
        batch = self.display.batch(what, len(jobs))
        pool = ThreadPoolExecutor(max_workers=max(1, min(MAX_THREADS, len(jobs))))
        futures: dict[K, Future[T]] = {}
        try:
            for key, job in jobs.items():
                tell, finished = batch.job(job.label)
                answers.runners[key] = TrialRunner(job.testbed, self._slots, tell)
                futures[key] = pool.submit(_one, job, answers.runners[key], finished)
            finished_or_failed, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
            for future in finished_or_failed:
                future.result()
        except BaseException:
            machine.cancel_all()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            for key, future in futures.items():
                if not future.cancelled() and future.exception() is None:
                    answers.done[key] = future.result()
        return answers.done


def _one(job: Job[T], runner: TrialRunner, finished: Callable[[], None]) -> T:
    try:
        answer = job.work(runner)
    except machine.CancelledError:
        raise
    except IrqlabError as error:
        raise IrqlabError(f"{job.label}: {error}") from error
    finished()
    return answer
