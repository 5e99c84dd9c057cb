# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the metrics of two sides, with a verdict on each.

Two trials that are the same have no noise. But any change of a driver also moves what should not matter: phases, allocations,
addresses. The members of an ensemble show by how much. A figure is different only if every member of the second side is beyond
every member of the first, and if the medians differ by the metric's floor and, of what is timed, by a share of the figure. If
2 n members do not differ in kind, n are beyond the others in one direction by chance once in (2n)! / (n! n!) times: with six
once in 924.

Instructions per frame at the low load are compared by function. What the idle loop, the timer tick and other threads execute
differs between members, by 2 % of the whole; what a frame executes does not. The change is the sum of the changes of functions
that differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab import units
from irqlab.config.workload import RELATIVE_WIDTH
from irqlab.errors import IrqlabError
from irqlab.methods.metrics import METRICS, Metric
from irqlab.profile import diff
from irqlab.profile.tables import NOTABLE, figure
from irqlab.results.ensemble import collapse
from irqlab.spread import median

Row = Mapping[str, Any]
Range = tuple[float, float]

INSTRUCTIONS = "instructions_per_frame"
RELATIVE = RELATIVE_WIDTH
"""A throughput is not searched closer: smaller differences, as a share, of what is not counted at the low load are none."""
TAIL = 50
"""A percentile of the latency is judged only if so many frames of a trial are beyond it."""
BEYOND = {"latency_p50_ns": 0.5, "latency_p90_ns": 0.1, "latency_p99_ns": 0.01, "latency_p999_ns": 0.001, "latency_max_ns": 0.0}
"""The share of frames beyond a percentile."""


def measured(document: Row) -> list[Row]:
    """The rows of method `metrics`, one of medians per ensemble; `of_members` holds the rows of all members."""
    content, members = collapse(dict(document))
    rows = zip(content["measured"]["results"], members, strict=True)
    return [{**row, "of_members": mine or [row]} for row, mine in rows if row["method"] == "metrics" and row["complete"]]


@dataclass(frozen=True)
class BothSides:
    """A metric of the members of both sides."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def noise(self) -> float:
        """The most by which two members of a side differ."""
        return max(max(side) - min(side) for side in (self.before, self.after))

    @property
    def apart(self) -> bool:
        """Whether all members of the second side are beyond all of the first."""
        return min(self.after) > max(self.before) or max(self.after) < min(self.before)

    @property
    def change(self) -> float:
        """The difference of the medians."""
        return median(self.after) - median(self.before)


@dataclass(frozen=True)
class Line:
    """One metric of both sides; None if a side does not have it. Of ensembles `before` and `after` are medians."""

    metric: Metric
    before: float | None
    after: float | None
    fail_above: float | None = None
    """Share by which `after` may be worse."""
    spread: BothSides | None = None
    """None: a side has one member, so what harmless changes do is not known."""
    judged: bool = True
    """False: it is only shown, since too few frames or members determine it."""
    counted: bool = False
    """`after` is `before` and what functions gained beyond what members differ by."""

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
        """Whether there is a difference: one beyond what the members differ by themselves."""
        if self.before is None or self.after is None or self.before == self.after or not self.judged:
            return False
        if self.counted:
            return abs(self.after - self.before) >= self.metric.floor
        least = self.metric.floor if self.metric.where == "cost" else max(self.metric.floor, RELATIVE * abs(self.before))
        if self.spread is None:
            return abs(self.after - self.before) >= least
        return self.spread.apart and abs(self.spread.change) >= least

    @property
    def verdict(self) -> str:
        """same, better, worse, FAILED, no difference, not judged; empty if a value is missing."""
        if self.change is None:
            return ""
        if self.failed:
            return "FAILED"
        if self.change == 0:
            return "same"
        if not self.judged:
            return "not judged"
        if not self.differs:
            return "no difference"
        return "worse" if self.worse_by > 0 else "better"


def lines(before: Row, after: Row, fail_above: float | None = None, judged: Sequence[str] = ()) -> list[Line]:
    """Every metric of two rows; `judged`: names of the metrics that can fail; empty: all."""
    spreads = {metric.name: _spread(metric, before, after) for metric in METRICS}
    known = {name: spread for name, spread in spreads.items() if spread is not None}
    old = before["summary"]["metrics"] | {name: median(spread.before) for name, spread in known.items()}
    new = after["summary"]["metrics"] | {name: median(spread.after) for name, spread in known.items()}
    timed = min(row["summary"]["timed"] for row in (before, after))
    counted = _by_function(before) is not None and _by_function(after) is not None
    if counted and old.get(INSTRUCTIONS) is not None:
        new[INSTRUCTIONS] = old[INSTRUCTIONS] + sum(change.change for change in functions(before, after))
    return [
        Line(
            metric=m,
            before=old.get(m.name),
            after=new.get(m.name),
            fail_above=fail_above if not judged or m.name in judged else None,
            spread=None if counted and m.name == INSTRUCTIONS else spreads[m.name],
            judged=(timed * BEYOND.get(m.name, 1.0) >= TAIL or m.name not in BEYOND) and (m.name in known or not known),
            counted=counted and m.name == INSTRUCTIONS,
        )
        for m in METRICS
        if old.get(m.name) is not None or new.get(m.name) is not None
    ]


def _members(row: Row) -> Sequence[Row]:
    return row.get("of_members", (row,))  # type: ignore[no-any-return]


def _spread(metric: Metric, before: Row, after: Row) -> BothSides | None:
    """A metric of the members; None if a side is not an ensemble, or a member does not have the metric."""
    sides = [[one["summary"]["metrics"].get(metric.name) for one in _members(row)] for row in (before, after)]
    if any(len(side) < 2 or None in side for side in sides):
        return None
    return BothSides(tuple(sides[0]), tuple(sides[1]))


def _by_function(row: Row) -> list[dict[str, float]] | None:
    """Instructions per frame by function, of each member; None: a member was not profiled."""
    profiles = [{"samples": one["samples"], "summary": one["summary"]["profile"]} for one in _members(row)]
    if not all(one["summary"] for one in profiles):
        return None
    return [{change.name: change.after for change in diff.changes(one, one)} for one in profiles]


def functions(before: Row, after: Row) -> list[diff.Change]:
    """The functions whose instructions per frame differ beyond what members differ by, largest change first: medians."""
    old, new = _by_function(before), _by_function(after)
    if old is None or new is None:
        return []
    found = []
    for name in dict.fromkeys(name for one in (*old, *new) for name in one):
        spread = BothSides(*(tuple(one.get(name, 0.0) for one in side) for side in (old, new)))
        if spread.apart and abs(spread.change) >= NOTABLE:
            found.append(diff.Change(name, median(spread.before), median(spread.after)))
    return sorted(found, key=lambda change: (-abs(change.change), change.name))


def pairs(before: Sequence[Row], after: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Pairs of rows with the same offered load: with the highest rate that both sides have. Raises IrqlabError."""
    found = []
    for size, both in dict.fromkeys((row["frame_bytes"], row["bidirectional"]) for row in after):
        sides = [
            {row["summary"]["base_pps"]: row for row in side if (row["frame_bytes"], row["bidirectional"]) == (size, both)}
            for side in (before, after)
        ]
        if not sides[0]:
            raise IrqlabError(f"the first side has no result for frame size {size} in the same directions")
        if not (common := sides[0].keys() & sides[1].keys()):
            rates = ["/".join(f"{rate:.0f}" for rate in side) for side in sides]
            raise IrqlabError(
                f"the two sides were offered different loads (shares of {rates[0]} and of {rates[1]} frames/s): "
                "measure one of them again, compared with the other"
            )
        pair = sides[0][max(common)], sides[1][max(common)]
        members = [len(_members(row)) for row in pair]
        if members[0] != members[1]:
            raise IrqlabError(
                f"the two sides have ensembles of {members[0]} and {members[1]} members: measure one of them again, with the "
                "same --ensemble"
            )
        found.append(pair)
    return found


def value(metric: Metric, number: float | None) -> str:
    """A value formatted in the metric's unit, without the unit."""
    if number is None:
        return units.NONE
    if metric.unit:
        return f"{number / 1e3:,.2f}".replace(",", units.NARROW)
    return figure(number) if "instructions" in metric.name else f"{number:.4f}"


def change_text(line: Line) -> str:
    """The difference in per cent; only an exact zero is shown as 0."""
    share = line.change
    if share is None:
        return units.NONE
    if share == 0:
        return "0"
    if share == math.inf:
        return "from 0"
    text = f"{share * 100:+.2f}"
    return f"{text if float(text) else ('+' if share > 0 else '-') + '<0.01'}{units.NARROW}%"


def noise(line: Line) -> str:
    """The most by which two members of a side differ, in per cent of the first side's figure."""
    if line.spread is None or not line.before:
        return units.NONE
    return f"{line.spread.noise / abs(line.before) * 100:.2f}{units.NARROW}%"


def answer(found: Sequence[tuple[Row, Sequence[Line]]], names: tuple[str, str]) -> str:
    """One sentence: what changed, how sure that is, and whether it is allowed. `found`: a row and its lines per frame size."""
    every = [line for _, many in found for line in many]
    allowed = next((line.fail_above for line in every if line.fail_above is not None), None)
    several = len(found) > 1
    parts = []
    for verdict, heading in (("FAILED", "worse by more than allowed"), ("worse", "worse"), ("better", "better")):
        texts = [_phrase(row, line, several) for row, many in found for line in many if line.verdict == verdict]
        parts += [f"{heading}: {', '.join(texts)}"] if texts else []
    text = "; ".join(parts) or (
        "no figure differs" if all(ln.verdict in ("same", "") for ln in every) else "no difference beyond noise"
    )
    members = max((len(line.spread.before) for line in every if line.spread), default=0)
    sure = f" (all {members} members of a side beyond all of the other)" if members else " (one run of each: noise is not known)"
    sure = sure if parts else ""
    begin = f"{names[1]} against {names[0]}"
    if allowed is None:
        return f"{begin}: {text}{sure}."
    outcome = "FAILED" if any(line.failed for line in every) else "Passed"
    return f"{outcome}: {begin}: {text}{sure}; allowed: {allowed * 100:g}{units.NARROW}%."


def _phrase(row: Row, line: Line, several: bool) -> str:
    """A metric that changed, and by how much."""
    text = line.metric.text
    name = text if text[1].isupper() else text[0].lower() + text[1:]
    if several:
        name += f" ({units.bytes_of(row['frame_bytes'])})"
    if line.metric.unit or line.before is None or line.after is None:
        return f"{name} {change_text(line)}"
    return f"{name} {line.after - line.before:+.2f} ({change_text(line)})"


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
    known = [metric.name for metric in METRICS if BEYOND.get(metric.name, 1.0)]
    for name in names:
        if name not in known:
            raise IrqlabError(f"--fail-on {name}: allowed are {', '.join(known)}")
    return names
