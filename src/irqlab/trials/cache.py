# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials already made, kept under a hash of all that they depend on, in the cache.

A trial is a pure function of the bed and what is offered, so a second one would be the same to the byte: what comes from here
and what is measured again cannot be told apart.
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

from irqlab.errors import IrqlabError
from irqlab.setup import paths
from irqlab.trials.fingerprint import code_fingerprint
from irqlab.trials.trial import Trial

KEEP_BYTES = 1 << 30
"""What the trials may take up; the least recently used go first."""
_BROKEN = (OSError, sqlite3.Error, diskcache.Timeout, json.JSONDecodeError)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Usage:
    """What the cache holds, in trials and bytes on disk."""

    where: Path
    entries: int
    size_bytes: int


def directory() -> Path:
    """Where the trials are."""
    return paths.cache_dir() / "trials"


def key_of(testbed: Mapping[str, Any], trial: Trial[Any], addresses: Mapping[str, Any] | None = None) -> str:
    """Names a trial: a hash of all that it depends on, this lab's code included.

    `testbed`: all that the DUT at its start depends on; `addresses`: of the functions, if the trial is profiled.
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
    """What was kept under `key`, or None. Raises IrqlabError if the cache cannot be read."""
    return _with(lambda kept: kept.get(key))


def put(key: str, value: Any) -> None:
    """Keeps JSON data. Safe against other processes and threads. Raises IrqlabError if the cache cannot be written."""
    _with(lambda kept: kept.set(key, value))


def usage() -> Usage:
    """How much there is."""
    if not directory().is_dir():
        return Usage(directory(), 0, 0)
    return _with(lambda kept: Usage(directory(), len(kept), kept.volume()))


def clear() -> Usage:
    """Removes every trial, a damaged cache whole; returns what there was."""
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
    # JSON, not the library's default, which would be pickle: data from a file must not be code.
    return diskcache.Cache(
        str(where), disk=diskcache.JSONDisk, disk_compress_level=6, size_limit=KEEP_BYTES, eviction_policy="least-recently-used"
    )


def _with(work: Callable[[diskcache.Cache], _T]) -> _T:
    where = directory()
    try:
        return work(_open(where))
    except _BROKEN as error:
        _open.cache_clear()
        raise IrqlabError(
            f"the trials kept in {where} cannot be used ({error}): `irqlab cache clear` removes them, --no-cache does without"
        ) from error
