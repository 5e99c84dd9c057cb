# SPDX-License-Identifier: GPL-2.0-or-later
"""A pool of machines that have run a trial and are reused for the next one from the same snapshot.

A QEMU takes 0.12 s of CPU time to start and restore, and another 0.5 s to translate the DUT's code. A used one is rewound to the
restored state in about 10 ms (docs/inside/protocol.md, `rewind`) and keeps the translated code. Results are byte-identical.
With `IRQLAB_FRESH=1`, every trial starts a new QEMU.

A machine runs one trial at a time. It is reused only if its trial succeeded.
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
"""Limit on idle machines, or the number of cores if that is higher; fewer if the host is short of memory."""
IDLE_BYTES = 320 << 20
"""Approximate host memory of an idle machine: used RAM of the DUT, and translated code."""
SHARE = 4
"""Idle machines use at most 1/SHARE of the host's memory."""


def max_idle(memory_bytes: int, cores: int) -> int:
    """The limit on idle machines for a host with this much memory and this many cores."""
    return max(1, min(max(MIN_LIMIT, cores), memory_bytes // SHARE // IDLE_BYTES))


def wanted() -> bool:
    """Whether machines are reused: not with IRQLAB_FRESH=1 in the environment."""
    return os.environ.get("IRQLAB_FRESH", "0") in ("", "0")


class Pool:
    """Idle machines, by the snapshot file they were restored from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[Path, Machine]] = []
        """Least recently used first. They were told to rewind, without waiting for completion."""
        self.refused: dict[Path, str] = {}
        """Snapshots whose machines cannot be rewound, and why."""

    @contextmanager
    def machine(self, config: MachineConfig, snapshot: Path) -> Iterator[Machine]:
        """Context manager: a machine restored from `snapshot`. Raises MachineError."""
        taken = self._take(config, snapshot) or machine.start(config, snapshot)
        try:
            yield taken
        except BaseException:
            taken.close()
            raise
        self._keep(snapshot, taken)

    def close(self, snapshot: Path | None = None) -> None:
        """Ends the idle machines restored from `snapshot`; None: all."""
        with self._lock:
            gone = [entry for entry in self._idle if snapshot in (None, entry[0])]
            self._idle = [entry for entry in self._idle if entry not in gone]
        for _, one in gone:
            one.close()

    def _take(self, config: MachineConfig, snapshot: Path) -> Machine | None:
        """An idle machine, rewound."""
        while True:
            with self._lock:
                places = [
                    place
                    for place, (path, one) in enumerate(self._idle)
                    if (path, one.config.memory) == (snapshot, config.memory)
                ]
                if not places:
                    return None
                _, found = self._idle.pop(places[-1])
            try:
                found.take()
                found.rpc.rewound()
            except ConnectionLostError:  # it was ended meanwhile
                found.close()
            except TesterError as error:
                found.close()
                with self._lock:
                    self.refused[snapshot] = str(error)
            except BaseException:
                found.close()
                raise
            else:
                if not found.ended:  # killed after it had answered
                    return found
                found.close()

    def _keep(self, snapshot: Path, used: Machine) -> None:
        if not wanted() or snapshot in self.refused:
            used.close()
            return
        try:
            used.rewind(snapshot)
        except ConnectionLostError:
            used.close()
            return
        used.release()
        limit = max_idle(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), os.cpu_count() or 1)
        with self._lock:
            self._idle.append((snapshot, used))
            gone, self._idle = self._idle[:-limit], self._idle[-limit:]
        for _, one in gone:
            one.close()


POOL = Pool()
"""The pool of this process."""
atexit.register(POOL.close)
