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
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import diskcache

from irqlab.errors import IrqlabError
from irqlab.setup import paths
from irqlab.trial import Counters, TrialResult, TrialSpec

KEEP_BYTES = 1 << 30
"""What the trials may take up; the least recently used go first."""
MAKERS = ("bed", "costs", "counters", "dut", "hmp", "machine", "qmp", "rpc", "schemes", "snapshots", "trial", "trialcache")
"""Modules of irqlab whose code decides what a trial is: another version of one makes another trial."""

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


@cache
def makers(*more: str) -> str:
    """A hash of the code that decides what a trial is: MAKERS, and further modules by name."""
    home = Path(__file__).parent
    return hashlib.sha256(b"\0".join((home / f"{name}.py").read_bytes() for name in (*MAKERS, *more))).hexdigest()


def key_of(bed: Mapping[str, Any], spec: TrialSpec, addresses: Mapping[str, Any] | None = None) -> str:
    """Names a trial. `bed`: all that the DUT at its start depends on; `addresses`: of the functions, if it is profiled.

    Where a capture is written changes nothing that is measured.
    """
    offered = asdict(spec)
    offered.pop("capture")
    parts = {"bed": bed, "spec": offered, "profile": addresses, "makers": makers()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def to_json(result: TrialResult) -> dict[str, Any]:
    """All of a result but its specification, which is part of the key."""
    fields = {name: getattr(result, name) for name in result.__dataclass_fields__ if name not in ("spec", "counters")}
    return {**fields, "counters": asdict(result.counters)}


def from_json(spec: TrialSpec, fields: Mapping[str, Any]) -> TrialResult:
    """The result again."""
    return TrialResult(**{**fields, "spec": spec, "counters": Counters(**fields["counters"])})


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
