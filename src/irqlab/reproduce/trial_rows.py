# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of trials with an application in the DUT: the columns that all papers have of them, by name."""

from __future__ import annotations

from typing import Any, TypeVar

from irqlab.reproduce.table import row_of
from irqlab.trials.application import ApplicationResult

R = TypeVar("R")

PLACES = ("nic", "backlog", "socket", "application", "elsewhere")
LATENCIES = ("mean", "p50", "p90", "p99", "p999", "max")


def lost(r: ApplicationResult, place: str) -> float:
    """What is lost in a place (one of PLACES), as a share of the frames sent."""
    share: float = getattr(r.places, place) / max(1, r.places.sent)
    return share


def figures_of(r: ApplicationResult) -> dict[str, Any]:
    """What a trial's result does not say under the name of a column.

    lost_PLACE: shares of the frames sent. mean_ns to max_ns: the latency; None: no frame came back. taken_pps: frames taken off
    the ring, a second.
    """
    latency = r.latency if r.latency and r.latency["count"] else {}
    return {
        **{f"lost_{place}": lost(r, place) for place in PLACES},
        **{f"{name}_ns": latency.get(f"{name}_ns") for name in LATENCIES},
        "taken_pps": (r.places.sent - r.places.nic) / r.spec.loaded_s,
    }


def trial_row(row: type[R], r: ApplicationResult, *sources: object, **given: Any) -> R:
    """A row of a trial, from what is given, the sources, and the trial's figures, by the names of its columns."""
    return row_of(row, *sources, figures_of(r), r, **given)
