# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs trials on other machines with a Dask cluster (dask.distributed; `pip install irqlab[cluster]`).

A trial is a pure function of files and a few parameters, so it has the same result on any machine with the same QEMU and irqlab.
The files (snapshot, kernel, guest image, tester; the driver is in the snapshot) are sent once to each worker, even to those that
join later, and cached there by hash. Dask repeats a trial elsewhere if its worker dies.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import threading
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import distributed
from distributed.diagnostics.plugin import WorkerPlugin

from irqlab import files
from irqlab.errors import IrqlabError
from irqlab.qemu import snapshots
from irqlab.setup import paths, qemu
from irqlab.trials.initial import InitialState, LineProfile
from irqlab.trials.trial import Trial

KEEP_BYTES = 4 << 30
"""Maximum size of a worker's files; the least recently used are removed first."""
CONNECT_WITHIN_S = 15


R = TypeVar("R")


def store() -> Path:
    """A worker's file store: one directory per file, named by its SHA-256."""
    return paths.cache_dir() / "cluster"


def kept(sha256: str) -> Path:
    """The path of a file on a worker."""
    return store() / sha256 / "content"


@dataclass(frozen=True)
class Order:
    """A trial for a worker. The files of `initial` are the client's; the worker has its own, by their hashes."""

    initial: InitialState
    state: str
    vmlinux: str
    initrd: str
    tester: str
    trial: Trial[Any]
    addresses: dict[str, Any] | None


class File(WorkerPlugin):
    """A worker plugin that transfers one file; `content` is compressed with zlib."""

    def __init__(self, sha256: str, content: bytes) -> None:
        self.name = f"irqlab-{sha256}"
        self.sha256 = sha256
        self.content = content

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        """Stores the file; Dask calls this once on every worker."""
        with paths.locked(f"cluster-{self.sha256}"):
            final = kept(self.sha256)
            if not final.is_file():
                snapshots.make_room(store(), KEEP_BYTES)
                files.write_atomically(final, zlib.decompress(self.content))
            os.utime(final.parent)
        self.content = b""


class Cluster:
    """The workers of a scheduler, for a testbed's trials. A context manager. Raises IrqlabError if it cannot be reached."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        try:
            # Checked first, since a Dask client without a scheduler prints a stack trace on exit.
            socket.create_connection((host, int(port)), timeout=CONNECT_WITHIN_S).close()
            self.client = distributed.Client(address, timeout=CONNECT_WITHIN_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise IrqlabError(
                f"--scheduler {address}: no Dask scheduler answers there; the format is tcp://HOST:PORT ({error})"
            ) from error
        self._lock = threading.Lock()
        self._known: dict[tuple[Path, int], str] = {}
        self._sent: set[str] = set()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self.forget(self._sent)
            self.client.close(timeout=5)

    @property
    def threads(self) -> int:
        """Number of trials that the workers can run concurrently. Raises IrqlabError if there is no worker."""
        threads = sum(self.client.nthreads().values())
        if not threads:
            raise IrqlabError("the Dask scheduler has no workers: start some with `dask worker tcp://HOST:PORT`")
        return int(threads)

    def place(self, path: Path) -> str:
        """Sends a file to every worker, unless already sent; returns its SHA-256."""
        with self._lock:
            key = path, path.stat().st_mtime_ns
            if key not in self._known:
                content = path.read_bytes()
                self._known[key] = hashlib.sha256(content).hexdigest()
                if self._known[key] not in self._sent:
                    self.client.register_plugin(File(self._known[key], zlib.compress(content, 1)))
                    self._sent.add(self._known[key])
            return self._known[key]

    def forget(self, files: Iterable[str]) -> None:
        """Stops sending files to new workers."""
        for sha256 in list(files):
            self.client.unregister_worker_plugin(f"irqlab-{sha256}")
            self._sent.discard(sha256)

    def measure(
        self, key: str, initial: InitialState, trial: Trial[R], addresses: dict[str, Any] | None, lines: LineProfile | None
    ) -> tuple[R, dict[str, Any] | None]:
        """Runs a trial on some worker. Concurrent calls with the same key share one trial. Raises IrqlabError."""
        if lines is not None:
            raise IrqlabError("lines of memory cannot be profiled on a cluster")
        if not trial.cacheable:
            raise IrqlabError("captures cannot be written on a cluster")
        machine = initial.machine
        state, vmlinux, initrd, tester = map(self.place, (initial.state, machine.kernel.vmlinux, machine.initrd, machine.tester))
        order = Order(initial, state, vmlinux, initrd, tester, trial, addresses)
        future = self.client.submit(work, order, key=f"irqlab-trial-{key}", pure=True, allow_other_workers=False)
        try:
            result, profile = future.result()
        except IrqlabError:
            raise
        except Exception as error:
            raise IrqlabError(f"the cluster could not run a trial: {type(error).__name__}: {error}") from error
        return trial.restore(result), profile


def work(order: Order) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Runs a trial on a worker: its result as JSON data, and its profile. Raises IrqlabError if it has another QEMU."""
    found, wanted = qemu.find(), order.initial.machine
    if found.version_text != wanted.qemu.version_text:
        raise IrqlabError(f"a worker has {found.version_text}; the snapshots need {wanted.qemu.version_text}")
    state, vmlinux, initrd, tester = (kept(name) for name in (order.state, order.vmlinux, order.initrd, order.tester))
    for path in (state, vmlinux, initrd, tester):
        with contextlib.suppress(OSError):
            os.utime(path.parent)
    machine = replace(wanted, qemu=found, kernel=replace(wanted.kernel, vmlinux=vmlinux), initrd=initrd, tester=tester)
    result, profile = replace(order.initial, machine=machine, state=state).measure(order.trial, order.addresses)
    return order.trial.store(result), profile
