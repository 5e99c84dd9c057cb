# SPDX-License-Identifier: GPL-2.0-or-later
"""The letter's claims, and what was measured of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from irqlab.reproduce.claims import AIM, EXPECTED, Claim, Test, Told, not_tried
from irqlab.reproduce.lan78xx.configurations import (
    AS_ABOVE,
    DRIVERS,
    MODERATED,
    NO_RATE,
    PAIRS,
    PATCHES,
    PROCESSORS,
    SPEEDS,
    UDP_TX,
    UP_TO,
    WITH,
    WITHOUT,
)
from irqlab.reproduce.lan78xx.measure import (
    SLOW,
    STEP_MIPS,
    TESTS,
    IperfRow,
    LetterRow,
    StepRow,
    Tables,
    letter,
    marked,
    of_own,
    ratio_of,
)
from irqlab.reproduce.table import Table
from irqlab.units import percent

FASTER_PERCENT = 1.0
"""Less than this, or less than IDLE_POINTS, is no difference."""
IDLE_POINTS = 1.0
NOTABLE_PERCENT = 2.0
"""A patch that moves throughput by less, and idle time by fewer points, moves nothing."""
RESOLUTION_MBPS = 0.1
SIZE = 0.5
"""A gain of less than this share of the letter's is of another size."""
WIRE_MBPS = {"TCP": 949.3, "UDP": 957.1}
"""Payload that a gigabit wire carries, in full-size frames."""
FULL = 0.99
"""Of it: then the wire is full, and throughput cannot gain any more."""
ALIKE = 0.05
LATER = 1.05
"""Round trips longer by less are as long."""


def better(row: IperfRow, other: IperfRow) -> int:
    """Whether one cell is better than another: 1, 0 or -1. Throughput first, then idle time."""
    change = 100 * (row.mbps / other.mbps - 1) if other.mbps else 0.0
    if abs(change) >= FASTER_PERCENT:
        return 1 if change > 0 else -1
    points = row.idle_percent - other.idle_percent
    return 0 if abs(points) < IDLE_POINTS else 1 if points > 0 else -1


def _at(row: IperfRow) -> str:
    loss = f", {row.loss_percent:g} % lost" if row.loss_percent else ""
    return f"{row.mbps:,.0f} Mbit/s, {row.idle_percent:.0f} % idle{loss}"


MODERATIONS = (AS_ABOVE, NO_RATE, MODERATED, f"{NO_RATE}, {MODERATED}")

Pair = tuple[IperfRow, IperfRow]
"""Two drivers in the same cell: the one that is judged, and the other."""


# The letter's tables: the kernel's driver after the series against the one before, and ours.


def _faster(row: LetterRow) -> bool:
    return row.ratio is not None and row.ratio >= 1 + FASTER_PERCENT / 100


def _idler(row: LetterRow) -> bool:
    return row.idle_points is not None and row.idle_points >= IDLE_POINTS


@dataclass(frozen=True)
class _Letter:
    """What the letter's boards have in a test."""

    test: str
    rows: tuple[LetterRow, ...]

    @property
    def ratios(self) -> list[float]:
        return [row.ratio for row in self.rows if row.ratio is not None]

    @property
    def least_gain(self) -> float | None:
        """The smallest of those that gain throughput, as a share; None: none does."""
        return min((row.ratio - 1 for row in self.rows if row.ratio is not None and _faster(row)), default=None)

    @property
    def full_mbps(self) -> float:
        """From here on the wire is full: throughput cannot gain any more."""
        return FULL * WIRE_MBPS[self.test[:3]]

    def ratios_from(self, before_mbps: float) -> list[float]:
        """What the series gives boards whose wire was as full before it."""
        full = before_mbps >= self.full_mbps
        alike = [r.ratio for r in self.rows if r.ratio is not None and ((r.standard.mbps or 0.0) >= self.full_mbps) == full]
        return alike or self.ratios

    @property
    def busy_ratios(self) -> list[float]:
        """CPU time a bit after the series by before it."""
        return [
            _busy_ratio(row.napi, row.standard)
            for row in self.rows
            if row.standard.mbps and row.standard.idle_percent is not None
        ]

    def differs(self, after: IperfRow, before: IperfRow) -> str:
        """How our board differs from every board of the letter, for better or for worse; empty: it does not.

        A wire that is full after the series limits the gain.
        """
        ratio, ratios, margin = ratio_of(after, before), self.ratios_from(before.mbps), FASTER_PERCENT / 100
        busy, said, why = _busy_ratio(after, before), self.busy_ratios, []
        if (ratio < min(ratios) - margin and after.mbps < self.full_mbps) or ratio > max(ratios) + margin:
            why.append(f"throughput {ratio:.2f} times, there {_span(ratios)}")
        if not min(said) - margin <= busy <= max(said) + margin:
            why.append(f"CPU time a bit {busy:.2f} times, there {_span(said)}")
        return "; ".join(why)


class _Cell(Protocol):
    @property
    def mbps(self) -> float | None: ...
    @property
    def idle_percent(self) -> float | None: ...


def _busy_ratio(after: _Cell, before: _Cell) -> float:
    """CPU time a bit, one by the other: the same for one core and for the mean of several."""
    busy = [(100 - (cell.idle_percent or 0.0)) / (cell.mbps or 1.0) for cell in (after, before)]
    return busy[0] / busy[1] if busy[1] else math.inf


def _span(values: Sequence[float]) -> str:
    least, most = (f"{choose(values):.2f}" for choose in (min, max))
    return least if least == most else f"{least} to {most}"


def _of_letter(test: str) -> _Letter:
    return _Letter(test, letter().where(lambda r: r.test == test and r.ratio is not None))


def claim_of(test: str) -> str:
    """What the letter's table of a test claims, without the board that it is held against."""
    theirs = _of_letter(test)
    return (
        f"After the series the driver is faster on {sum(map(_faster, theirs.rows))} of {len(theirs.rows)} boards (at most "
        f"{max(theirs.ratios):.2f} times), and idler on {sum(map(_idler, theirs.rows))}"
    )


AS_BOARDS = (
    f"with the kernel's drivers throughput and CPU time a bit, after by before, within {FASTER_PERCENT:g} % of the range of the "
    "letter's boards; throughput: of those whose wire was as full before"
)


def _compared(rows: Table[IperfRow], test: str, board: str) -> tuple[str, str] | None:
    """How drivers after the series compare with those before it, and how the kernel's differ from the letter's (empty: not).

    None unless the kernel's were measured.
    """
    by = rows.only(lambda r: (r.test, r.board) == (test, board)).keyed(lambda r: r.driver, *PAIRS["kernel"])
    if not by:
        return None
    each = []
    for after, before in ((by[after], by[before]) for before, after in PAIRS.values() if {before, after} <= set(by)):
        ratio = ratio_of(after, before)
        level = abs(ratio - 1) < FASTER_PERCENT / 100
        more, less = ("is idler than", "is less idle than") if level else ("is better than", "is worse than")
        how = {1: more, 0: "makes no difference to", -1: less}[better(after, before)]
        titles = [DRIVERS[row.driver].title for row in (after, before)]
        each.append(f"{titles[0]} ({_at(after)}) {how} {titles[1]} ({_at(before)}), {ratio:.2f} times as fast")
    old, new = PAIRS["kernel"]
    return "; ".join(each), _of_letter(test).differs(by[new], by[old])


def _letter(test: str, board: str) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        found = _compared(tables.iperf, test, board)
        if found is None:
            return None
        text, differs = found
        why = f" The kernel's differ: {differs}." if differs else ""
        return not differs, f"on the {board} board {text}.{why}"

    return Claim(f"Table of {test}", f"{claim_of(test)}. Here: the {board} board.", told, AS_BOARDS)


def _with_processors(test: str) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        cells = Table("", IperfRow, of_own(tables))
        found = [_compared(cells, test, board) for board in SPEEDS]
        both = [one for one in found if one is not None]
        if not both:
            return None
        each = (
            f"{board}: {text}{f' ({differs})' if differs else ''}" for board, (text, differs) in zip(SPEEDS, both, strict=True)
        )
        return not any(differs for _, differs in both), f"{'; '.join(each)}."

    text = f"With {PROCESSORS} processors, iperf3 on one of its own, the kernel's drivers do in {test} what the letter says."
    return Claim(EXPECTED, text, told, AS_BOARDS)


def _sends(tables: Tables) -> Told | None:
    """Whether our driver, if it sends as the series does, is as fast as the kernel's."""
    if tables.sending is None:
        return None
    theirs = {row.board: row.mbps for row in tables.iperf if (row.test, row.driver) == (UDP_TX, "in_tree")}
    ours = {(row.board, row.driver): row.mbps for row in tables.sending}
    each = "; ".join(
        f"{board} board: {ours[board, 'series']:.0f} Mbit/s, at once {ours[board, 'napi']:.0f}, the kernel's {mbps:.0f}"
        for board, mbps in theirs.items()
    )
    return all(abs(ours[board, "series"] / mbps - 1) <= ALIKE for board, mbps in theirs.items()), f"{each}."


def _packs(tables: Tables) -> Told | None:
    """UDP Tx after the series by before, by condition, on the slow board, with an xHCI that moderates its interrupts or not."""
    rows = [row for row in tables.causes or () if (row.test, row.board) == (UDP_TX, SLOW) and row.mbps > 0]
    by = {(row.condition, row.driver): row.mbps for row in rows}
    old, new = PAIRS["kernel"]
    found = {name: by[name, new] / by[name, old] for name in MODERATIONS if {(name, old), (name, new)} <= set(by)}
    if len(found) < len(MODERATIONS):
        return None
    least = _of_letter(UDP_TX).least_gain or 0.0
    text = f"after the series by before, {', '.join(f'{name} {ratio:.2f}' for name, ratio in found.items())}."
    return found[MODERATIONS[-1]] - 1 >= SIZE * least > found[AS_ABOVE] - 1, text


# The series' patches.


def _change_mbps(row: StepRow) -> float:
    """What the patch changes in a row, in Mbit/s."""
    percent = row.mbps_change_percent
    if percent is None:
        return row.mbps
    return row.mbps - row.mbps / (1 + percent / 100) if percent > -100 else -math.inf


def _moved(row: StepRow) -> int:
    """Whether the patch does good in a row (1), harm (-1) or neither. Throughput first, then idle time."""
    percent, change = row.mbps_change_percent, _change_mbps(row)
    if abs(change) > RESOLUTION_MBPS and (percent is None or abs(percent) >= NOTABLE_PERCENT):
        return 1 if change > 0 else -1
    points = row.idle_change_points
    return 0 if abs(points) < NOTABLE_PERCENT else 1 if points > 0 else -1


def _change(percent: float | None, none: str = "from nothing") -> str:
    return none if percent is None else f"{percent:+.1f} %"


def _told_steps(rows: Sequence[StepRow]) -> str:
    told = (
        f"{row.test} {row.mbps:g} Mbit/s ({_change(row.mbps_change_percent)}), idle {row.idle_change_points:+.1f} points"
        for row in rows
    )
    return f"at {STEP_MIPS} MIPS: {'; '.join(told)}."


def _napi_alone(tables: Tables) -> Told | None:
    rows = tables.ablation.where(lambda r: (r.change, r.patch) == (WITH, 6))
    return (not any(map(_moved, rows)), _told_steps(rows)) if rows else None


def _single_update(tables: Tables) -> Told | None:
    """Patches 2, 3 and 6 against none: napi without patch 5, the only other one that can be measured."""
    base = {row.test: row for row in tables.ablation if (row.change, row.patch) == (WITH, 0)}
    rows = [row for row in tables.ablation if (row.change, row.patch) == (WITHOUT, 5) and row.test in base]
    if not rows:
        return None
    gained = [
        replace(
            row,
            mbps_change_percent=100 * (row.mbps / base[row.test].mbps - 1) if base[row.test].mbps else None,
            idle_change_points=row.idle_percent - base[row.test].idle_percent,
        )
        for row in rows
    ]
    moved = [_moved(row) for row in gained]
    return 1 in moved and -1 not in moved, _told_steps(gained)


def _patch_5(tables: Tables) -> Told | None:
    """In the series' order."""
    rows = tables.ablation.where(lambda r: (r.change, r.patch) == (UP_TO, 5))
    last = tables.ablation.where(lambda r: (r.change, r.patch) == (WITHOUT, 5))
    moved = [_moved(row) for row in rows]
    besides = f" Added last it changes {'; '.join(f'{r.test} {_change(r.mbps_change_percent)}' for r in last)}." if last else ""
    return (1 in moved and -1 not in moved, _told_steps(rows) + besides) if rows else None


# The project's aims: ours against the kernel's driver.


def _cells(tables: Tables, driver: str) -> list[Pair]:
    """Our driver's cells, and the in-tree driver's."""
    theirs = {(row.test, row.board): row for row in tables.iperf if row.driver == "in_tree"}
    return [(row, theirs[row.test, row.board]) for row in tables.iperf if row.driver == driver and theirs]


def _as_good(driver: str) -> Test[Tables]:
    def told(tables: Tables) -> Told | None:
        pairs = _cells(tables, driver)
        behind, ahead = [pair for pair in pairs if better(*pair) < 0], sum(better(*pair) > 0 for pair in pairs)
        text = f"as good in {len(pairs) - len(behind)} of {len(pairs)} cells, better in {ahead}."
        if behind:
            each = [f"behind in {row.test}, {row.board} board: {_at(row)}, in-tree {_at(other)}" for row, other in behind]
            text += f" It is {'; '.join(each)}."
        return (not behind, text) if pairs else None

    return told


def _as_cheap(driver: str) -> Test[Tables]:
    def told(tables: Tables) -> Told | None:
        pairs = _cells(tables, driver)
        if not pairs:
            return None
        costs = {
            (row.test, row.board): (row.instructions_per_frame or 0, other.instructions_per_frame or 0) for row, other in pairs
        }
        dearer = [
            f"{test}, {board} board: {ours:,} instructions, in-tree {theirs:,}"
            for (test, board), (ours, theirs) in costs.items()
            if 0 < (1 + FASTER_PERCENT / 100) * theirs < ours
        ]
        if dearer:
            return False, f"more in {len(dearer)} of {len(pairs)} cells: {'; '.join(dearer)}."
        shares = [ours / (theirs or 1) for ours, theirs in costs.values()]
        return True, f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the in-tree driver's instructions."

    return told


def _in_tree(driver: str) -> tuple[Claim[Tables], ...]:
    title = DRIVERS[driver].title
    good = f"Our driver ({title}) is in every cell of the tables at least as good as the in-tree driver."
    cheap = f"A full-size frame costs it ({title}) no more instructions than the in-tree driver."
    return Claim(AIM, good, _as_good(driver)), Claim(AIM, cheap, _as_cheap(driver))


def _forwarding(board: str) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        by = tables.forwarding.only(lambda row: row.board == board).keyed(lambda row: row.driver)
        each = (
            f"{DRIVERS[driver].title} {row.throughput_pps / 1e3:.1f} kpps, {row.instructions_per_frame or 0:,} instructions a "
            "frame"
            for driver, row in by.items()
        )
        if not by:
            return None
        return by["ours"].throughput_pps >= (1 - FASTER_PERCENT / 100) * by["in_tree"].throughput_pps, f"{'; '.join(each)}."

    text = f"Our driver forwards at least as many 64-byte frames without loss as the in-tree driver ({board} board)."
    return Claim(AIM, text, told)


def _rrul(tables: Tables) -> Told | None:
    if tables.rrul is None:
        return None
    by = marked(tables.rrul)
    each = (
        f"{DRIVERS[row.driver].title} {row.up_mbps:.0f} Mbit/s up, {row.down_mbps:.0f} down, the round "
        f"trip of UDP BE {row.udp_be.base.p50_us / 1e3:.2f} ms alone and {row.udp_be.load.p50_us / 1e3:.2f} ms loaded "
        f"(p99 {row.udp_be.load.p99_us / 1e3:.1f}), of UDP EF {row.udp_ef.load.p50_us / 1e3:.2f} "
        f"(p99 {row.udp_ef.load.p99_us / 1e3:.1f})"
        for row in by.values()
    )
    return by["ours"].udp_be.load.p99_us <= LATER * by["in_tree"].udp_be.load.p99_us, f"{'; '.join(each)}."


NOTABLE = (
    f"a test moves by {NOTABLE_PERCENT:g} % of throughput and more than {RESOLUTION_MBPS:g} Mbit/s, as iperf3 prints it, or by "
    f"{NOTABLE_PERCENT:g} points of idle time; none for the worse"
)
CLAIMS: tuple[Claim[Tables], ...] = (
    *(_letter(test, board) for test in TESTS for board in SPEEDS),
    *map(_with_processors, TESTS),
    Claim(
        EXPECTED,
        f"Our driver sends UDP faster than the kernel's because it does not queue packets: with a queue it is as fast, "
        f"{percent(ALIKE)} more or less.",
        _sends,
    ),
    Claim(
        EXPECTED,
        f"An xHCI that moderates its interrupts lets packets queue up: then {UDP_TX} ({NO_RATE}, slow board) gains at least "
        f"{percent(SIZE)} of the letter's smallest gain; without, it does not.",
        _packs,
    ),
    Claim("Cover letter", "Moving from a tasklet to NAPI alone makes little or no difference.", _napi_alone, NOTABLE),
    Claim("Cover letter", "Patches 2, 3 and 6, which are a single update, are an improvement.", _single_update, NOTABLE),
    Claim("Cover letter", f"Patch 5 ({PATCHES[5]}), where it stands in the series, is an improvement.", _patch_5, NOTABLE),
    not_tried("Cover letter", "Patches 1 and 4 are improvements.", "they change nothing that can be measured."),
    not_tried(
        "Cover letter", 'NAPI "smoothed" incoming and outgoing data flows on an Android system.', "there is no such system."
    ),
    *_in_tree("napi"),
    *_in_tree("ours"),
    *(_forwarding(board) for board in SPEEDS),
    Claim(
        AIM,
        f"Under rrul's load our driver's round trips (UDP BE, p99) are not longer than the in-tree driver's ({SLOW} board).",
        _rrul,
    ),
)
