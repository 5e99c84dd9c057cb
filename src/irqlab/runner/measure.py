# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a method for every driver and size of a request, side by side, with progress, and keeps what was measured on Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from irqlab.cli.options import Request
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.qemu import machine
from irqlab.results import document as results
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

Method = Callable[[TrialRunner, Workload], list[MethodResult]]


class UserInterruptError(IrqlabError):
    """Ctrl-C; what was measured so far is kept."""


@dataclass
class Outcome:
    """What a request came to."""

    results: list[MethodResult] = field(default_factory=list)
    environment: list[dict[str, Any]] = field(default_factory=list)
    error: IrqlabError | None = None

    def document(self) -> dict[str, Any]:
        """The JSON document (docs/results.md)."""
        return results.document(["irqlab", *sys.argv[1:]], self.environment, self.results, complete=self.error is None)


class _Board:
    """Progress: bars on a terminal, lines elsewhere. To stderr, so that tables can be piped."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[where]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
        )
        self.live = self.console.is_terminal

    def __enter__(self) -> _Board:
        if self.live:
            self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.bars.stop()

    def task(self, name: str) -> Callable[[str], None]:
        """A line of its own; returns the function that says how it goes."""
        task: TaskID = self.bars.add_task(name, total=None, where="waiting")

        def say(where: str) -> None:
            if self.live:
                self.bars.update(task, where=where)
            else:
                self.console.print(f"{name}: {where}", highlight=False, soft_wrap=True)

        return say

    def say(self, text: str) -> None:
        """One line, on a terminal too."""
        if self.live:
            self.bars.console.print(text, highlight=False)
        else:
            self.console.print(text, highlight=False, soft_wrap=True)


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


def measure(request: Request, method: Method, name: str) -> Outcome:
    """Runs `method` for every driver and size. Errors and Ctrl-C end it; `Outcome.error` says so, results so far are kept."""
    outcome = Outcome()
    try:
        with terminate_like_ctrl_c(), _Board() as board:
            _measure(request, method, name, outcome, board)
    except KeyboardInterrupt:
        machine.cancel_all()
        trials = sum(len(result.trials) for result in outcome.results)
        outcome.error = UserInterruptError(f"interrupted; what was measured so far is kept ({trials} trials)")
    except IrqlabError as error:
        machine.cancel_all()
        outcome.error = error
    return outcome


@dataclass
class _Job:
    """A method at work on one driver and size."""

    runner: TrialRunner
    workload: Workload
    future: Future[list[MethodResult]]

    def results(self, name: str) -> list[MethodResult]:
        """What it found; if it was cut short, the trials it had made."""
        if self.future.done() and not self.future.cancelled() and self.future.exception() is None:
            return self.future.result()
        if not self.runner.done:
            return []
        cut_short = self.runner.result(name, self.workload)
        cut_short.complete = False
        cut_short.trials = list(self.runner.done)
        return [cut_short]


def _measure(request: Request, method: Method, name: str, outcome: Outcome, board: _Board) -> None:
    slots = threading.Semaphore(request.jobs)
    testbeds = [Testbed.resolve(config) for config in request.testbeds]
    pool = ThreadPoolExecutor(max_workers=64)
    jobs: list[_Job] = []
    try:
        said: set[str] = set()
        for testbed in testbeds:
            board.say(
                f"{testbed.label} on {testbed.nic.model}, Linux {testbed.machine.kernel.release}, {testbed.machine.mips} MIPS"
            )
            if testbed.nic.note and testbed.nic.model not in said:
                board.say(f"  {testbed.nic.note}")
            said.add(testbed.nic.model)
        outcome.environment += pool.map(Testbed.describe, testbeds)
        for note in dict.fromkeys(note for dut in outcome.environment for note in dut["dut"]["notes"]):
            board.say(f"  {note}")
        for testbed in testbeds:
            for workload in request.workloads():
                runner = TrialRunner(testbed, slots, board.task(f"{name} {testbed.label} {workload.size}"))
                jobs.append(_Job(runner, workload, pool.submit(method, runner, workload)))
        done, _ = wait([job.future for job in jobs], return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    except BaseException:
        machine.cancel_all()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        outcome.results = [result for job in jobs for result in job.results(name)]


def save(outcome: Outcome, json_file: Path | None, report_file: Path | None) -> None:
    """Writes the files that were asked for. After an interruption: what there is."""
    if not outcome.environment:
        return
    document = outcome.document()
    if json_file is not None:
        results.write(json_file, document)
    if report_file is not None:
        from irqlab.report import write_html  # imports matplotlib, which takes a second

        write_html([document], report_file)
