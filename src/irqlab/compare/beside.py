# SPDX-License-Identifier: GPL-2.0-or-later
"""Two result files side by side, figure by figure, with the ratio: a real machine and the lab, for example.

There is no verdict: the lab counts instructions, and a machine has caches and buses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irqlab import units
from irqlab.errors import IrqlabError
from irqlab.present.tables import Cell, Column, Table
from irqlab.units import driver_of

Json = Mapping[str, Any]
_TIMES = (("p50_ns", "p50"), ("p90_ns", "p90"), ("p99_ns", "p99"), ("max_ns", "max"))


def tables(first: Json, second: Json, names: tuple[str, str]) -> list[Table]:
    """A table for each method and frame size that both have. Raises IrqlabError if there is none.

    If a file has several configurations, those with the same driver and schemes are put side by side.
    """
    found = []
    for row in _rows(first):
        if (other := _counterpart(row, first, second, names)) is not None:
            lines = _joined(dict(_figures(row)), dict(_figures(other)))
            heading = f"{row['method'].capitalize()}, {row['frame_bytes']}-byte frames, {units.direction(row['bidirectional'])}"
            heading += f": {driver_of(row)}" if len(_same(row, first)) > 1 else ""
            columns = (Column("", number=False), Column(names[0]), Column(names[1]), Column("Ratio", title="second / first"))
            found.append(Table(heading, columns, lines))
    if not found:
        raise IrqlabError(f"{names[0]} and {names[1]} have no method and frame size in common")
    return found


def _rows(document: Json) -> list[dict[str, Any]]:
    return [row for row in document["measured"]["results"] if row["complete"]]


def _same(row: Json, document: Json) -> list[dict[str, Any]]:
    """The rows of a document with the same method, frame size and direction."""
    return [other for other in _rows(document) if _key(other) == _key(row)]


def _counterpart(row: Json, first: Json, second: Json, names: tuple[str, str]) -> dict[str, Any] | None:
    """The row of the second document to put beside one of the first."""
    candidates = _same(row, second)
    if len(candidates) <= 1 and len(_same(row, first)) == 1:
        return candidates[0] if candidates else None
    alike = [other for other in candidates if driver_of(other) == driver_of(row)]
    if len(alike) > 1:
        raise IrqlabError(f"{names[1]} has several configurations of {driver_of(row)}; give a file with only one")
    return alike[0] if alike else None


def _key(row: Json) -> tuple[str, str, bool]:
    return row["method"], str(row["frame_bytes"]), bool(row["bidirectional"])


def _figures(row: Json) -> Iterator[tuple[str, tuple[float | None, str]]]:
    """Name, value and unit of a row's figures."""
    yield "Throughput", (row["total_throughput_pps"], "kpps")
    yield "Interrupts per frame", (row["interrupts_per_frame"], "")
    for sample in row["samples"]:
        if row["method"] == "latency":
            for field, name in _TIMES:
                yield f"Latency {name} at {units.share_of(sample['load'])}", (sample["latency"][field], "time")
        elif row["method"] == "loss":
            load = units.share_of(sample["load"])
            yield f"Forwarded at {load}", (sample["forwarded_pps"], "kpps")
        elif row["method"] == "recovery":
            yield f"Recovery after {units.share_of(sample['overload'])}", (sample["recovery_ns"], "time")
    if row["method"] == "burst":
        yield "Longest burst, frames", (row["summary"]["longest_burst_frames"], "")
    elif row["method"] == "application":
        yield "Most that the application received", (row["summary"]["best_application_pps"], "kpps")
    elif row["method"] == "cliff":
        for sign, pps in row["summary"]["signs_pps"].items():
            yield f"Cliff by {sign}", (pps, "kpps")


def _joined(first: Mapping[str, tuple[float | None, str]], second: Mapping[str, tuple[float | None, str]]) -> list[list[Cell]]:
    lines = []
    for name, (value, unit) in first.items():
        other = second.get(name, (None, ""))[0]
        if value is None and other is None:
            continue
        ratio = f"{other / value:.3g}" if value and other is not None else units.NONE
        heading = f"{name}, kpps" if unit == "kpps" else name
        lines.append([Cell(heading), Cell(_text(value, unit)), Cell(_text(other, unit)), Cell(ratio)])
    return lines


def _text(value: float | None, unit: str) -> str:
    if value is None:
        return units.NONE
    if unit == "kpps":
        return units.kpps(value)
    return units.duration(value) if unit == "time" else units.per_frame(value)
