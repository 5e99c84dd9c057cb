# SPDX-License-Identifier: GPL-2.0-or-later
"""The letter's claims, and what was measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irqlab.reproduce.claims import AIM, EXPECTED, Claim, Test, Told
from irqlab.reproduce.lan78xx.configurations import (
    AS_ABOVE,
    DRIVERS,
    MODERATED,
    NO_RATE,
    PAIRS,
    PATCHES,
    SPEEDS,
    UDP_RX,
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
    ratio_of,
)
from irqlab.units import percent

FASTER_PERCENT = 1.0
"""Less than this, or less than IDLE_POINTS, is no difference."""
IDLE_POINTS = 1.0
NOTABLE_PERCENT = 2.0
"""A patch that moves throughput by less, and idle time by fewer points, moves nothing."""
SIZE = 0.5
"""A gain of less than this share of the letter's is of another size."""
WIRE_MBPS = {"TCP": 949.3, "UDP": 957.1}
"""Payload that a gigabit wire carries, in full-size frames."""
FULL = 0.99
"""Of it: then the wire is full, and throughput cannot gain any more."""
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
HOW = {WITH: "added to standard", UP_TO: "in the series' order", WITHOUT: "against napi without it"}

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

    def differs(self, after: IperfRow, before: IperfRow) -> str:
        """How our board differs from every board of the letter; empty: it does not.

        It may gain as little as the letter's boards do, the least of them; but if the wire is not full it has to gain SIZE of
        what a board gained that gained anything.
        """
        ratio = ratio_of(after, before)
        points = after.idle_percent - before.idle_percent
        if ratio < min(self.ratios) - FASTER_PERCENT / 100:
            return f"it is slower, {ratio:.2f} times"
        if ratio < 1 + FASTER_PERCENT / 100 and points < self.least_points - IDLE_POINTS:
            return f"it is idle {-points:.1f} points less"
        full = after.mbps >= FULL * WIRE_MBPS[self.test[:3]]
        if self.least_gain is not None and not full and ratio - 1 < SIZE * self.least_gain:
            return (
                f"in size, {ratio:.2f} times: less than {percent(SIZE)} of the letter's smallest gain "
                f"({1 + self.least_gain:.2f} times), and the wire is not full"
            )
        return ""

    @property
    def least_points(self) -> float:
        return min(row.idle_points for row in self.rows if row.idle_points is not None)


def _of_letter(test: str) -> _Letter:
    return _Letter(test, letter().where(lambda r: r.test == test and r.ratio is not None))


def claim_of(test: str) -> str:
    """What the letter's table of a test claims, without the board that it is held against."""
    theirs = _of_letter(test)
    return (
        f"After the series the driver is faster on {sum(map(_faster, theirs.rows))} of {len(theirs.rows)} boards (at most "
        f"{max(theirs.ratios):.2f} times), and idler on {sum(map(_idler, theirs.rows))}"
    )


def _letter(test: str, board: str) -> Claim[Tables]:
    theirs = _of_letter(test)

    def told(tables: Tables) -> Told | None:
        """After the series and before it, by whose drivers they are. None unless the kernel's were measured."""
        by = tables.iperf.only(lambda r: (r.test, r.board) == (test, board)).keyed(lambda r: r.driver, *PAIRS["kernel"])
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
        differs = theirs.differs(by[new], by[old])
        why = f" The kernel driver differs: {differs}." if differs else ""
        return not differs, f"on the {board} board {'; '.join(each)}.{why}"

    return Claim(f"Table of {test}", f"{claim_of(test)}. Here: the {board} board.", told)


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


def _moves(row: StepRow) -> bool:
    percent = row.mbps_change_percent
    grew = bool(row.mbps) if percent is None else abs(percent) >= NOTABLE_PERCENT
    return grew or abs(row.idle_change_points) >= NOTABLE_PERCENT


def _improves(row: StepRow) -> bool:
    """Whether the patch does good in a row. Throughput first, then idle time."""
    percent = row.mbps_change_percent
    change = (1.0 if row.mbps else 0.0) if percent is None else percent if abs(percent) >= NOTABLE_PERCENT else 0.0
    return _moves(row) and (change or row.idle_change_points) > 0


def _change(percent: float | None, none: str = "from nothing") -> str:
    return none if percent is None else f"{percent:+.1f} %"


def _judged(rows: Sequence[StepRow]) -> list[StepRow]:
    """Those that say something: at STEP_MIPS standard receives next to nothing in UDP Rx, so any change is a large ratio."""
    return [row for row in rows if row.test != UDP_RX]


def _napi_alone(tables: Tables) -> Told | None:
    rows = tables.ablation.where(lambda r: (r.change, r.patch) == (WITH, 6))
    told = "; ".join(
        f"{row.test} {_change(row.mbps_change_percent)}, idle {row.idle_change_points:+.1f} points, "
        f"instructions a frame {_change(row.instructions_change_percent, 'not to be compared')}"
        for row in rows
    )
    still = not any(map(_moves, _judged(rows)))
    return (still, f"at {STEP_MIPS} MIPS, patch 6 alone added to standard: {told}.") if rows else None


def _patch(patch: int, what: str) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        rows = tables.ablation.where(lambda r: r.patch == patch)
        moved = [
            f"{row.test} {_change(row.mbps_change_percent)}, idle {row.idle_change_points:+.1f} points ({HOW[row.change]})"
            for row in rows
            if _moves(row)
        ]
        none = f"nothing moves by {NOTABLE_PERCENT:g} % of throughput or {NOTABLE_PERCENT:g} points of idle time"
        slower = any((row.mbps_change_percent or 0.0) <= -NOTABLE_PERCENT for row in _judged(rows))
        return (any(map(_improves, _judged(rows))) and not slower, f"{'; '.join(moved) or none}.") if rows else None

    return Claim("The series' patches", f"Patch {patch} ({what}): an improvement, and no test gets slower.", told)


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


CLAIMS: tuple[Claim[Tables], ...] = (
    *(_letter(test, board) for test in TESTS for board in SPEEDS),
    Claim(
        EXPECTED,
        f"An xHCI that moderates its interrupts lets packets queue up: then {UDP_TX} ({NO_RATE}, slow board) gains at least "
        f"{percent(SIZE)} of the letter's smallest gain; without, it does not.",
        _packs,
    ),
    Claim("Cover letter", "Moving from a tasklet to NAPI alone makes little or no difference.", _napi_alone),
    *(_patch(patch, what) for patch, what in PATCHES.items()),
    *_in_tree("napi"),
    *_in_tree("ours"),
    *(_forwarding(board) for board in SPEEDS),
    Claim(
        AIM,
        f"Under rrul's load our driver's round trips (UDP BE, p99) are not longer than the in-tree driver's ({SLOW} board).",
        _rrul,
    ),
)
