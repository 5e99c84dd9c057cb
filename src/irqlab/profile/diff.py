# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares two profiles per frame forwarded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from irqlab.profile.tree import Row


@dataclass(frozen=True)
class Change:
    """Instructions per frame, before and after."""

    name: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """The increase in instructions per frame; negative: a decrease."""
        return self.after - self.before


def changes(before: Row, after: Row, by: str = "function") -> list[Change]:
    """Changes by `function` (contexts together), `owner` or `context`, the largest first."""
    sides = []
    for row in (before, after):
        sums: Counter[str] = Counter()
        for point in row["samples"]:
            sums[point[by]] += point["instructions"]
        sides.append({name: count / row["summary"]["frames"] for name, count in sums.items()})
    old, new = sides
    both = [Change(name, old.get(name, 0.0), new.get(name, 0.0)) for name in {**old, **new}]
    return sorted(both, key=lambda c: (-abs(c.change), c.name))


def counterpart(row: Row, others: Sequence[Row]) -> Row | None:
    """The profile of the same frame size and direction, or iperf3 test; of several, the same driver's and scheme's."""
    alike = [other for other in others if _load(other) == _load(row)]
    return max(alike, key=lambda o: [o[key] == row[key] for key in ("driver", "rx_scheme", "tx_scheme")], default=None)


def _load(row: Row) -> tuple[object, ...]:
    return row["frame_bytes"], row["bidirectional"], row["summary"].get("iperf", {}).get("name")
