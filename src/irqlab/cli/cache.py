# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab cache`: the trials that need not be made again."""

from __future__ import annotations

from enum import StrEnum

from irqlab import units
from irqlab.trials import cache as trialcache


class Action(StrEnum):
    """What to do with the cache."""

    SHOW = "show"
    CLEAR = "clear"


def run_cache(action: Action) -> None:
    """Says what is kept, or removes it."""
    if action is Action.CLEAR:
        print(f"removed {_trials(trialcache.clear())}")
        return
    used = trialcache.usage()
    limit = units.grouped(trialcache.KEEP_BYTES / 1e6)
    print(units.plain(f"{_trials(used)}, {used.size_bytes / 1e6:.1f} MB of at most {limit} MB, in {used.where}"))


def _trials(used: trialcache.Usage) -> str:
    return f"{units.plain(units.grouped(used.entries))} trial{'' if used.entries == 1 else 's'}"
