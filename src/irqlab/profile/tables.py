# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles and their differences as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from irqlab import units
from irqlab.profile import diff
from irqlab.profile.tree import CONTEXT_NAMES, Row

TOP = 40
NOTABLE = 0.05
"""Smaller changes, in instructions a frame, are summed up."""


def title(row: Row) -> str:
    """What a profile is of."""
    found = row["summary"]
    if test := found.get("iperf"):
        return (
            f"Profile of {units.driver_of(row)} on {row['nic']}, iperf3 {test['name']}, {test['bps'] / 1e6:.1f} Mbit/s received"
        )
    size = units.bytes_of(row["frame_bytes"])
    load = f"{found['load']:g}x the throughput, " if found["load"] is not None else ""
    return (
        f"Profile of {units.driver_of(row)} on {row['nic']}, {size}{'' if size == 'IMIX' else '-byte'} frames, "
        f"{units.direction(row['bidirectional'])}, {load}{units.kpps(found['rate_pps'])} kpps offered"
        f"{' each' if row['bidirectional'] else ''}, {units.kpps(row['trials'][0]['forwarded_pps'])} forwarded"
    )


def functions_table(row: Row, top: int = TOP) -> Table:
    """The functions in which most instructions were executed."""
    found, points = row["summary"], row["samples"]
    shown = points[:top]
    table = _table(title(row), ("Function", ">Instr.\n/frame", ">Share", ">Entered\n/frame", "Context", "Owner"))
    for point in shown:
        name = point["function"] + (f" [{point['module']}]" if point["module"] else "")
        table.add_row(
            Text(name),
            figure(point["instructions"] / found["frames"]),
            units.percent(point["instructions"] / found["instructions"]),
            f"{point['entries'] / found['frames']:.2f}",
            CONTEXT_NAMES.get(point["context"], point["context"]),
            point["owner"],
        )
    rest = found["instructions"] - sum(p["instructions"] for p in shown)
    if rest:
        per_frame, share = figure(rest / found["frames"]), units.percent(rest / found["instructions"])
        table.add_row(Text(f"{len(points) - len(shown)} more", style="dim"), per_frame, share)
    return table


def totals_table(row: Row) -> Table:
    """By owner and by context, and whether it all adds up."""
    found = row["summary"]
    table = _table("", ("Owner", ">Instr.\n/frame", ">Share", "", "Context", ">Instr.\n/frame", ">Share"))
    owners, contexts = list(found["by_owner"].items()), list(found["by_context"].items())
    for n in range(max(len(owners), len(contexts))):
        table.add_row(*_total(owners, n, found), "", *_total(contexts, n, found))
    return table


def summary(row: Row) -> str:
    """The sum, and what it was checked against."""
    found = row["summary"]
    frames, counted = found["frames"], found["instructions"]
    which = {"forwarded": "", "offered": " offered (none was forwarded)", "received": " (full-size, received)"}[found["per"]]
    text = (
        f"{figure(counted / frames)} instructions a frame{which}, {units.whole(counted)} in all, {units.whole(frames)} frames; "
        f"the instruction counter says {units.whole(counted + found['residual'])} (residual {found['residual']}).\n"
        f"{found['interrupts'] / frames:.3f} interrupts and {found['softirqs'] / frames:.3f} softirq passes a frame."
    )
    if found["stacks_lost"]:
        text += f" The stack was lost {found['stacks_lost']} times: some functions may stand under a wrong caller."
    return text


def diff_tables(before: Row, after: Row, top: int = TOP) -> list[Table]:
    """What changed, per frame: functions by the size of the change, owners, contexts."""
    tables = []
    for by in ("function", "owner", "context"):
        table = _table(f"Change by {by}, instructions a frame", (by.capitalize(), ">Before", ">After", ">Change"))
        changes = diff.changes(before, after, by)
        shown = [c for c in changes if abs(c.change) >= NOTABLE][:top] if by == "function" else changes
        for change in shown:
            table.add_row(*_change(CONTEXT_NAMES.get(change.name, change.name), change))
        if len(shown) < len(changes):
            hidden = [c for c in changes if c not in shown]
            rest = diff.Change("", sum(c.before for c in hidden), sum(c.after for c in hidden))
            table.add_row(*_change(f"{len(hidden)} more", rest))
        table.add_section()
        table.add_row(*_change("all", diff.Change("", sum(c.before for c in changes), sum(c.after for c in changes))))
        tables.append(table)
    return tables


def _change(name: str, change: diff.Change) -> tuple[str, str, str, Text]:
    shown = f"{change.change:+.1f}"
    if shown in ("+0.0", "-0.0"):
        return name, figure(change.before), figure(change.after), Text("0")
    return name, figure(change.before), figure(change.after), Text(shown, style="green" if change.change < 0 else "red")


def figure(value: float) -> str:
    """Instructions a frame, to a tenth."""
    return f"{value:,.1f}".replace(",", "\u202f")


def _total(items: Sequence[tuple[str, int]], n: int, found: Mapping[str, Any]) -> tuple[str, str, str]:
    if n >= len(items):
        return "", "", ""
    name, instructions = items[n]
    return (
        CONTEXT_NAMES.get(name, name),
        figure(instructions / found["frames"]),
        units.percent(instructions / found["instructions"]),
    )


def _table(heading: str, columns: Sequence[str]) -> Table:
    table = Table(
        title=Text(heading) if heading else None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0), pad_edge=False, header_style="bold",
    )  # fmt: skip
    for column in columns:
        table.add_column(Text(column.removeprefix(">")), justify="right" if column.startswith(">") else "left", overflow="fold")
    return table
