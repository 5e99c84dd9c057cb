# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials with an application in the DUT, and their rows: the columns that all papers have of them, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from irqlab.methods import receiving
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table, table_of
from irqlab.runner.jobs import Job
from irqlab.trials.application import ApplicationResult, ApplicationTrial
from irqlab.trials.bench import Bench

R = TypeVar("R")
Columns = Mapping[str, Any]
"""What a row says besides its trial's figures."""
Asked = tuple[Columns, ApplicationTrial]
Done = tuple[Columns, ApplicationResult]
Figures = Callable[[ApplicationResult], Columns]

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


@dataclass(frozen=True)
class Batch:
    """Trials on one bench."""

    label: str
    bench: Bench
    asked: Sequence[Asked]


def run(session: Session, what: str, batches: Iterable[Batch]) -> list[Done]:
    """Runs the trials, batches side by side; the results in their order."""
    every = list(batches)
    jobs = {
        n: Job(one.label, one.bench, partial(receiving.trials, chosen=[spec for _, spec in one.asked]))
        for n, one in enumerate(every)
    }
    found = session.all(what, jobs)
    return [(columns, r) for n, one in enumerate(every) for (columns, _), r in zip(one.asked, found[n], strict=True)]


def trial_table(title: str, row: type[R], done: Iterable[Done], figures: Figures = lambda _: {}) -> Table[R]:
    """A row for each trial, of its columns, the figures of its result, and those that all papers have."""
    return table_of(title, row, ((columns, figures(r), figures_of(r), r) for columns, r in done))
