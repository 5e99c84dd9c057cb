# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims that compare two curves of a figure: 6(a), 6(b), 7(a) to 7(f), and 8.

Two figures within EQUAL of each other are level. A scheme outperforms another if it is better at one load at least, beyond that,
and worse at none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from irqlab import units
from irqlab.reproduce.claims import Claim
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.loads import EchoingRow, ReceivingRow
from irqlab.reproduce.salah2009.points import EQUAL, NO_CPU, curve_of, echoes, of_cliff, ours
from irqlab.reproduce.salah2009.tables import Tables
from irqlab.units import duration, kpps, percent

ALIKE = 0.15
"""What the paper calls approaching each other."""
SOME_LOSS = 0.01
"""From here on an application loses frames."""
LOW_PPS = 200.0
"""The paper's "severely low rate"."""
PINGED_PPS = 8000.0
"""The paper's highest."""
SIX = "NAPI (6)"


@dataclass(frozen=True)
class Pair:
    """Two schemes at a load: a share of the cliff, or a rate in frames/s."""

    at: float
    mine: float
    theirs: float

    @property
    def less(self) -> bool:
        """Beyond EQUAL."""
        return self.mine < (1 - EQUAL) * self.theirs

    @property
    def more(self) -> bool:
        """Beyond EQUAL."""
        return self.mine > (1 + EQUAL) * self.theirs


Pairs = Sequence[Pair]
By = dict[str, Pairs]
"""Pairs by the scheme that is compared."""


def shorter(pairs: Pairs) -> bool:
    """Whether a round trip is shorter at one load at least, and longer at none."""
    return any(pair.less for pair in pairs) and not any(pair.more for pair in pairs)


def alike(pairs: Pairs) -> bool:
    """Whether two are level everywhere."""
    return not any(pair.less or pair.more for pair in pairs)


# Figure 6.

Budgets = dict[tuple[str, float], ReceivingRow]
"""By scheme and load."""
RECOVERS = (1.75, 2.0)
"""Of the cliff: around where the paper's budget of 6 starts to improve."""


def _recovery(tables: Tables) -> Budgets | None:
    found = {(row.scheme, row.load_of_cliff): row for row in tables.budget}
    wanted = [(scheme, load) for scheme in (SIX, rows.NAPI) for load in RECOVERS]
    return {key: found[key] for key in wanted} if set(wanted) <= set(found) else None


def _recovers(found: Budgets) -> bool:
    def rises(scheme: str) -> bool:
        low, high = (found[scheme, load].application_pps for load in RECOVERS)
        return high > (1 + EQUAL) * low

    return rises(SIX) and not rises(rows.NAPI)


def _told_recovery(found: Budgets) -> str:
    told = (f"{scheme} {kpps(row.application_pps)} at {load:g} times the cliff" for (scheme, load), row in found.items())
    return f"in kpps: {', '.join(told)}."


Trips = dict[str, dict[float, float]]
"""Mean round trips in ns, by scheme and load."""


def _budget_trips(tables: Tables) -> Trips | None:
    """Where the load is high."""
    found: Trips = {}
    for row in tables.budget_round_trip:
        if row.load_of_echo_cliff is not None and row.load_of_echo_cliff >= HIGH[0] and row.mean_ns is not None:
            found.setdefault(row.scheme, {})[row.load_of_echo_cliff] = row.mean_ns
    return found if {rows.NAPI_2, SIX, rows.NAPI} <= set(found) else None


HIGH = (0.9, 1.25)
"""Of the echo's cliff: high loads within the paper's, which end at 1.2 times."""


def _slower(found: Trips) -> bool:
    def against(scheme: str) -> Pairs:
        both = set(HIGH) & set(found[scheme]) & set(found[rows.NAPI])
        return [Pair(load, found[scheme][load], found[rows.NAPI][load]) for load in sorted(both)]

    return any(pair.more for pair in against(rows.NAPI_2)) and alike(against(SIX))


def _told_trips(found: Trips) -> str:
    each = []
    for scheme in (rows.NAPI_2, SIX, rows.NAPI):
        told = ", ".join(f"{100 * load:.0f} % {duration(ns)}" for load, ns in sorted(found[scheme].items()))
        each.append(f"{scheme} {told}")
    return f"at a share of the echo's cliff: {'; '.join(each)}."


# Figure 7(a), (b): DE against NAPI.

Lost = tuple[Sequence[tuple[ReceivingRow, ReceivingRow]], Sequence[tuple[ReceivingRow, ReceivingRow]]]
"""DE and NAPI at a load at which NAPI loses frames: within the paper's loads, and beyond them."""


def _losing(tables: Tables) -> Lost | None:
    by = {(row.scheme, row.load_of_cliff): row for row in ours(tables)}
    end = of_cliff("max_offered")
    pairs = [
        (by[rows.DE, load], row)
        for (scheme, load), row in by.items()
        if scheme == rows.NAPI and row.loss_ratio > SOME_LOSS and (rows.DE, load) in by
    ]
    within, beyond = ([p for p in pairs if (p[0].load_of_cliff <= end) == wanted] for wanted in (True, False))
    return (within, beyond) if within else None


def _gives_more(found: Lost) -> bool:
    return all(de.application_pps > (1 + EQUAL) * napi.application_pps for de, napi in found[0])


def _told_losing(found: Lost) -> str:
    def told(pairs: Sequence[tuple[ReceivingRow, ReceivingRow]]) -> str:
        each = (
            f"{de.load_of_cliff:g} times the cliff {kpps(de.application_pps)} kpps, {percent(de.loss_ratio)} lost "
            f"({kpps(napi.application_pps)}, {percent(napi.loss_ratio)})"
            for de, napi in pairs
        )
        return "; ".join(each)

    text = f"{rows.DE} ({rows.NAPI}) at {told(found[0])}."
    return f"{text} Beyond the paper's loads: {told(found[1])}." if found[1] else text


# Figure 7(c), (d): round trips.


def _against(
    tables: Tables, mine: str, theirs: str, wanted: Callable[[EchoingRow], bool], at: Callable[[EchoingRow], float]
) -> Pairs:
    means = {(row.scheme, at(row)): row.mean_ns for row in echoes(tables) if wanted(row) and not row.setting}
    pairs = []
    for (scheme, load), ns in means.items():
        other = means.get((theirs, load))
        if scheme == mine and ns is not None and other is not None:
            pairs.append(Pair(load, ns, other))
    return sorted(pairs, key=lambda pair: pair.at)


def _loaded(row: EchoingRow, least: float, most: float) -> bool:
    return row.load_of_echo_cliff is not None and least <= row.load_of_echo_cliff < most


def _share(row: EchoingRow) -> float:
    return row.load_of_echo_cliff or 0.0


def _below(tables: Tables, *schemes: str) -> By | None:
    """Below the echo's cliff, against NAPI."""
    found = {one: _against(tables, one, rows.NAPI, lambda r: _loaded(r, 0.0, 1.0), _share) for one in schemes}
    return found if all(found.values()) else None


def _told_pairs(found: By, theirs: str) -> str:
    each = []
    for scheme, pairs in found.items():
        told = ", ".join(f"{100 * p.at:.0f} % {duration(p.mine)} ({duration(p.theirs)})" for p in pairs)
        each.append(f"{scheme} ({theirs}): {told}")
    return f"at a share of the echo's cliff, {'; '.join(each)}."


def _beyond(tables: Tables) -> By | None:
    cliff2 = of_cliff("cliff2")
    pairs = _against(tables, rows.HYBRID, rows.NAPI, lambda r: _loaded(r, cliff2, 1e9), _share)
    return {rows.HYBRID: pairs} if pairs else None


def _delay(tables: Tables) -> By | None:
    pairs = _against(tables, rows.HYBRID, rows.DE, lambda r: _loaded(r, 0.0, 1.0), _share)
    return {rows.HYBRID: pairs} if pairs else None


Low = dict[str, tuple[tuple[float, float], tuple[float, float]]]
"""By scheme: rate in frames/s and mean round trip in ns, at the lowest rate and at the highest one of the zoom."""


def _zoom(tables: Tables) -> Low | None:
    found: Low = {}
    for scheme in (rows.DE, rows.NAPI, rows.HYBRID):
        points = sorted(
            (row.offered_pps, row.mean_ns)
            for row in echoes(tables)
            if row.scheme == scheme and row.load_of_echo_cliff is None and row.mean_ns is not None
        )
        if len(points) < 2 or points[0][0] >= LOW_PPS:
            return None
        found[scheme] = (points[0], points[-1])
    return found


def _humped(found: Low) -> bool:
    longer = all(Pair(0, low[1], high[1]).more for low, high in found.values())
    return longer and found[rows.NAPI][0][1] >= max(low[1] for low, _ in found.values())


def _told_low(found: Low) -> str:
    each = (
        f"{scheme} {duration(low[1])} at {units.grouped(low[0])} a second, {duration(high[1])} at {units.grouped(high[0])}"
        for scheme, (low, high) in found.items()
    )
    return f"{'; '.join(each)}."


# Figure 7(e), (f).

Curves = dict[str, list[ReceivingRow]]
"""By scheme; the lowest load first."""


def _curves(tables: Tables, *schemes: str) -> Curves | None:
    found = {scheme: curve_of(tables, scheme) for scheme in schemes}
    return found if all(found.values()) else None


def _after_turn(found: Curves) -> Curves:
    """From where the paper's interrupts turn up to the cliff."""
    turn = of_cliff("interrupt_rate_turns_at")
    return {scheme: [row for row in every if turn <= row.load_of_cliff <= 1] for scheme, every in found.items()}


def _drops(found: Curves) -> bool:
    return all(
        any(Pair(0, b.interrupts_per_s, a.interrupts_per_s).less for a, b in pairwise(every))
        for every in _after_turn(found).values()
    )


def _told_interrupts(found: Curves) -> str:
    each = []
    for scheme, every in found.items():
        told = ", ".join(f"{units.grouped(r.interrupts_per_s)} at {r.load_of_cliff:g} times" for r in every)
        each.append(f"{scheme} {told}")
    return f"interrupts a second: {'; '.join(each)}."


def _ends(found: Curves) -> Curves:
    """The highest load that the paper offered, and the highest here."""
    end = of_cliff("max_offered")
    return {scheme: [[r for r in every if r.load_of_cliff <= end][-1], every[-1]] for scheme, every in found.items()}


def _falls(found: Curves) -> bool:
    return all(Pair(0, last.interrupts_per_s, first.interrupts_per_s).less for first, last in _ends(found).values())


CpuLeft = dict[str, float]
"""By scheme."""
HALF = 0.5


def _at_half(tables: Tables) -> CpuLeft | None:
    left = {
        row.scheme: row.cpu_available
        for row in ours(tables)
        if row.load_of_cliff == HALF and row.scheme in (rows.DE, rows.NAPI, rows.HYBRID) and not row.setting
    }
    return left if len(left) == 3 else None


def _least(left: CpuLeft) -> bool:
    return all(left[rows.NAPI] < other - NO_CPU for scheme, other in left.items() if scheme != rows.NAPI)


Dent = dict[str, tuple[float, float]]
"""By scheme: what is lost of the CPU between a quarter and half of the cliff, and from there to three quarters."""
QUARTERS = (0.25, 0.5, 0.75)


def _dents(tables: Tables) -> Dent | None:
    found: Dent = {}
    for scheme in (rows.DE, rows.NAPI, rows.HYBRID):
        left = {row.load_of_cliff: row.cpu_available for row in curve_of(tables, scheme)}
        if not set(QUARTERS) <= set(left):
            return None
        first, second, third = (left[load] for load in QUARTERS)
        found[scheme] = (first - second, second - third)
    return found


def _told_dents(found: Dent) -> str:
    each = (f"{scheme} {percent(before)}, then {percent(after)}" for scheme, (before, after) in found.items())
    return f"of the CPU, from {' to '.join(f'{load:g}' for load in QUARTERS)} times the cliff are lost: {'; '.join(each)}."


# Figure 8.


def _pings(tables: Tables, theirs: str, *schemes: str) -> By | None:
    """Up to the paper's highest rate."""
    means = {(r.scheme, r.offered_pps): r.mean_ns for r in tables.ping if r.offered_pps <= PINGED_PPS}
    found: dict[str, list[Pair]] = {scheme: [] for scheme in schemes}
    for (scheme, pps), ns in means.items():
        other = means.get((theirs, pps))
        if scheme in found and ns is not None and other is not None:
            found[scheme].append(Pair(pps, ns, other))
    return dict(found) if all(found.values()) else None


def _told_pings(found: By, theirs: str) -> str:
    each = []
    for scheme, pairs in found.items():
        told = ", ".join(f"{units.grouped(p.at)} a second {duration(p.mine)} ({duration(p.theirs)})" for p in pairs)
        each.append(f"{scheme} ({theirs}) at {told}")
    return f"{'; '.join(each)}."


def _ping_ends(tables: Tables) -> Low | None:
    found: Low = {}
    for scheme in (rows.DE, rows.NAPI, rows.HYBRID):
        points = sorted(
            (row.offered_pps, row.mean_ns)
            for row in tables.ping
            if row.scheme == scheme and row.mean_ns is not None and row.offered_pps <= PINGED_PPS
        )
        if len(points) < 2:
            return None
        found[scheme] = (points[0], points[-1])
    return found


FIGURE_6: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Figure 6(a)",
        "A budget of 6 starts to improve at around 1.7 times the cliff; one of 300 does not.",
        _recovery,
        holds=_recovers,
        yes=_told_recovery,
        no=_told_recovery,
    ),
    Claim(
        "Figure 6(b)",
        "At high rates the round trip is longer with a budget of 2 than with 300; with 6 it is that of 300.",
        _budget_trips,
        holds=_slower,
        yes=_told_trips,
        no=_told_trips,
    ),
)
DE_AGAINST_NAPI: Claim[Tables, Lost] = Claim(
    "Figure 7(a), (b)",
    f"Where frames are lost, {rows.DE} gives the application more than NAPI, and loses less.",
    _losing,
    holds=_gives_more,
    yes=_told_losing,
    no=_told_losing,
)
ROUND_TRIPS: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Figure 7(c)",
        f"Below the cliff hybrid and {rows.DE} outperform NAPI (mean round trip).",
        lambda tables: _below(tables, rows.DE, rows.HYBRID),
        holds=lambda found: all(map(shorter, found.values())),
        yes=lambda found: _told_pairs(found, rows.NAPI),
        no=lambda found: _told_pairs(found, rows.NAPI),
    ),
    Claim(
        "Figure 7(c)",
        f"Beyond {of_cliff('cliff2'):g} times the cliff hybrid's round trip approaches NAPI's.",
        _beyond,
        holds=lambda found: all(abs(p.mine / p.theirs - 1) <= ALIKE for p in found[rows.HYBRID]),
        yes=lambda found: _told_pairs(found, rows.NAPI),
        no=lambda found: _told_pairs(found, rows.NAPI),
    ),
    Claim(
        "Figure 7(c), (d)",
        f"Estimating the rate adds no noticeable delay: below the cliff hybrid's round trip is {rows.DE}'s.",
        _delay,
        holds=lambda found: alike(found[rows.HYBRID]),
        yes=lambda found: _told_pairs(found, rows.DE),
        no=lambda found: _told_pairs(found, rows.DE),
    ),
    Claim(
        "Figure 7(d)",
        f"Below {LOW_PPS:g} frames a second the round trip is longer with all schemes, NAPI's the longest.",
        _zoom,
        holds=_humped,
        yes=_told_low,
        no=_told_low,
    ),
)
INTERRUPTS: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Figure 7(e)",
        f"Shortly after {of_cliff('interrupt_rate_turns_at'):g} times the cliff the interrupt rate drops.",
        lambda tables: _curves(tables, rows.DE, rows.NAPI, rows.HYBRID),
        holds=_drops,
        yes=lambda found: _told_interrupts(_after_turn(found)),
        no=lambda found: _told_interrupts(_after_turn(found)),
    ),
    Claim(
        "Figure 7(e)",
        f"Beyond {of_cliff('max_offered'):g} times the cliff the interrupt rate of NAPI and {rows.DE} falls.",
        lambda tables: _curves(tables, rows.DE, rows.NAPI),
        holds=_falls,
        yes=lambda found: _told_interrupts(_ends(found)),
        no=lambda found: _told_interrupts(_ends(found)),
    ),
)
CPU: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Section 4.1, figure 7(f)",
        f"NAPI leaves the least of the CPU (at {HALF:g} times the cliff, by more than {percent(NO_CPU)} of it).",
        _at_half,
        holds=_least,
        yes=lambda left: f"{', '.join(f'{scheme} {percent(share)}' for scheme, share in left.items())}.",
        no=lambda left: f"{', '.join(f'{scheme} {percent(share)}' for scheme, share in left.items())}.",
    ),
    Claim(
        "Figure 7(f)",
        "At 0.5 to 0.7 times the cliff the CPU that is left hardly falls.",
        _dents,
        holds=lambda found: all(after < HALF * before for before, after in found.values()),
        yes=_told_dents,
        no=_told_dents,
    ),
)
PINGS: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Figure 8",
        f"{rows.DE} and hybrid outperform NAPI (mean round trip of pings).",
        lambda tables: _pings(tables, rows.NAPI, rows.DE, rows.HYBRID),
        holds=lambda found: all(map(shorter, found.values())),
        yes=lambda found: _told_pings(found, rows.NAPI),
        no=lambda found: _told_pings(found, rows.NAPI),
    ),
    Claim(
        "Figure 8",
        f"Hybrid's pings take as long as {rows.DE}'s, or slightly longer.",
        lambda tables: _pings(tables, rows.DE, rows.HYBRID),
        holds=lambda found: alike(found[rows.HYBRID]),
        yes=lambda found: _told_pings(found, rows.DE),
        no=lambda found: _told_pings(found, rows.DE),
    ),
    Claim(
        "Figure 8",
        "At the lowest rates pings take longer, with all schemes.",
        _ping_ends,
        holds=lambda found: all(Pair(0, low[1], high[1]).more for low, high in found.values()),
        yes=_told_low,
        no=_told_low,
    ),
)
