# SPDX-License-Identifier: GPL-2.0-or-later
"""rrul results in flent's data format, version 4 (flent.org; flent/resultset.py), as its tests rrul and rrul_be write them.

Times are the DUT's: its clock starts at 2020-01-01 at power-on, so that a file depends only on the measurement.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irqlab.errors import IrqlabError
from irqlab.trials.rrul import FLOWS

VERSION = 4
SUFFIX = ".flent.gz"
EPOCH_S = 1_577_836_800
EPOCH = "2020-01-01T00:00:00.000000Z"

Series = list[float | None]


def document(row: dict[str, Any], title: str) -> dict[str, Any]:
    """A row of method rrul as a flent data file. x: seconds since the first probe; values in Mbit/s and ms."""
    found, points = row["summary"], row["samples"]
    test = found["test"]
    step_s = test["bucket_ns"] / 1e9
    total_s = 2 * test["idle_s"] + test["seconds"]
    x_values = [round(n * step_s, 6) for n in range(round(total_s / step_s))]
    results: dict[str, Series] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    means: dict[str, tuple[float | None, str]] = {}
    for direction in ("up", "down"):
        name = f"TCP {direction}load"
        flows: list[Series] = []
        for point in points:
            if point.get("flow") != direction:
                continue
            key = f"{name} {point['traffic_class']}"
            if (turn := point["number"] // len(FLOWS[test["test"]])) > 0:
                key += f"::{turn + 1}"
            results[key] = _bandwidth(point["series"], found["began_ns"], test, len(x_values))
            raw[key] = [{"t": EPOCH_S + x, "val": y} for x, y in zip(x_values, results[key], strict=True) if y is not None]
            means[key] = (point["bps"] / 1e6, "Mbits/s")
            flows.append(results[key])
        results[f"{name} sum"] = _together(flows)
        results[f"{name} avg"] = [None if y is None else y / len(flows) for y in results[f"{name} sum"]]
    results["TCP totals"] = _together([results["TCP upload sum"], results["TCP download sum"]])
    pings = []
    for point in points:
        if "probe" not in point:
            continue
        key = f"Ping (ms) {point['probe'].upper().replace('_', ' ')}"
        answered = [(at_ns / 1e9, rtt_ns / 1e6) for at_ns, rtt_ns, _ in point["rtts"] if rtt_ns is not None]
        results[key] = _mean_by_step(answered, step_s, len(x_values))
        raw[key] = [{"t": EPOCH_S + t, "val": ms} for t, ms in answered]
        means[key] = (sum(ms for _, ms in answered) / len(answered) if answered else None, "ms")
        pings.append(results[key])
    results["Ping (ms) avg"] = [_mean([y for y in ys if y is not None]) for ys in zip(*pings, strict=True)]
    return {
        "version": VERSION,
        "metadata": {
            "NAME": test["test"],
            "TITLE": title,
            "TIME": EPOCH,
            "T0": EPOCH,
            "LENGTH": test["seconds"],
            "TOTAL_LENGTH": total_s,
            "DELAY": test["idle_s"],
            "STEP_SIZE": step_s,
            "HOST": "tester",
            "HOSTS": ["tester"],
            "LOCAL_HOST": "dut",
            "DATA_FILENAME": f"{test['test']}-{title.replace(' ', '_')}{SUFFIX}",
            "IP_VERSION": 4,
            "TEST_PARAMETERS": {},
            "NOTE": "Written by irqlab: virtual time; flows by iperf3, probes by irqlab's tester.",
            "SERIES_META": {key: {"MEAN_VALUE": mean, "UNITS": unit} for key, (mean, unit) in means.items()},
        },
        "x_values": x_values,
        "results": results,
        "raw_values": raw,
    }


def write(row: dict[str, Any], title: str, path: Path) -> None:
    """Writes a row of method rrul; the same row gives the same bytes. Raises IrqlabError."""
    if not path.name.endswith(SUFFIX):
        raise IrqlabError(f"--flent {path}: the file name must end in {SUFFIX}")
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(json.dumps(document(row, title)).encode())
    try:
        path.write_bytes(packed.getvalue())
    except OSError as error:
        raise IrqlabError(f"cannot write {path}: {error.strerror}") from error


def _bandwidth(series: Sequence[int], began_ns: int, test: dict[str, Any], length: int) -> Series:
    """Bytes per bucket as Mbit/s; None while the flow is not running."""
    bucket_ns = test["bucket_ns"]
    first, last = began_ns // bucket_ns, (began_ns + test["seconds"] * 1_000_000_000) // bucket_ns
    return [8e3 * (series[n] if n < len(series) else 0) / bucket_ns if first <= n < last else None for n in range(length)]


def _together(all_series: Sequence[Series]) -> Series:
    sums = []
    for ys in zip(*all_series, strict=True):
        there = [y for y in ys if y is not None]
        sums.append(sum(there) if there else None)
    return sums


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _mean_by_step(samples: Sequence[tuple[float, float]], step_s: float, length: int) -> Series:
    steps: list[list[float]] = [[] for _ in range(length)]
    for t, value in samples:
        if (n := int(t / step_s)) < length:
            steps[n].append(value)
    return [_mean(values) for values in steps]
