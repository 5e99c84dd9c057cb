# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tables say, in plain words made from the figures; where the letter does not hold, that too."""

from __future__ import annotations

from typing import Any

from irqlab.reproduce.lan78xx.configurations import DRIVERS, MEASURES
from irqlab.reproduce.lan78xx.measure import STEP_MIPS
from irqlab.reproduce.paper import Data, Tables

FASTER_PERCENT = 1.0
"""Less than this, or less than IDLE_POINTS, is no difference."""
IDLE_POINTS = 1.0
NOTABLE_PERCENT = 2.0
Row = dict[str, Any]


def findings(tables: Tables) -> list[str]:
    """One or two sentences each."""
    return [
        *_letter(tables["iperf"], tables["letter"]),
        *_in_tree(tables["iperf"], "napi"),
        *_in_tree(tables["iperf"], "ours"),
        *_napi_alone(tables["ablation"]),
        *_measures(tables["ablation"]),
        *_forwarding(tables["forwarding"]),
        *_rrul(tables["rrul"]),
    ]


def _at(row: Row) -> str:
    loss = f", {row['loss_percent']:g} % lost" if row["loss_percent"] else ""
    return f"{row['mbps']:,.0f} Mbit/s, {row['idle_percent']:.0f} % idle{loss}"


def better(row: Row, other: Row) -> int:
    """Whether one cell is better than another: 1, 0 or -1. Throughput first, then idle time."""
    change = 100 * (row["mbps"] / other["mbps"] - 1) if other["mbps"] else 0.0
    if abs(change) >= FASTER_PERCENT:
        return 1 if change > 0 else -1
    points = row["idle_percent"] - other["idle_percent"]
    return 0 if abs(points) < IDLE_POINTS else 1 if points > 0 else -1


def _letter(data: Data, letter: Data) -> list[str]:
    """Where standard is slower than napi here, and on how many of the letter's boards it is."""
    said = []
    for row in data.records(driver="napi"):
        standard = data.one(driver="standard", test=row["test"], board=row["board"])
        verdict = {1: "is better than", 0: "makes no difference to", -1: "is WORSE than"}[better(row, standard)]
        theirs = [r for r in letter.records(test=row["test"]) if r["ratio"] is not None]
        faster = [r for r in theirs if r["ratio"] >= 1 + FASTER_PERCENT / 100]
        idler = [r for r in theirs if (r["idle_points"] or 0) >= IDLE_POINTS]
        said.append(
            f"{row['test']}, {row['board']} board: napi ({_at(row)}) {verdict} standard ({_at(standard)}), "
            f"{row['mbps'] / standard['mbps']:.2f} times as fast; in the letter it is faster on {len(faster)} of {len(theirs)} "
            f"boards (at most {max(r['ratio'] for r in theirs):.2f} times), and idler on {len(idler)}."
        )
    return said


def _in_tree(data: Data, driver: str) -> list[str]:
    """Whether a configuration of ours is at least as good as the kernel's driver in every cell."""
    rows = [(row, data.one(driver="in_tree", test=row["test"], board=row["board"])) for row in data.records(driver=driver)]
    worse = [(row, other) for row, other in rows if better(row, other) < 0]
    ahead = [row for row, other in rows if better(row, other) > 0]
    costs = [
        (row, other) for row, other in rows if 0 < (other["instructions_per_frame"] or 0) < (row["instructions_per_frame"] or 0)
    ]
    said = [
        f"Our driver ({DRIVERS[driver].title}) is at least as good as the in-tree driver in {len(rows) - len(worse)} of "
        f"{len(rows)} cells, better in {len(ahead)}."
    ]
    said += [f"It is behind in {row['test']}, {row['board']} board: {_at(row)}, in-tree {_at(other)}." for row, other in worse]
    said += [
        f"A frame of {row['test']} costs it more on the {row['board']} board: {row['instructions_per_frame']:,} instructions, "
        f"in-tree {other['instructions_per_frame']:,}."
        for row, other in costs
    ]
    return said


def _change(percent: float | None, none: str = "from nothing") -> str:
    return none if percent is None else f"{percent:+.1f} %"


def _napi_alone(data: Data) -> list[str]:
    """The letter: 'moving from a tasklet approach to a NAPI approach made little or no difference'."""
    rows = list(data.records(change="with", measure="a"))
    if not rows:
        return []
    little = not any(map(_moves, rows))
    changes = "; ".join(
        f"{row['test']} {_change(row['mbps_change_percent'])}, idle {row['idle_change_points']:+.1f} points, "
        f"instructions a frame {_change(row['instructions_change_percent'], 'not to be compared')}"
        for row in rows
    )
    verdict = "does" if little else "does NOT"
    return [f"NAPI alone makes little or no difference, says the letter; at {STEP_MIPS} MIPS this {verdict} hold: {changes}."]


def _measures(data: Data) -> list[str]:
    """What each measure earns: where leaving it out, or adding it, moves anything."""
    said = []
    for key, what in MEASURES.items():
        moves = [row for row in data.records(measure=key) if _moves(row)]
        shown = "; ".join(
            f"{'left out of napi' if row['change'] == 'without' else 'added to standard'}, {row['test']} "
            f"{_change(row['mbps_change_percent'])}, idle {row['idle_change_points']:+.1f}"
            for row in moves
        )
        none = f"nothing moves by {NOTABLE_PERCENT:g} % of throughput or {NOTABLE_PERCENT:g} points of idle time"
        said.append(f"({key}) {what}: {shown or none}.")
    return said


def _moves(row: Row) -> bool:
    percent = row["mbps_change_percent"]
    grew = bool(row["mbps"]) if percent is None else abs(percent) >= NOTABLE_PERCENT
    return grew or abs(row["idle_change_points"]) >= NOTABLE_PERCENT


def _forwarding(data: Data) -> list[str]:
    said = []
    for board in dict.fromkeys(row["board"] for row in data.records()):
        figures = "; ".join(
            f"{DRIVERS[row['driver']].title} {row['throughput_pps'] / 1e3:.1f} kpps, {row['instructions_per_frame']:,} "
            "instructions a frame"
            for row in data.records(board=board)
        )
        said.append(f"Forwarding 64-byte frames without loss, {board} board: {figures}.")
    return said


def _rrul(data: Data) -> list[str]:
    figures = "; ".join(
        f"{DRIVERS[row['driver']].title} {row['up_mbps']:.0f} Mbit/s up, {row['down_mbps']:.0f} down, UDP's round trip "
        f"{row['udp_base_p50_us'] / 1e3:.2f} ms alone and {row['udp_load_p50_us'] / 1e3:.2f} ms loaded "
        f"(p99 {row['udp_load_p99_us'] / 1e3:.1f})"
        for row in data.records()
    )
    return [f"rrul, medians: {figures}."]
