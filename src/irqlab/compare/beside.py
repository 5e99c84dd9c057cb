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

Json = Mapping[str, Any]
_TIMES = (("p50_ns", "p50"), ("p90_ns", "p90"), ("p99_ns", "p99"), ("max_ns", "max"))


def tables(first: Json, second: Json, names: tuple[str, str]) -> list[Table]:
    """A table for each method and frame size that both have. Raises IrqlabError if there is none."""
    found = []
    others = {_key(row): row for row in _rows(second)}
    for row in _rows(first):
        if (other := others.get(_key(row))) is not None:
            lines = _joined(dict(_figures(row)), dict(_figures(other)))
            heading = f"{row['method'].capitalize()}, {row['frame_bytes']}-byte frames, {units.direction(row['bidirectional'])}"
            columns = (Column("", number=False), Column(names[0]), Column(names[1]), Column("Ratio", title="second / first"))
            found.append(Table(heading, columns, lines))
    if not found:
        raise IrqlabError(f"{names[0]} and {names[1]} have no method and frame size in common")
    return found


def _rows(document: Json) -> list[Json]:
    return [row for row in document["measured"]["results"] if row["complete"]]


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
