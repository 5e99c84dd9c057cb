# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding rate, loss, interrupts and idle time over the offered load."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab import units
from irqlab.present import plots, tables
from irqlab.present.parts import Group, Notice, Numbers, Section
from irqlab.present.plots import Line
from irqlab.present.rows import by_test, kpps_text, legend_of, line_of, listed, wire_pps_of
from irqlab.present.variants import Row

NEAR_COLLAPSE = 0.9
"""A driver that forwards less than this share of its maximum at the highest load is said to degrade."""


def section(rows: Sequence[Row], number: Numbers) -> Section | None:
    """Four plots per frame size and direction."""
    rows = [row for row in rows if row.data["samples"]]
    if not rows:
        return None
    return Section(
        "loss",
        "Under load and overload",
        "Overload",
        "Forwarding rate and loss over the offered load (RFC 2544, 26.3; RFC 2285), all directions together. Under overload a "
        "good driver goes on forwarding as much as it can at best; one that spends its time on interrupts for frames it then "
        "loses forwards less and less, until it is in receive livelock.",
        [_loss_group(heading, same, number) for heading, same in by_test(rows)],
    )


def _loss_group(heading: str, rows: Sequence[Row], number: Numbers) -> Group:
    rows = sorted(rows, key=lambda row: row.variant.number)

    def lines(key: str, scale: float, marks: bool = False) -> list[Line]:
        drawn = []
        for row in rows:
            points = [(p["offered_pps"] / 1e3, None if p[key] is None else p[key] * scale) for p in row.data["samples"]]
            ring = row.data["total_throughput_pps"]
            drawn.append(
                line_of(
                    row,
                    points,
                    ring=(ring / 1e3, ring / 1e3) if marks and ring is not None else None,
                    cross=_collapse(row) if marks else None,
                )
            )
        return drawn

    wires = {wire_pps_of(row) for row in rows}
    wire = wires.pop() if len(wires) == 1 else None
    wire_kpps = wire / 1e3 if wire is not None else None
    reached = max(p["offered_pps"] for row in rows for p in row.data["samples"])
    counted = [p for row in rows for p in row.data["samples"] if p["interrupts_per_frame"] is not None]
    interrupts = [p["interrupts_per_frame"] for p in counted]
    top = _top(interrupts, [p["interrupts_per_frame"] for p in counted if p["load"] <= 1])
    marks = [("grey", "nothing lost")]
    if any(row.data["total_throughput_pps"] is not None for row in rows):
        marks.append(("ring", "throughput"))
    if any(_collapse(row) for row in rows):
        marks.append(("cross", "collapse"))
    if wire is not None and wire < reached:
        marks.append(("wire", "what the wire carries; beyond it the tester's ceiling is lifted"))
    group = Group(heading, legend=legend_of(rows, *marks))
    group.notices = _overload_notices(rows)
    group.plots = [
        number.plot("Forwarding rate", plots.forwarding(lines("forwarded_pps", 1e-3, marks=True), wire_kpps)),
        number.plot("Loss", plots.over_load(lines("loss_ratio", 100), "% of frames lost", "Loss", wire_kpps, 104)),
        number.plot(
            "Interrupts per frame forwarded",
            plots.over_load(lines("interrupts_per_frame", 1), "interrupts per frame", "Interrupts per frame", wire_kpps, top),
            f"Cut off at {units.per_frame(top)}; the highest is {units.per_frame(max(interrupts))}." if top else "",
        ),
        number.plot("CPU idle", plots.over_load(lines("idle_ratio", 100), "% idle", "CPU idle time", wire_kpps, 104)),
    ]
    lost = tables.drops(rows)
    group.tables = [*([lost] if lost else []), tables.load_points(rows)]
    return group


def _top(values: Sequence[float], usual: Sequence[float]) -> float | None:
    """Where to cut an axis that a livelock's values would stretch until the rest is flat; None: nowhere."""
    top = 2 * max(usual, default=0.0)
    return top if 0 < top < max(values, default=0.0) / 1.5 else None


def _collapse(row: Row) -> tuple[float, float] | None:
    load = row.data["summary"].get("collapse_load")
    if load is None:
        return None
    point = min(row.data["samples"], key=lambda p: abs(p["load"] - load))
    return point["offered_pps"] / 1e3, point["forwarded_pps"] / 1e3


def _overload_notices(rows: Sequence[Row]) -> list[Notice]:
    locked, worse = [], []
    for row in rows:
        found, name = row.data["summary"], row.variant.label
        ratio, highest = found.get("plateau_ratio"), found.get("max_forwarded_pps")
        last, collapse = row.data["samples"][-1], _collapse(row)
        best = "" if highest is None else f", at best {kpps_text(highest)}"
        if collapse is not None:
            offered, forwarded = (kilo * 1e3 for kilo in collapse)
            from_ = f"from {units.share_of(found['collapse_load'], 'its throughput')} on ({kpps_text(offered)} offered)"
            locked.append(f"{name} forwards {kpps_text(forwarded) if forwarded else 'nothing'} {from_}{best}.")
        elif ratio is not None and ratio < NEAR_COLLAPSE:
            worse.append(
                f"{name} forwards {kpps_text(last['forwarded_pps'])} with {kpps_text(last['offered_pps'])} offered{best}."
            )
    notices = []
    if locked:
        notices.append(Notice("bad", "Receive livelock:", locked))
    if worse:
        notices.append(Notice("warn", f"Less than {units.share(NEAR_COLLAPSE)} of its best at the highest load:", worse))
    return notices


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Who falls into receive livelock, in a sentence."""
    locked = list(dict.fromkeys(row.variant.label for row in rows if row.data["summary"].get("collapse_load") is not None))
    if not locked:
        return []
    return [f"Under overload {listed(locked)} {'fall' if len(locked) > 1 else 'falls'} into receive livelock."]
