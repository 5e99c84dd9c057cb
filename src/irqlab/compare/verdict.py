# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the metrics of two sides, with a verdict on each. There is no noise, so no statistics are needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab.config.workload import RELATIVE_WIDTH
from irqlab.errors import IrqlabError
from irqlab.methods.metrics import METRICS, Metric
from irqlab.profile import diff

Row = Mapping[str, Any]

SEARCH_NOTE = f"a throughput is searched to {RELATIVE_WIDTH:.1%}: smaller differences are not significant".replace("%", " %")


@dataclass(frozen=True)
class Line:
    """One metric of both sides; None if a side does not have it."""

    metric: Metric
    before: float | None
    after: float | None
    fail_above: float | None = None
    """Share by which `after` may be worse."""

    @property
    def change(self) -> float | None:
        """As a share of `before`: 0.01 is one per cent more. Infinite if `before` is 0."""
        if self.before is None or self.after is None:
            return None
        if self.before == self.after:
            return 0.0
        return (self.after - self.before) / self.before if self.before else math.inf

    @property
    def worse_by(self) -> float:
        """How much worse `after` is, as a share of `before`; negative: better."""
        change = self.change
        return 0.0 if change is None else -self.metric.better * change

    @property
    def failed(self) -> bool:
        """Worse by more than is allowed."""
        return self.fail_above is not None and self.worse_by > self.fail_above

    @property
    def verdict(self) -> str:
        """same, better, worse, FAILED; empty if a value is missing."""
        if self.change is None:
            return ""
        if self.failed:
            return "FAILED"
        return "same" if self.change == 0 else "worse" if self.worse_by > 0 else "better"


def lines(before: Row, after: Row, fail_above: float | None = None, judged: Sequence[str] = ()) -> list[Line]:
    """Every metric of two rows; `judged`: names of the metrics that can fail; empty: all."""
    old, new = before["summary"]["metrics"], after["summary"]["metrics"]
    return [
        Line(m, old.get(m.name), new.get(m.name), fail_above if not judged or m.name in judged else None)
        for m in METRICS
        if old.get(m.name) is not None or new.get(m.name) is not None
    ]


def functions(before: Row, after: Row) -> list[diff.Change]:
    """Changes in instructions per frame by function, largest first, without unchanged functions."""
    if not before["summary"]["profile"] or not after["summary"]["profile"]:
        return []
    old, new = ({"samples": row["samples"], "summary": row["summary"]["profile"]} for row in (before, after))
    return [change for change in diff.changes(old, new) if change.change]


def pairs(before: Sequence[Row], after: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Pairs of rows with the same offered load. Raises IrqlabError if one has no counterpart."""
    found = []
    for row in after:
        same = [r for r in before if (r["frame_bytes"], r["bidirectional"]) == (row["frame_bytes"], row["bidirectional"])]
        if not same:
            raise IrqlabError(f"the first side has no result for frame size {row['frame_bytes']} in the same directions")
        if same[0]["summary"]["base_pps"] != row["summary"]["base_pps"]:
            raise IrqlabError(
                f"the two sides were offered different loads (shares of {same[0]['summary']['base_pps']:.0f} and of "
                f"{row['summary']['base_pps']:.0f} frames/s): measure one of them again, compared with the other"
            )
        found.append((same[0], row))
    return found


def parse_threshold(text: str | None, option: str = "--fail-above") -> float | None:
    """A share from 1%, 1 or 0.5 (per cent). Raises IrqlabError."""
    if text is None:
        return None
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1000:
        raise IrqlabError(f"{option} {text}: allowed are 0 to 1000 per cent, such as 1% or 0.5%")
    return value / 100


def parse_judged(text: str | None) -> tuple[str, ...]:
    """Names of METRICS, separated by commas. Raises IrqlabError."""
    names = tuple(name.strip() for name in text.split(",")) if text is not None else ()
    known = [metric.name for metric in METRICS]
    for name in names:
        if name not in known:
            raise IrqlabError(f"--fail-on {name}: allowed are {', '.join(known)}")
    return names
