# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress of jobs: bars on a terminal, lines elsewhere. To stderr, so that tables can be piped."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from irqlab.setup.say import QUIET

MAX_LINES = 16
"""For batches of more jobs, a terminal shows one bar for all; without a terminal, only finished jobs are printed."""

SAY_EVERY_S = 3.0


class Remaining:
    """How much of a task is done, and how long the rest may take; safe to use from several threads."""

    def __init__(self, parts: int) -> None:
        self._parts, self._done = parts, 0
        self._lock = threading.Lock()
        self._began_s = time.monotonic()
        self._said_s = self._began_s

    def one_done(self) -> str:
        """Counts a part; says how far it is, at most every SAY_EVERY_S seconds and at the end; else empty."""
        with self._lock:
            self._done += 1
            now_s = time.monotonic()
            left_s = (now_s - self._began_s) / self._done * (self._parts - self._done)
            if self._done < self._parts and now_s - self._said_s < SAY_EVERY_S:
                return ""
            self._said_s = now_s
            share = f"{self._done} of {self._parts}"
            return share if left_s < SAY_EVERY_S else f"{share}, about {_rough(left_s)} left"


def _rough(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class _Count(ProgressColumn):
    """A column with the number of finished jobs and the total."""

    def render(self, task: Task) -> Text:
        return Text(f"{int(task.completed)}/{int(task.total)}" if task.total is not None else "")


class ProgressDisplay:
    """Displays progress. A context manager: leaving it removes the bars."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, quiet=QUIET in os.environ)
        self._live = self._console.is_terminal
        self._bars = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=16), _Count(),
            TextColumn("{task.fields[where]}"), TimeElapsedColumn(), console=self._console, transient=True,
        )  # fmt: skip

    def __enter__(self) -> ProgressDisplay:
        if self._live:
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._bars.stop()

    @property
    def live(self) -> bool:
        """Whether there are bars: standard error is a terminal."""
        return self._live

    def say(self, text: str) -> None:
        """Prints a permanent line."""
        self._console.print(text, highlight=False, soft_wrap=not self._live)

    def batch(self, what: str, jobs: int) -> Batch:
        """Starts the display of a batch of jobs."""
        return Batch(self, what, jobs)


class Batch:
    """The progress of a batch of jobs."""

    def __init__(self, display: ProgressDisplay, what: str, jobs: int) -> None:
        self._display = display
        self._what = what
        self._detailed = jobs <= MAX_LINES
        self._all = None if self._detailed else display._bars.add_task(what, total=jobs, where="")

    def job(self, label: str) -> tuple[Callable[[str], None], Callable[[], None]]:
        """Callbacks for a job: to report its state, and that it is done."""
        bars, live = self._display._bars, self._display._live
        task = bars.add_task(f"{self._what} {label}", total=None, where="waiting") if self._detailed else None

        def tell(where: str) -> None:
            if live and task is not None:
                bars.update(task, where=where)
            elif live and self._all is not None:
                bars.update(self._all, where=f"{label}: {where}")
            elif self._detailed:
                self._display.say(f"{self._what} {label}: {where}")

        def done() -> None:
            if task is not None:
                bars.update(task, where="done")
                bars.stop_task(task)
            elif self._all is not None:
                bars.update(self._all, advance=1)
                if not live:
                    self._display.say(f"{self._what}: {label}: done")

        return tell, done
