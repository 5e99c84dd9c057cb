# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's part on iperf3 tests and latency under load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irqlab import units
from irqlab.present import peer_tables, plots
from irqlab.present.tables import Cell, Column, Table
from irqlab.present.variants import Row

IPERF_INTRO = (
    "Unmodified iperf3 in the device under test, the tester's host at the other end. Rx: the device receives; Tx: it sends. "
    "Payload, as the receiver counts it. Idle time, instructions and interrupts are those of a window within the test."
)
RRUL_INTRO = (
    "TCP flows up (the device sends) and down at once, and round trips of ICMP echo and UDP meanwhile, after flent's rrul_be. "
    "Alone: before the flows begin. Off the wire: less the time that the answer waited behind other frames for the wire."
)
STEP_NS = 20_000_000
"""A point of the curve is the mean of so long."""


def iperf_table(rows: Sequence[Row]) -> Table:
    """A line per test."""
    return _table("iperf3", peer_tables.IPERF_HEADINGS, ((row, peer_tables.iperf_cells(row.data)) for row in rows))


def rrul_table(rows: Sequence[Row]) -> Table:
    """A line per kind of probe."""
    return _table("Latency under load", peer_tables.RRUL_HEADINGS, ((row, peer_tables.rrul_cells(row.data)) for row in rows))


def flows_table(rows: Sequence[Row]) -> Table:
    """A line per flow."""
    lines = [
        [
            Cell(row.variant.label, swatch=row.variant.number),
            Cell(point["flow"]),
            Cell(str(point["number"] + 1)),
            Cell(units.mbps(point["bps"] / 1e6)),
            Cell(units.whole(point["retransmits"])),
        ]
        for row in rows
        for point in row.data["samples"]
        if "flow" in point
    ]
    columns = (
        *(Column("Driver", number=False), Column("Direction", number=False), Column("Flow"), Column("Mbit/s")),
        Column("Retransmits", title="of the tester's; the device's are not told flow by flow"),
    )
    return Table("Flows", columns, lines, folded=True)


def rrul_plots(rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """The latency over time, by kind of probe: title, plot, note."""
    drawn = []
    for kind, name in (("icmp", "ICMP echo"), ("udp", "UDP")):
        lines = [
            plots.Line(f"series-{place}", row.variant.label, plots.style(row.variant.number), _curve(row, kind))
            for place, row in enumerate(rows)
        ]
        drawn.append((f"Round trip of {name}", plots.latency_over_time(lines, name), ""))
    return drawn


def _curve(row: Row, kind: str) -> list[plots.Point]:
    (point,) = (p for p in row.data["samples"] if p.get("probe") == kind)
    steps: dict[int, list[int]] = {}
    for at_ns, rtt_ns, _ in point["rtts"]:
        steps.setdefault(at_ns // STEP_NS, []).extend([] if rtt_ns is None else [rtt_ns])
    return [(n * STEP_NS / 1e9, sum(rtts) / len(rtts) / 1e6 if rtts else None) for n, rtts in sorted(steps.items())]


def _table(caption: str, headings: Sequence[str], rows: Iterable[tuple[Row, Iterable[tuple[str, ...]]]]) -> Table:
    columns = [Column("Driver", number=False)]
    for heading in headings:
        text = heading.removeprefix(">").replace("-\n", "").replace("\n", " ")
        columns.append(Column(text, number=heading.startswith(">")))
    lines = [
        [Cell(row.variant.label, swatch=row.variant.number), *(Cell(text) for text in cells)]
        for row, many in rows
        for cells in many
    ]
    return Table(caption, columns, lines)
