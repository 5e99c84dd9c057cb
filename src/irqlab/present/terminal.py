# SPDX-License-Identifier: GPL-2.0-or-later
"""Result rows as tables for a terminal. Each function takes rows of `measured.results` (docs/results.md) of one method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from irqlab import units

Row = Mapping[str, Any]
Line = Sequence[str | Text]

PLAIN_WIDTH = 250
"""Where there is no terminal, a table is as wide as it needs to be."""


def show(table: Table, console: Console | None = None) -> None:
    """Prints a table and never cuts a number off: into a file in full width; what a terminal has no room for, it wraps itself."""
    console = console or Console(highlight=False)
    usual = console.width
    whole = Measurement.get(console, console.options.update(width=PLAIN_WIDTH), table).maximum
    names = table.columns[0]
    foldable = max((len(str(cell)) for cell in names.cells), default=0) - (names.min_width or 0)
    needed = whole - foldable if console.is_terminal else PLAIN_WIDTH
    try:
        console.width = max(usual, needed)
        console.print(table)
    finally:
        console.width = usual


def throughput_table(rows: Iterable[Row]) -> Table:
    """What each driver sustains without loss."""
    rows = list(rows)
    causes = any(row.get("rx_interrupts_per_frame") is not None for row in rows)
    headings = ("NIC", ">kpps", ">Mbit/s", ">Instr.\n/frame", ">Intr.\n/frame", *_causes(causes), "Limited by")

    def lines(row: Row) -> Iterable[Line]:
        wire = row["line_rate_limited"]
        yield (
            row["nic"],
            Text(units.kpps(row["total_throughput_pps"]), style="bold"),
            units.mbps(row["per_interface_throughput_mbps"]),
            units.whole(row["instructions_per_frame"]),
            units.per_frame(row["interrupts_per_frame"]),
            *_by_cause(row, causes),
            units.NONE if wire is None else Text("the wire", style="green") if wire else "the device",
        )

    note = "kpps: all directions together; Mbit/s: per interface, preamble and gap counted"
    return _table("Throughput", headings, [(row, lines(row)) for row in rows], note)


def loss_table(rows: Iterable[Row]) -> Table:
    """Forwarding rate and loss over the offered load."""
    rows = list(rows)
    causes = any(point.get("rx_interrupts_per_frame") is not None for row in rows for point in row["samples"])
    headings = (
        *(">Load", ">Offered\nkpps", ">Forwarded\nkpps", ">Loss", ">Instr.\n/frame", ">Intr.\n/frame"),
        *(*_causes(causes), ">CPU\nidle", ""),
    )

    def lines(row: Row) -> Iterable[Line]:
        collapse = row["summary"].get("collapse_load")
        for point in row["samples"]:
            collapsed = collapse is not None and point["load"] >= collapse
            yield (
                units.share(point["load"]),
                units.kpps(point["offered_pps"]),
                units.kpps(point["forwarded_pps"]),
                units.percent(point["loss_ratio"]),
                units.whole(point["instructions_per_frame"]),
                units.per_frame(point["interrupts_per_frame"]),
                *_by_cause(point, causes),
                units.percent(point["idle_ratio"]),
                Text("livelock", style="bold red") if collapsed else "",
            )

    note = "Load: as a share of the throughput; kpps: all directions together"
    return _table("Loss", headings, [(row, lines(row)) for row in rows], note)


def latency_table(rows: Iterable[Row]) -> Table:
    """Latency percentiles by load and direction."""
    rows = list(rows)
    keys = ("min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
    both = any(row["bidirectional"] for row in rows)
    headings = (">Load", ">kpps", *(("Ports",) if both else ()), ">min", ">p50", ">p90", ">p99", ">p99.9", ">max", ">IPDV")

    def lines(row: Row) -> Iterable[Line]:
        for point in row["samples"]:
            record, ipdv = point["latency"], point["ipdv"]
            yield (
                units.share(point["load"]),
                units.kpps(point["rate_pps"]),
                *((" to ".join(str(port) for port in point.get("direction", ())),) if both else ()),
                *(units.figures(record[key] / 1e3) if record["count"] else units.NONE for key in keys),
                units.figures(ipdv["mean_abs_ns"] / 1e3, 2) if ipdv["count"] else units.NONE,
            )

    note = "Load: as a share of the throughput; kpps: per direction; IPDV: mean delay variation"
    return _table("Latency in µs", headings, [(row, lines(row)) for row in rows], note)


def burst_table(rows: Iterable[Row]) -> Table:
    """The longest burst at the wire's rate that loses nothing."""

    def lines(row: Row) -> Iterable[Line]:
        longest, limit = row["summary"].get("longest_burst_frames"), row["summary"].get("limit_frames")
        unlimited = Text("no limit found", style="green") if longest is not None and longest >= limit else ""
        yield row["nic"], Text(units.whole(longest), style="bold"), units.whole(limit), unlimited

    headings = ("NIC", ">Longest burst", ">Longest tried", "")
    note = "In frames, at the wire's rate, without loss"
    return _table("Back-to-back frames", headings, [(row, lines(row)) for row in rows], note)


def recovery_table(rows: Iterable[Row]) -> Table:
    """How long frames are lost after an overload."""

    def lines(row: Row) -> Iterable[Line]:
        for point in row["samples"]:
            yield (
                units.share(point["overload"]),
                units.kpps(point["overload_pps"]),
                units.kpps(point["reduced_pps"]),
                Text(units.duration(point["recovery_ns"]), style="bold"),
                units.whole(point["lost_after_reduction"]),
            )

    headings = (">Overload", ">kpps", ">then kpps", ">Recovery", ">Frames lost\nmeanwhile")
    note = "Overload: as a share of the throughput; kpps: per direction"
    return _table("System recovery", headings, [(row, lines(row)) for row in rows], note)


def _causes(known: bool) -> tuple[str, ...]:
    """Columns for what only some drivers tell."""
    return (">RX intr.\n/frame", ">TX intr.\n/frame") if known else ()


def _by_cause(counted: Mapping[str, Any], known: bool) -> tuple[str, ...]:
    return tuple(units.per_frame(counted.get(f"{cause}_interrupts_per_frame")) for cause in ("rx", "tx") if known)


def plain_table(title: str, headings: Sequence[str], rows: Sequence[tuple[Row, Iterable[Line]]], note: str) -> Table:
    """As `_table`, of what knows no frame size."""
    return _table(title, headings, rows, note, sized=False)


def _table(
    title: str, headings: Sequence[str], rows: Sequence[tuple[Row, Iterable[Line]]], note: str, sized: bool = True
) -> Table:  # fmt: skip
    """A heading that starts with > is that of numbers. What all rows have in common stands in the title."""
    offered = {(units.bytes_of(row["frame_bytes"]), units.direction(row["bidirectional"])) for row, _ in rows}
    common = len(offered) == 1 or not sized
    if common and sized:
        ((size, direction),) = offered
        title += f", {size} frames, {direction}" if size == "IMIX" else f", {size}-byte frames, {direction}"
    table = Table(
        title=Text(title), title_justify="left", title_style="bold", caption=Text(note), caption_justify="left",
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold",
    )  # fmt: skip
    longest = max((len(word) for row, _ in rows for word in units.driver_of(row).split()), default=6)
    for heading in ("Driver", *(() if common else (">Frame", "Direction")), *headings):
        number = heading.startswith(">")
        table.add_column(
            Text(heading.removeprefix(">")), justify="right" if number else "left",
            no_wrap=heading != "Driver", overflow="fold", min_width=longest if heading == "Driver" else None,
        )  # fmt: skip
    for row, lines in rows:
        count = 0
        for line in lines if row.get("complete", True) else [(Text("cut short", style="yellow"),)]:
            size, direction = units.bytes_of(row["frame_bytes"]), units.direction(row["bidirectional"])
            cells: Line = (units.driver_of(row), *(() if common else (size, direction)), *line)
            table.add_row(*(_cell(cell) for cell in cells))
            count += 1
        if count > 1:
            table.add_section()
    return table


def _cell(content: str | Text) -> Text:
    """Names come from files: nothing in them is markup, and nothing in them moves the cursor."""
    style = content.style if isinstance(content, Text) else ""
    text = content.plain if isinstance(content, Text) else content
    return Text("".join(c if c.isprintable() else "?" for c in units.plain(text)), style=style)
