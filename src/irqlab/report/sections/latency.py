# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency by load and percentile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irqlab import units
from irqlab.present import plots, tables
from irqlab.present.parts import Group, Legend, Numbers, Plot, Section
from irqlab.present.plots import Line
from irqlab.present.rows import by_test, legend_of, line_of
from irqlab.present.tables import PERCENTILES
from irqlab.present.variants import Row
from irqlab.report import hdr

Json = dict[str, Any]

MAX_HDR_PLOTS = 3
MAX_HDR_POINTS = 160


def section(rows: Sequence[Row], number: Numbers) -> Section | None:
    """Percentiles by load, and distributions where histograms were kept."""
    rows = [row for row in rows if any(p["latency"] and p["latency"]["count"] for p in row.data["samples"])]
    if not rows:
        return None
    return Section(
        "latency",
        "Latency",
        "Latency",
        "From the last bit of a frame into the device to the first bit out of it (RFC 1242, 3.8), at shares of each driver's own "
        "throughput.",
        [group for heading, same in by_test(rows) for group in _latency_groups(heading, same, number)],
    )


def _slower(row: Row) -> dict[float, Json]:
    """By load, the latency of the direction that is slower by p99."""
    found: dict[float, Json] = {}
    for point in row.data["samples"]:
        record = point["latency"]
        if record and record["count"] and record["p99_ns"] >= found.get(point["load"], record)["p99_ns"]:
            found[point["load"]] = record
    return dict(sorted(found.items()))


def _latency_groups(heading: str, rows: Sequence[Row], number: Numbers) -> list[Group]:
    rows = sorted(rows, key=lambda row: row.variant.number)
    slower = {row.variant.number: _slower(row) for row in rows}
    records = [record for by_load in slower.values() for record in by_load.values()]
    bounds = plots.log_bounds(record[key] / 1e3 for record in records for key, _ in PERCENTILES)
    group = Group(heading)
    names = [name for _, name in PERCENTILES]
    if any(len(by_load) > 1 for by_load in slower.values()):
        for row in rows:
            by_load = slower[row.variant.number]
            colour = plots.style(row.variant.number).colour
            lines = [
                Line(f"rank-{n}", name, plots.rank_style(n, colour), [(100 * load, _us(r[key])) for load, r in by_load.items()])
                for n, (key, name) in enumerate(PERCENTILES)
            ]
            group.plots.append(number.plot(row.variant.label, plots.latency_by_load(lines, bounds)))
        group.legend = [Legend(f"rank-{n}", name) for n, name in enumerate(names)]
    else:
        drawn = [
            line_of(row, [(n, _us(record[key])) for n, (key, _) in enumerate(PERCENTILES)])
            for row in rows
            for record in slower[row.variant.number].values()
        ]
        load = next(iter(slower[rows[0].variant.number]))
        group.plots.append(number.plot(f"At {units.share_of(load)}", plots.latency_percentiles(drawn, names, bounds)))
        group.legend = legend_of(rows)
    if any(row.bidirectional for row in rows):
        group.note = "Of two directions the slower one is drawn."
    distributions = _distributions(rows, slower, number)
    last = Group(f"{heading}: distribution", plots=distributions, legend=legend_of(rows)) if distributions else group
    last.tables = [tables.latency(rows)]
    return [group, last] if distributions else [group]


def _us(ns: float) -> float | None:
    """For a logarithmic axis."""
    return ns / 1e3 if ns > 0 else None


def _distributions(rows: Sequence[Row], slower: dict[int, dict[float, Json]], number: Numbers) -> list[Plot]:
    """Latency by percentile from the histograms, at the lowest, the middle and the highest load."""
    loads: dict[float, list[tuple[Row, hdr.Histogram]]] = {}
    for row in rows:
        for load, record in slower[row.variant.number].items():
            if record.get("histogram"):
                histogram = hdr.decode(record["histogram"])
                if histogram.total:
                    loads.setdefault(load, []).append((row, histogram))
    chosen = sorted(loads)
    if len(chosen) > MAX_HDR_PLOTS:
        chosen = [chosen[0], chosen[len(chosen) // 2], chosen[-1]]
    points = {(load, row.variant.number): _percentiles(h) for load in chosen for row, h in loads[load]}
    bounds = plots.log_bounds(y for line in points.values() for _, y in line)
    return [
        number.plot(
            f"At {units.share_of(load)}",
            plots.hdr_percentiles([line_of(row, points[load, row.variant.number]) for row, _ in loads[load]], bounds),
        )
        for load in chosen
    ]


def _percentiles(histogram: hdr.Histogram) -> list[tuple[float, float]]:
    """(1 / (1 - quantile), µs): thinned out so that neighbours can be told apart."""
    points, seen = [], 0
    for value, count in histogram.counts:
        seen += count
        points.append((histogram.total / (histogram.total - seen + 0.5), value / 1e3))
    first = (1.0, points[0][1])
    step = (points[-1][0] / first[0]) ** (1 / MAX_HDR_POINTS)
    kept = [first]
    for point, after in zip(points, [*points[1:], None], strict=True):
        if after is None or point[0] >= kept[-1][0] * step or after[1] > point[1] * 1.1:
            kept.append(point)
    return kept
