# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials on other machines: a Dask cluster (dask.distributed; `pip install irqlab[cluster]`).

A trial is a pure function of files and a few words, so any machine with the same QEMU and irqlab makes the same one. The files
(snapshot, kernel, guest image, tester; the driver is in the snapshot) travel under their hash, once to each worker, also to one
that joins later, and stay there until they have not been used for long. Dask runs a trial again elsewhere when its worker dies.
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
from irqlab.config.testbed import TestbedConfig
from irqlab.errors import IrqlabError
from irqlab.qemu import snapshots
from irqlab.qemu.machine import MachineConfig
from irqlab.qemu.snapshots import Snapshot
from irqlab.setup import nics, paths, qemu
from irqlab.trials import cache as trialcache
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Conditions, Trial

KEEP_BYTES = 4 << 30
"""What a worker's files may take up; the least recently used go first."""
CONNECT_WITHIN_S = 15


R = TypeVar("R")


def store() -> Path:
    """Where a worker keeps the files: a directory each, named by its SHA-256."""
    return paths.cache_dir() / "cluster"


def kept(sha256: str) -> Path:
    """A file on a worker."""
    return store() / sha256 / "content"


@dataclass(frozen=True)
class Order:
    """A trial for a worker. Files are named by their hashes."""

    config: TestbedConfig
    machine: MachineConfig
    nic: nics.Nic
    conditions: Conditions
    state: str
    vmlinux: str
    initrd: str
    tester: str
    trial: Trial[Any]
    addresses: dict[str, Any] | None


class File(WorkerPlugin):
    """A worker plugin that brings one file: `content` is packed with zlib."""

    def __init__(self, sha256: str, content: bytes) -> None:
        self.name = f"irqlab-{sha256}"
        self.sha256 = sha256
        self.content = content

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        """Keeps the file on the worker; Dask calls it on every worker, once."""
        with paths.locked(f"cluster-{self.sha256}"):
            final = kept(self.sha256)
            if not final.is_file():
                snapshots.make_room(store(), KEEP_BYTES)
                files.write_atomically(final, zlib.decompress(self.content))
            os.utime(final.parent)
        self.content = b""


class Cluster:
    """The workers of a scheduler. A context manager. Raises IrqlabError if it cannot be reached."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        try:
            # Looked for first: a client that finds nobody has a stack trace to show when it goes.
            socket.create_connection((host, int(port)), timeout=CONNECT_WITHIN_S).close()
            self.client = distributed.Client(address, timeout=CONNECT_WITHIN_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise IrqlabError(
                f"--scheduler {address}: no Dask scheduler answers there; it is tcp://HOST:PORT ({error})"
            ) from error
        self._lock = threading.Lock()
        self._known: dict[tuple[Path, int], str] = {}
        self._sent: set[str] = set()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone; that is no news here
            self.forget(self._sent)
            self.client.close(timeout=5)

    @property
    def threads(self) -> int:
        """How many trials the workers run at once. Raises IrqlabError if there is no worker."""
        threads = sum(self.client.nthreads().values())
        if not threads:
            raise IrqlabError("the Dask scheduler has no workers: start some with `dask worker tcp://HOST:PORT`")
        return int(threads)

    def place(self, path: Path) -> str:
        """Sends a file to every worker, unless it was sent; returns its SHA-256."""
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
        """New workers need them no more."""
        for sha256 in list(files):
            self.client.unregister_worker_plugin(f"irqlab-{sha256}")
            self._sent.discard(sha256)

    def run(self, order: Order, key: str) -> dict[str, Any]:
        """A trial on some worker: the answer of `work`. The same key at the same time is the same trial."""
        future = self.client.submit(work, order, key=f"irqlab-trial-{key}", pure=True, allow_other_workers=False)
        try:
            answer: dict[str, Any] = future.result()
        except IrqlabError:
            raise
        except Exception as error:
            raise IrqlabError(f"the cluster could not run a trial: {type(error).__name__}: {error}") from error
        return answer


def work(order: Order) -> dict[str, Any]:
    """On a worker: runs the trial. Raises IrqlabError if this machine is not fit for it."""
    found = qemu.find()
    if found.version_text != order.machine.qemu.version_text:
        raise IrqlabError(f"a worker has {found.version_text}; the snapshots are of {order.machine.qemu.version_text}")
    state, vmlinux, initrd, tester = (kept(name) for name in (order.state, order.vmlinux, order.initrd, order.tester))
    for path in (state, vmlinux, initrd, tester):
        with contextlib.suppress(OSError):
            os.utime(path.parent)
    machine = replace(
        order.machine, qemu=found, kernel=replace(order.machine.kernel, vmlinux=vmlinux), initrd=initrd, tester=tester
    )
    testbed = Testbed(replace(order.config, cached=False), machine, [], order.nic)
    testbed.__dict__["prepared"] = Snapshot(state, {})
    testbed.__dict__["conditions"] = order.conditions
    result, profile = testbed.measure(order.trial, order.addresses)
    return {"result": order.trial.store(result), "profile": profile}


class RemoteTestbed(Testbed):
    """A bed whose trials are run by a cluster. What the cache has is taken from there; snapshots are made here."""

    cluster: Cluster

    @classmethod
    def of(cls, testbed: Testbed, cluster: Cluster) -> RemoteTestbed:
        """The same bed, remote."""
        found = cls(testbed.config, testbed.machine, testbed.modules, testbed.nic)
        found.cluster = cluster
        return found

    def measure(self, trial: Trial[R], addresses: dict[str, Any] | None = None) -> tuple[R, dict[str, Any] | None]:
        """One trial, elsewhere."""
        answer = self._order(trial, addresses)
        return trial.restore(answer["result"]), answer["profile"]

    def _order(self, trial: Trial[Any], addresses: dict[str, Any] | None) -> dict[str, Any]:
        if not trial.cacheable:
            raise IrqlabError("a capture cannot be written by a cluster")
        place, machine = self.cluster.place, self.machine
        order = Order(
            self.config, machine, self.nic, self.conditions, place(self.prepared.state), place(machine.kernel.vmlinux),
            place(machine.initrd), place(machine.tester), trial, addresses,
        )  # fmt: skip
        return self.cluster.run(order, trialcache.key_of(self.parts, trial, addresses))
