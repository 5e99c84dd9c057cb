# SPDX-License-Identifier: GPL-2.0-or-later
"""The budget: host time, as it would be if nothing else ran on the host's cores.

It is counted in CPU time of this process and of its children, so that a busy host does not change what is covered.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from irqlab.qemu.watchdog import cpu_seconds


def cpu_s() -> float:
    """CPU time of this process and its children so far, in seconds."""
    times = os.times()
    used = times.user + times.system + times.children_user + times.children_system
    for file in Path("/proc/self/task").glob("*/children"):
        try:
            used += sum(cpu_seconds(int(pid)) for pid in file.read_text().split())
        except OSError:  # the thread has ended
            continue
    return used


LEAST_S, LENT = 3.0, 0.1
"""What a row gets at least, and which part of the budget may be used beyond it: rows that find much take more than their share,
and each of the others is to be sampled all the same."""


class Allowance:
    """The time of a row, on the budget's clock."""

    def __init__(self, now_s: Callable[[], float], seconds: float) -> None:
        self._now_s = now_s
        self._began_s = now_s()
        self.seconds = seconds

    @property
    def used_s(self) -> float:
        """Seconds since the row began."""
        return self._now_s() - self._began_s

    @property
    def left_s(self) -> float:
        """Seconds left; 0 if the time is over."""
        return max(0.0, self.seconds - self.used_s)

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left_s <= 0

    def part(self, of: int) -> Allowance:
        """One of so many equal parts of what is left, which begins."""
        return Allowance(self._now_s, self.left_s / of)


class Budget:
    """Host time for all rows, of which `lanes` run at a time. Thread-safe."""

    def __init__(self, seconds: float, lanes: int, cpu: Callable[[], float] = cpu_s) -> None:
        self.seconds = seconds
        self._lanes = lanes
        self._cpu = cpu
        self._began_s = cpu()
        self._lock = threading.Lock()
        self._shares: dict[str, float] = {}

    def now_s(self) -> float:
        """Time since the beginning: what all cores together have worked, divided by the number of lanes."""
        return (self._cpu() - self._began_s) / self._lanes

    @property
    def left_s(self) -> float:
        """Seconds left; 0 if the time is over."""
        return max(0.0, self.seconds - self.now_s())

    @property
    def over(self) -> bool:
        """Whether no further row may begin."""
        return self.now_s() >= (1 + LENT) * self.seconds

    def register(self, name: str, share: float) -> None:
        """A row that will ask for its time."""
        with self._lock:
            self._shares[name] = share

    def allow(self, name: str) -> Allowance:
        """The time of a row that begins: its share of what is left, in the time of one lane, or LEAST_S."""
        with self._lock:
            whole = sum(self._shares.values())
            mine = self._shares.get(name, 1.0)
            share_s = self.left_s * self._lanes * mine / max(whole, mine)
            return Allowance(self.now_s, max(share_s, min(LEAST_S, LENT * self.seconds)))

    def done(self, name: str) -> None:
        """The row has ended: what it left is for the others."""
        with self._lock:
            self._shares.pop(name, None)
