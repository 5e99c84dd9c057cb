# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of an ensemble's members: the spread of every figure, and the row of medians that stands for all of them.

Figures are the numbers of a row but its trials, named by their path: `summary.metrics.latency_p50_ns`, `samples.0.rate_pps`. A
figure that not every member has, or that is not the same in kind, has no spread: a search, for example, has as many samples as
it took trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irqlab.spread import Spread

Json = dict[str, Any]

_NO_FIGURES = ("trials", "dut", "ensemble", "frame_bytes", "mips", "histogram")
"""Fields without figures, in a row or anywhere below."""


def spreads(rows: Sequence[Mapping[str, Any]]) -> dict[str, Spread]:
    """Median and range of every figure of the same row of several members."""
    return {path: Spread.of(values) for path, values in _figures("", list(rows))}


def collapse(document: Json) -> tuple[Json, list[list[Json]]]:
    """The document with one row per ensemble, of medians, and the rows of each row's members; none: it has no ensemble.

    What has no spread is the first member's. Rows of members that were cut short are left out.
    """
    rows: list[Json] = []
    members: list[list[Json]] = []
    for row in document["measured"]["results"]:
        if "ensemble" not in row:
            rows.append(row)
            members.append([])
        elif "members" in row["ensemble"]:
            rows.append(row)
            members.append([row])
        elif row["complete"] and members:
            members[-1].append(row)
    if not any(members):
        return document, members
    medians = [_median(row, mine) if mine else row for row, mine in zip(rows, members, strict=True)]
    return {**document, "measured": {**document["measured"], "results": medians}}, members


def _figures(path: str, values: list[Any]) -> Iterator[tuple[str, list[float]]]:
    """The figures in the same place of several rows, by their paths below this place."""
    first = values[0]
    if not _alike(values):
        return
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        yield path, values
    elif isinstance(first, Mapping):
        for name in first:
            if name not in _NO_FIGURES:
                yield from _figures(f"{path}.{name}" if path else name, [value[name] for value in values])
    elif isinstance(first, Sequence) and not isinstance(first, str):
        for number in range(len(first)):
            yield from _figures(f"{path}.{number}", [value[number] for value in values])


def _alike(values: list[Any]) -> bool:
    """Whether values in the same place of several rows are of the same kind, and name the same things."""
    first = values[0]
    if isinstance(first, bool) or first is None:
        return False
    if isinstance(first, (int, float)):
        return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if isinstance(first, Mapping):
        names = [name for name, value in first.items() if isinstance(value, str) and name not in _NO_FIGURES]
        return all(
            isinstance(value, Mapping) and value.keys() == first.keys() and all(value[name] == first[name] for name in names)
            for value in values
        )
    if isinstance(first, Sequence) and not isinstance(first, str):
        if any(not isinstance(value, Sequence) or len(value) != len(first) for value in values):
            return False
        records = [number for number, element in enumerate(first) if isinstance(element, Mapping)]
        return all(_alike([value[number] for value in values]) for number in records)
    return False


def _median(row: Json, members: Sequence[Json]) -> Json:
    """A row with the medians of its members."""
    found: Json = _with_medians({name: value for name, value in row.items() if name not in _NO_FIGURES}, "", spreads(members))
    return {**row, **found}


def _with_medians(value: Any, path: str, found: Mapping[str, Spread]) -> Any:
    if path in found:
        return found[path].median
    if isinstance(value, Mapping):
        return {name: _with_medians(inner, f"{path}.{name}" if path else name, found) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_medians(inner, f"{path}.{number}", found) for number, inner in enumerate(value)]
    return value
