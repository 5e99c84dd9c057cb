# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of `iperf` and `rrul` as cells: for a terminal's tables here, for the report's there (docs/results.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table

from irqlab import units
from irqlab.present import terminal as tables

Row = Mapping[str, Any]
Cells = tuple[str, ...]

IPERF_HEADINGS = (
    *("Test", ">Streams", ">Mbit/s", ">Sender\nMbit/s", ">Retrans-\nmits", ">Loss", ">Jitter", ">CPU\nidle"),
    *(">Instr.\n/byte", ">Interrupts\n/s"),
)
IPERF_NOTE = (
    "Rx, Tx: the DUT receives, sends; Mbit/s: payload, as the receiver counts it;\n"
    "idle, instructions and interrupts: in a window within the test"
)
RRUL_HEADINGS = (
    *(">Up\nMbit/s", ">Down\nMbit/s", ">CPU\nidle", "Probe", ">alone\np50", ">p99"),
    *(">loaded\np50", ">p90", ">p99", ">max", ">off the wire\np50", ">p99", ">Lost"),
)
RRUL_NOTE = (
    "Up: the DUT sends; sums of all flows, payload. Probes: round trips, without the flows and with them; off the wire: less\n"
    "the time that the answer waited behind other frames for the wire, which is the same wire for every driver"
)


def iperf_cells(row: Row) -> Iterable[Cells]:
    """A line per test."""
    for point in row["samples"]:
        sender = point["dut" if point["test"]["dut_sends"] else "tester"]
        interrupts = sum(point["interrupts"].values())
        soaked = point["soaked_ratio"]
        yield (
            point["name"],
            units.whole(point["test"]["parallel"]),
            units.mbps(point["bps"] / 1e6),
            units.mbps(sender["bps"] / 1e6),
            units.whole(point["retransmits"]),
            units.percent(point["loss_ratio"]),
            units.duration(point["jitter_ns"]),
            units.percent(point["idle_ratio"] if soaked is None else soaked),
            units.NONE if point["instructions_per_byte"] is None else units.figures(point["instructions_per_byte"]),
            units.whole(interrupts * 1e9 / point["counted_ns"]),
        )


def rrul_cells(row: Row) -> Iterable[Cells]:
    """A line per kind of probe."""
    found = row["summary"]
    for kind, latency in found["latency"].items():
        base, load = latency["base"], latency["load"]
        off = load["off_wire"]
        yield (
            units.mbps(found["up_bps"] / 1e6),
            units.mbps(found["down_bps"] / 1e6),
            units.percent(found["idle_ratio"]),
            kind.upper(),
            *(units.duration(base[name]) if base["count"] else units.NONE for name in ("p50_ns", "p99_ns")),
            *(units.duration(load[name]) if load["count"] else units.NONE for name in ("p50_ns", "p90_ns", "p99_ns", "max_ns")),
            *(units.duration(off[name]) if off["count"] else units.NONE for name in ("p50_ns", "p99_ns")),
            units.whole(load["lost"]),
        )


def iperf_table(rows: Iterable[Row]) -> Table:
    """Throughput, and what it costs."""
    return tables.plain_table("iperf3", IPERF_HEADINGS, [(row, iperf_cells(row)) for row in rows], IPERF_NOTE)


def rrul_table(rows: Iterable[Row]) -> Table:
    """Latency under load."""
    lines = [(row, rrul_cells(row)) for row in rows]
    return tables.plain_table("Latency under load (rrul)", RRUL_HEADINGS, lines, RRUL_NOTE)
