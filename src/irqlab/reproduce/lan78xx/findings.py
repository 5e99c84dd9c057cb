# SPDX-License-Identifier: GPL-2.0-or-later
"""The letter's claims, and what was measured of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab.reproduce.claims import AIM, EXPECTED, Claim, Finding, findings_of
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
    ForwardingRow,
    IperfRow,
    LetterRow,
    RrulRow,
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


def findings(tables: Tables) -> list[Finding]:
    """The letter's claims in its order, then the project's aims."""
    return findings_of(CLAIMS, tables)


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


# The letter's tables: the kernel's driver after the series against the one before, and ours.

Pair = tuple[IperfRow, IperfRow]
"""Two drivers in the same cell: the one that is judged, and the other."""


def _pairs(tables: Tables, test: str, board: str) -> dict[str, Pair] | None:
    """After the series and before it, by whose drivers they are. None unless the kernel's were measured."""
    by = {row.driver: row for row in tables.iperf.where(lambda r: (r.test, r.board) == (test, board))}
    found = {whose: (by[after], by[before]) for whose, (before, after) in PAIRS.items() if {before, after} <= set(by)}
    return found if "kernel" in found else None


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


def _letter(test: str, board: str) -> Claim[Tables, dict[str, Pair]]:
    theirs = _of_letter(test)

    def told(pairs: dict[str, Pair]) -> str:
        each = []
        for after, before in pairs.values():
            ratio = ratio_of(after, before)
            level = abs(ratio - 1) < FASTER_PERCENT / 100
            more, less = ("is idler than", "is less idle than") if level else ("is better than", "is worse than")
            how = {1: more, 0: "makes no difference to", -1: less}[better(after, before)]
            titles = [DRIVERS[row.driver].title for row in (after, before)]
            each.append(f"{titles[0]} ({_at(after)}) {how} {titles[1]} ({_at(before)}), {ratio:.2f} times as fast")
        differs = theirs.differs(*pairs["kernel"])
        return f"on the {board} board {'; '.join(each)}.{f' The kernel driver differs: {differs}.' if differs else ''}"

    return Claim(
        f"Table of {test}",
        f"{claim_of(test)}. Here: the {board} board.",
        lambda tables: _pairs(tables, test, board),
        holds=lambda pairs: not theirs.differs(*pairs["kernel"]),
        yes=told,
        no=told,
    )


# UDP Tx with an xHCI that moderates its interrupts.

Moderation = dict[str, float]
"""After the series by before, by condition, on the slow board."""


def _moderation(tables: Tables) -> Moderation | None:
    if tables.causes is None:
        return None
    by = {
        (row.condition, row.driver): row.mbps
        for row in tables.causes.where(lambda r: (r.test, r.board) == (UDP_TX, SLOW) and r.mbps > 0)
    }
    before, after = PAIRS["kernel"]
    found = {name: by[name, after] / by[name, before] for name in MODERATIONS if {(name, before), (name, after)} <= set(by)}
    return found if len(found) == len(MODERATIONS) else None


MODERATIONS = (AS_ABOVE, NO_RATE, MODERATED, f"{NO_RATE}, {MODERATED}")


def _told_moderation(found: Moderation) -> str:
    return f"after the series by before, {', '.join(f'{name} {ratio:.2f}' for name, ratio in found.items())}."


def _packs(found: Moderation) -> bool:
    least = _of_letter(UDP_TX).least_gain or 0.0
    return found[MODERATIONS[-1]] - 1 >= SIZE * least > found[AS_ABOVE] - 1


# The series' patches.

Steps = tuple[StepRow, ...]
HOW = {WITH: "added to standard", UP_TO: "in the series' order", WITHOUT: "against napi without it"}


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


def _napi_alone(rows: Steps) -> str:
    told = "; ".join(
        f"{row.test} {_change(row.mbps_change_percent)}, idle {row.idle_change_points:+.1f} points, "
        f"instructions a frame {_change(row.instructions_change_percent, 'not to be compared')}"
        for row in rows
    )
    return f"at {STEP_MIPS} MIPS, patch 6 alone added to standard: {told}."


def _step(row: StepRow) -> str:
    return f"{row.test} {_change(row.mbps_change_percent)}, idle {row.idle_change_points:+.1f} points ({HOW[row.change]})"


def _earns(rows: Steps) -> str:
    moved = [_step(row) for row in rows if _moves(row)]
    none = f"nothing moves by {NOTABLE_PERCENT:g} % of throughput or {NOTABLE_PERCENT:g} points of idle time"
    return f"{'; '.join(moved) or none}."


def _worsens(row: StepRow) -> bool:
    return (row.mbps_change_percent or 0.0) <= -NOTABLE_PERCENT


def _judged(rows: Steps) -> Steps:
    """Those that say something: at STEP_MIPS standard receives next to nothing in UDP Rx, so any change is a large ratio."""
    return tuple(row for row in rows if row.test != UDP_RX)


def _patch(patch: int, what: str) -> Claim[Tables, Steps]:
    return Claim(
        "The series' patches",
        f"Patch {patch} ({what}): an improvement, and no test gets slower.",
        lambda tables: tables.ablation.where(lambda r: r.patch == patch) or None,
        holds=lambda rows: any(map(_improves, _judged(rows))) and not any(map(_worsens, _judged(rows))),
        yes=_earns,
        no=_earns,
    )


# The project's aims: ours against the kernel's driver.


@dataclass(frozen=True)
class _Cells:
    pairs: Sequence[Pair]
    """Ours, and the in-tree driver's."""

    @property
    def behind(self) -> list[Pair]:
        return [pair for pair in self.pairs if better(*pair) < 0]

    @property
    def dearer(self) -> list[Pair]:
        return [
            (row, other)
            for row, other in self.pairs
            if 0 < (1 + FASTER_PERCENT / 100) * (other.instructions_per_frame or 0) < (row.instructions_per_frame or 0)
        ]

    @property
    def counted(self) -> str:
        ahead = sum(better(*pair) > 0 for pair in self.pairs)
        return f"as good in {len(self.pairs) - len(self.behind)} of {len(self.pairs)} cells, better in {ahead}."


def _cells(driver: str) -> Callable[[Tables], _Cells | None]:
    def evidence(tables: Tables) -> _Cells | None:
        theirs = {(row.test, row.board): row for row in tables.iperf if row.driver == "in_tree"}
        pairs = [(row, theirs[row.test, row.board]) for row in tables.iperf if row.driver == driver and theirs]
        return _Cells(pairs) if pairs else None

    return evidence


def _behind(found: _Cells) -> str:
    told = [f"behind in {row.test}, {row.board} board: {_at(row)}, in-tree {_at(other)}" for row, other in found.behind]
    return f"{found.counted} It is {'; '.join(told)}."


def _dearer(found: _Cells) -> str:
    told = [
        f"{row.test}, {row.board} board: {row.instructions_per_frame:,} instructions, in-tree {other.instructions_per_frame:,}"
        for row, other in found.dearer
    ]
    return f"more in {len(told)} of {len(found.pairs)} cells: {'; '.join(told)}."


def _cheaper(found: _Cells) -> str:
    shares = [(row.instructions_per_frame or 0) / (other.instructions_per_frame or 1) for row, other in found.pairs]
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the in-tree driver's instructions."


def _in_tree(driver: str) -> tuple[Claim[Tables, _Cells], Claim[Tables, _Cells]]:
    title = DRIVERS[driver].title
    return (
        Claim(
            AIM,
            f"Our driver ({title}) is in every cell of the tables at least as good as the in-tree driver.",
            _cells(driver),
            holds=lambda found: not found.behind,
            yes=lambda found: found.counted,
            no=_behind,
        ),
        Claim(
            AIM,
            f"A full-size frame costs it ({title}) no more instructions than the in-tree driver.",
            _cells(driver),
            holds=lambda found: not found.dearer,
            yes=_cheaper,
            no=_dearer,
        ),
    )


Forwarding = dict[str, ForwardingRow]
"""By driver."""


def _forwarding(board: str) -> Claim[Tables, Forwarding]:
    def told(by: Forwarding) -> str:
        each = (
            f"{DRIVERS[row.driver].title} {row.throughput_pps / 1e3:.1f} kpps, {row.instructions_per_frame or 0:,} instructions "
            "a frame"
            for row in by.values()
        )
        return f"{'; '.join(each)}."

    return Claim(
        AIM,
        f"Our driver forwards at least as many 64-byte frames without loss as the in-tree driver ({board} board).",
        lambda tables: {row.driver: row for row in tables.forwarding if row.board == board} or None,
        holds=lambda by: by["ours"].throughput_pps >= (1 - FASTER_PERCENT / 100) * by["in_tree"].throughput_pps,
        yes=told,
        no=told,
    )


Rrul = dict[str, RrulRow]
"""By driver."""


def _rrul(by: Rrul) -> str:
    each = (
        f"{DRIVERS[row.driver].title} {row.up_mbps:.0f} Mbit/s up, {row.down_mbps:.0f} down, the round "
        f"trip of UDP BE {row.udp_be.base.p50_us / 1e3:.2f} ms alone and {row.udp_be.load.p50_us / 1e3:.2f} ms loaded "
        f"(p99 {row.udp_be.load.p99_us / 1e3:.1f}), of UDP EF {row.udp_ef.load.p50_us / 1e3:.2f} "
        f"(p99 {row.udp_ef.load.p99_us / 1e3:.1f})"
        for row in by.values()
    )
    return f"{'; '.join(each)}."


CLAIMS: tuple[Claim[Tables, Any], ...] = (
    *(_letter(test, board) for test in TESTS for board in SPEEDS),
    Claim(
        EXPECTED,
        f"An xHCI that moderates its interrupts lets packets queue up: then {UDP_TX} ({NO_RATE}, slow board) gains at least "
        f"{percent(SIZE)} of the letter's smallest gain; without, it does not.",
        _moderation,
        holds=_packs,
        yes=_told_moderation,
        no=_told_moderation,
    ),
    Claim(
        "Cover letter",
        "Moving from a tasklet to NAPI alone makes little or no difference.",
        lambda tables: tables.ablation.where(lambda r: (r.change, r.patch) == (WITH, 6)) or None,
        holds=lambda rows: not any(map(_moves, _judged(rows))),
        yes=_napi_alone,
        no=_napi_alone,
    ),
    *(_patch(patch, what) for patch, what in PATCHES.items()),
    *_in_tree("napi"),
    *_in_tree("ours"),
    *(_forwarding(board) for board in SPEEDS),
    Claim(
        AIM,
        f"Under rrul's load our driver's round trips (UDP BE, p99) are not longer than the in-tree driver's ({SLOW} board).",
        lambda tables: marked(tables.rrul) if tables.rrul else None,
        holds=lambda by: by["ours"].udp_be.load.p99_us <= LATER * by["in_tree"].udp_be.load.p99_us,
        yes=_rrul,
        no=_rrul,
    ),
)
