# SPDX-License-Identifier: GPL-2.0-or-later
"""A DUT without QEMU: it records what it is asked, in order, and answers from tables."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from irqlab.config.addresses import INTERFACES
from irqlab.dut.router import LabDut


class FakeDut:
    """Has the interface of irqlab.dut.router.Dut as far as trials use it.

    `answers`: by the name of an operation, its answer; a list: one answer after the other. Files and commands by path and words.
    """

    def __init__(self, answers: dict[str, Any] | None = None, **files: str | None) -> None:
        self.answers = answers or {}
        self.files: dict[str, str | None] = dict(files)
        self.asked: list[Any] = []
        self.rpc = SimpleNamespace(
            call=lambda op, **arguments: self._asked(op, arguments), guest=lambda op, **arguments: self._asked(op, arguments)
        )
        self.kernel_log = SimpleNamespace(
            check=lambda messages=True: self.asked.append(("check log", *(() if messages else ("for problems",)))),
            lines=["a line"],
        )
        self.now_ns = 0

    def _asked(self, op: str, *told: Any) -> Any:
        self.asked.append((op, *told))
        answer = self.answers.get(op, {})
        if isinstance(answer, list):
            answer = answer.pop(0)
        return answer(*told) if callable(answer) else answer

    ksoftirqds = LabDut.ksoftirqds
    watch = LabDut.watch
    end = LabDut.end
    interfaces = INTERFACES

    def of(self, op: str) -> list[Any]:
        """What an operation was asked with."""
        return [told[0] if len(told) == 1 else tuple(told) for name, *told in self.asked if name == op]

    def play_hosts(self, line_rate_bps: int) -> None:
        self._asked("play_hosts", line_rate_bps)

    def sysctl(self, name: str, value: str) -> None:
        self._asked("sysctl", name, value)

    def write(self, path: str, value: str) -> None:
        self._asked("write", path, value)

    def read(self, *paths: str) -> dict[str, str | None]:
        self._asked("read", *paths)
        return {path: self.files.get(path) for path in paths}

    def run(self, *words: str) -> str:
        return str(self._asked("run", *words))

    def attempt(self, *words: str) -> Any:
        return self._asked("attempt", *words)

    def sleep(self, ns: int) -> None:
        self.now_ns += ns
        self._asked("sleep", ns)

    def counters(self) -> Any:
        return self._asked("counters")

    def run_trial(self, trial: Any, streams: Any, meanwhile: Callable[[int], None] | None = None) -> Any:
        if meanwhile is not None:
            meanwhile(1000)
        return self._asked("trial", trial, streams, meanwhile is not None)
