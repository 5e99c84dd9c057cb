# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab cache`: shows or clears the cache of trial results."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from irqlab import units
from irqlab.trials import cache as trialcache


class Action(StrEnum):
    """An operation on the cache."""

    SHOW = "show"
    CLEAR = "clear"


def command(
    action: Annotated[
        Action, typer.Argument(help="show: number of trials, size and directory; clear: remove them.")
    ] = Action.SHOW,
) -> None:
    """Prints the cache's contents and size, or clears it."""
    if action is Action.CLEAR:
        print(f"removed {_trials(trialcache.clear())}")
        return
    used = trialcache.usage()
    limit = units.grouped(trialcache.KEEP_BYTES / 1e6)
    print(units.plain(f"{_trials(used)}, {used.size_bytes / 1e6:.1f} MB of at most {limit} MB, in {used.where}"))


def _trials(used: trialcache.Usage) -> str:
    return f"{units.plain(units.grouped(used.entries))} trial{'' if used.entries == 1 else 's'}"
