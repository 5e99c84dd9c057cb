# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache of trial results, keyed by a hash of everything a trial depends on.

A trial is a pure function of the testbed and the offered load, so a cached result is byte-identical to a new measurement.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import diskcache

from irqlab import files
from irqlab.errors import IrqlabError
from irqlab.setup import paths
from irqlab.trials.fingerprint import code_fingerprint
from irqlab.trials.trial import Trial

KEEP_BYTES = 1 << 30
"""Maximum size of the cache; the least recently used results are evicted first."""
ROOM_BYTES = 16 << 20
"""More than a result takes."""
_BROKEN = (OSError, sqlite3.Error, diskcache.Timeout, json.JSONDecodeError)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Usage:
    """Size of the cache in trials and bytes on disk."""

    where: Path
    entries: int
    size_bytes: int


def directory() -> Path:
    """The cache's directory."""
    return paths.cache_dir() / "trials"


def key_of(testbed: Mapping[str, Any], trial: Trial[Any], addresses: Mapping[str, Any] | None = None) -> str:
    """The cache key of a trial: a hash of everything it depends on, including irqlab's own code.

    `testbed`: everything that the DUT's initial state depends on; `addresses`: the symbols, if the trial is profiled.
    """
    parts = {
        "testbed": testbed,
        "trial": type(trial).__name__,
        "specification": trial.specification(),
        "profile": addresses,
        "code": code_fingerprint(type(trial).__module__),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def get(key: str) -> Any | None:
    """The result stored under `key`, or None. Raises IrqlabError if the cache cannot be read."""
    return _with(lambda kept: kept.get(key))


def put(key: str, value: Any) -> None:
    """Stores JSON data. Safe with concurrent processes and threads. Raises IrqlabError if the cache cannot be written."""
    _with(lambda kept: kept.set(key, value))


def usage() -> Usage:
    """The present size of the cache."""
    if not directory().is_dir():
        return Usage(directory(), 0, 0)
    return _with(lambda kept: Usage(directory(), len(kept), kept.volume()))


def clear() -> Usage:
    """Removes every result, even if the cache is damaged; returns its size before."""
    before = Usage(directory(), 0, 0)
    try:
        before = usage()
        if before.entries:
            _with(lambda kept: kept.clear())
    except IrqlabError:
        try:
            shutil.rmtree(directory())
        except OSError as error:
            raise IrqlabError(f"cannot remove {directory()}: {error.strerror}") from error
    return before


@cache
def _open(where: Path) -> diskcache.Cache:
    # JSON, since the library's default is pickle, which could execute code from the file.
    return diskcache.Cache(
        str(where), disk=diskcache.JSONDisk, disk_compress_level=6, size_limit=KEEP_BYTES, eviction_policy="least-recently-used"
    )


def _with(work: Callable[[diskcache.Cache], _T]) -> _T:
    where = directory()
    try:
        return work(_open(where))
    except _BROKEN as error:
        _open.cache_clear()
        files.require_room(where, ROOM_BYTES)
        raise IrqlabError(
            f"the cache in {where} cannot be used ({error}): run `irqlab cache clear`, or use --no-cache"
        ) from error
