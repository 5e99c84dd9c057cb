# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the metrics of two sides, with a verdict on each.

Two trials that are the same have no noise. But any change of a driver also moves what should not matter: phases, allocations,
addresses. Ensembles show by how much. Between ensembles a difference is called one only if every member of the second side is
beyond every member of the first side and of its null ensemble, which has as many members again, and if the medians differ by more
than a share of the figure and more than the metric's floor. Of n + 2n members that do not differ in kind, n are beyond the others
by chance once in (3n)! / (2 n! (2n)!) times: with five members once in 1,500.
"""

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


RELATIVE = RELATIVE_WIDTH
"""Between ensembles, smaller differences, as a share, are not called differences: a throughput is not searched closer."""
Range = tuple[float, float]


@dataclass(frozen=True)
class Spread:
    """The ranges of a metric in the ensembles of both sides."""

    before: Range
    after: Range
    null: Range
    """Of the first side's null ensemble."""

    @property
    def first(self) -> Range:
        """The range of the first side with its null ensemble."""
        return min(self.before[0], self.null[0]), max(self.before[1], self.null[1])

    @property
    def noise(self) -> float:
        """The most by which two members of the first side differ."""
        return self.first[1] - self.first[0]

    @property
    def apart(self) -> bool:
        """Whether all members of the second side are beyond all of the first."""
        return self.after[0] > self.first[1] or self.after[1] < self.first[0]


@dataclass(frozen=True)
class Line:
    """One metric of both sides; None if a side does not have it. Of ensembles `before` and `after` are medians."""

    metric: Metric
    before: float | None
    after: float | None
    fail_above: float | None = None
    """Share by which `after` may be worse."""
    spread: Spread | None = None
    """None: not an ensemble."""

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
        return self.fail_above is not None and self.worse_by > self.fail_above and self.differs

    @property
    def differs(self) -> bool:
        """Whether there is a difference: of ensembles, one beyond what they differ by themselves."""
        if self.before is None or self.after is None or self.before == self.after:
            return False
        if self.spread is None:
            return True
        change = abs(self.after - self.before)
        return self.spread.apart and change >= RELATIVE * abs(self.before) and change >= self.metric.floor

    @property
    def verdict(self) -> str:
        """same, better, worse, FAILED; of ensembles also `no difference`; empty if a value is missing."""
        if self.change is None:
            return ""
        if self.failed:
            return "FAILED"
        if self.change != 0 and not self.differs:
            return "no difference"
        return "same" if self.change == 0 else "worse" if self.worse_by > 0 else "better"


def lines(before: Row, after: Row, fail_above: float | None = None, judged: Sequence[str] = ()) -> list[Line]:
    """Every metric of two rows; `judged`: names of the metrics that can fail; empty: all."""
    old, new = before["summary"]["metrics"], after["summary"]["metrics"]
    return [
        Line(
            m, old.get(m.name), new.get(m.name), fail_above if not judged or m.name in judged else None, _spread(m, before, after)
        )
        for m in METRICS
        if old.get(m.name) is not None or new.get(m.name) is not None
    ]


def _spread(metric: Metric, before: Row, after: Row) -> Spread | None:
    """The ranges of a metric; None if a side is not an ensemble, or a member does not have the metric."""
    found = [_range(metric, row, which) for row, which in ((before, "figures"), (after, "figures"), (before, "null"))]
    one, other, null = found
    return Spread(one, other, null or one) if one is not None and other is not None else None


def _range(metric: Metric, row: Row, which: str) -> Range | None:
    figures = row.get("ensemble", {}).get(which, {}).get(f"summary.metrics.{metric.name}")
    return (figures["min"], figures["max"]) if figures else None


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
        members = [one["ensemble"]["members"] if "ensemble" in one else 1 for one in (same[0], row)]
        if members[0] != members[1]:
            raise IrqlabError(
                f"the two sides have ensembles of {members[0]} and {members[1]} members: measure one of them again, with the "
                "same --ensemble"
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
