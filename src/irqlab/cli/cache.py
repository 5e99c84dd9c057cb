# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab cache`: shows or clears the cache."""

from __future__ import annotations

import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from irqlab import units
from irqlab.setup import paths
from irqlab.trials import cache as trialcache


class Action(StrEnum):
    """An operation on the cache."""

    SHOW = "show"
    CLEAR = "clear"


def command(
    action: Annotated[
        Action, typer.Argument(help="show: number of trials, sizes and directory; clear: remove the trials.")
    ] = Action.SHOW,
    everything: Annotated[
        bool, typer.Option("--all", help="clear: also remove what was fetched and built. It is fetched again when needed.")
    ] = False,
) -> None:
    """Prints the cache's contents and size, or clears it."""
    if action is Action.CLEAR:
        print(f"removed {_trials(trialcache.clear())}")
        if everything:
            print(f"removed what was fetched and built: {_megabytes(_clear())}")
        return
    used = trialcache.usage()
    limit = units.grouped(trialcache.KEEP_BYTES / 1e6)
    print(units.plain(f"{_trials(used)}, {used.size_bytes / 1e6:.1f} MB of at most {limit} MB, in {used.where}"))
    print(f"fetched and built: {_megabytes(sum(_size(path) for path in _contents()))}, in {paths.cache_dir()}")


def _contents() -> list[Path]:
    """What was fetched and built."""
    there = [paths.cache_dir() / name for name in paths.CONTENTS if name != trialcache.directory().name]
    return [path for path in there if path.exists()]


def _clear() -> int:
    """Removes it; returns its size."""
    size = 0
    for path in _contents():
        size += _size(path)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return size


def _size(path: Path) -> int:
    """In bytes."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(one.lstat().st_size for one in files if not one.is_dir())


def _megabytes(size: int) -> str:
    return units.plain(f"{units.grouped(size / 1e6)} MB")


def _trials(used: trialcache.Usage) -> str:
    return f"{units.plain(units.grouped(used.entries))} trial{'' if used.entries == 1 else 's'}"
