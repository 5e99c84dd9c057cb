# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that have run a trial and are kept for the next one from the same snapshot.

A QEMU takes 0.12 s of CPU time to start and restore, and another 0.5 s to translate the DUT's code anew. One that has run a trial
is put back to where it was restored in some 10 ms (docs/protocol.md, `rewind`), and keeps the translated code. Results are the
same, byte for byte. `IRQLAB_FRESH=1` has a new QEMU started for every trial.

A machine serves one trial at a time. Only one whose trial ended well is kept.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irqlab.qemu import machine
from irqlab.qemu.machine import Machine, MachineConfig
from irqlab.qemu.rpc import ConnectionLostError, TesterError

MIN_LIMIT = 8
"""So many machines may wait for a trial, or as many as the host has cores; fewer if the host has too little memory."""
IDLE_BYTES = 320 << 20
"""What a machine that is kept takes of the host's memory, about: the DUT's RAM as far as it is used, and translated code."""
SHARE = 4
"""Machines that are kept take at most one part in so many of the host's memory."""


def max_idle(memory_bytes: int, cores: int) -> int:
    """How many machines may wait for a trial, on a host with so much memory and so many cores."""
    return max(1, min(max(MIN_LIMIT, cores), memory_bytes // SHARE // IDLE_BYTES))


def wanted() -> bool:
    """Whether machines are used again: not if the environment has IRQLAB_FRESH=1."""
    return os.environ.get("IRQLAB_FRESH", "0") in ("", "0")


class Pool:
    """Machines by the snapshot file that they were restored from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[Path, Machine]] = []
        """Least recently used first. They have been told to rewind, and nobody has waited for that."""
        self._refused: set[Path] = set()
        """Snapshots whose machines cannot be rewound."""

    @contextmanager
    def machine(self, config: MachineConfig, snapshot: Path) -> Iterator[Machine]:
        """A machine restored from `snapshot`, until the block is left. Raises MachineError."""
        taken = self._take(snapshot) or machine.start(config, snapshot)
        try:
            yield taken
        except BaseException:
            taken.close()
            raise
        self._keep(snapshot, taken)

    def close(self, snapshot: Path | None = None) -> None:
        """Ends the idle machines that were restored from `snapshot`; None: all."""
        with self._lock:
            gone = [entry for entry in self._idle if snapshot in (None, entry[0])]
            self._idle = [entry for entry in self._idle if entry not in gone]
        for _, one in gone:
            one.close()

    def _take(self, snapshot: Path) -> Machine | None:
        """An idle machine, rewound."""
        while True:
            with self._lock:
                places = [place for place, (path, _) in enumerate(self._idle) if path == snapshot]
                if not places:
                    return None
                _, found = self._idle.pop(places[-1])
            try:
                found.rpc.rewound()
            except ConnectionLostError:  # somebody has ended it
                found.close()
            except TesterError:
                found.close()
                with self._lock:
                    self._refused.add(snapshot)
            except BaseException:
                found.close()
                raise
            else:
                return found

    def _keep(self, snapshot: Path, used: Machine) -> None:
        if not wanted() or snapshot in self._refused:
            used.close()
            return
        try:
            used.rewind(snapshot)
        except ConnectionLostError:
            used.close()
            return
        limit = max_idle(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), os.cpu_count() or 1)
        with self._lock:
            self._idle.append((snapshot, used))
            gone, self._idle = self._idle[:-limit], self._idle[-limit:]
        for _, one in gone:
            one.close()


POOL = Pool()
"""The process's."""
atexit.register(POOL.close)
