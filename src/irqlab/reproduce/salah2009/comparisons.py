# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims that compare two curves of a figure: 6(a), 6(b), 7(a) to 7(f), and 8.

Two figures within EQUAL of each other are level. A scheme outperforms another if it is better at one load at least, beyond that,
and worse at none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from irqlab import units
from irqlab.reproduce.claims import Claim, Test, Told, judged
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.loads import ReceivingRow
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.reproduce.salah2009.points import EQUAL, NO_CPU, Curves, curve_of, curves_of, echoes, of_cliff, ours
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
RECOVERS = (1.75, 2.0)
"""Of the cliff: around where the paper's budget of 6 starts to improve."""
HIGH = (0.9, 1.25)
"""Of the echo's cliff: high loads within the paper's, which end at 1.2 times."""
HALF = 0.5
QUARTERS = (0.25, 0.5, 0.75)
COMPARED = (rows.DE, rows.NAPI, rows.HYBRID)

Means = Mapping[tuple[str, float], float | None]
"""Mean round trips in ns, by scheme and load: a share of the cliff, or a rate in frames/s."""


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


def shorter(pairs: Pairs) -> bool:
    """Whether a round trip is shorter at one load at least, and longer at none."""
    return any(pair.less for pair in pairs) and not any(pair.more for pair in pairs)


def alike(pairs: Pairs) -> bool:
    """Whether two are level everywhere."""
    return not any(pair.less or pair.more for pair in pairs)


def near(pairs: Pairs) -> bool:
    """Whether they approach each other everywhere."""
    return all(abs(pair.mine / pair.theirs - 1) <= ALIKE for pair in pairs)


# Figure 6.


def _recovers(tables: Tables) -> Told | None:
    wanted = [(scheme, load) for scheme in (SIX, rows.NAPI) for load in RECOVERS]
    found = tables.budget.keyed(lambda row: (row.scheme, row.load_of_cliff), *wanted)
    if not found:
        return None
    pps = {key: found[key].application_pps for key in wanted}
    small, large = (Pair(0, pps[scheme, RECOVERS[1]], pps[scheme, RECOVERS[0]]).more for scheme in (SIX, rows.NAPI))
    told = (f"{scheme} {kpps(one)} at {load:g} times the cliff" for (scheme, load), one in pps.items())
    return small and not large, f"in kpps: {', '.join(told)}."


def _longer_with_2(tables: Tables) -> Told | None:
    """Where the load is high."""
    found: dict[str, dict[float, float]] = {}
    for row in tables.budget_round_trip:
        if row.load_of_echo_cliff is not None and row.load_of_echo_cliff >= HIGH[0] and row.mean_ns is not None:
            found.setdefault(row.scheme, {})[row.load_of_echo_cliff] = row.mean_ns
    budgets = (rows.NAPI_2, SIX, rows.NAPI)
    if not set(budgets) <= set(found):
        return None
    small, six = (
        [Pair(load, found[one][load], found[rows.NAPI][load]) for load in HIGH if load in found[one] and load in found[rows.NAPI]]
        for one in budgets[:2]
    )
    each = []
    for scheme in budgets:
        told = ", ".join(f"{100 * load:.0f} % {duration(ns)}" for load, ns in sorted(found[scheme].items()))
        each.append(f"{scheme} {told}")
    return any(pair.more for pair in small) and alike(six), f"at a share of the echo's cliff: {'; '.join(each)}."


# Figure 7(a), (b): DE against NAPI.


def _gives_more(tables: Tables) -> Told | None:
    """DE and NAPI at the loads at which NAPI loses frames: within the paper's loads, and beyond them."""
    by = {(row.scheme, row.load_of_cliff): row for row in ours(tables)}
    pairs = [
        (by[rows.DE, load], row)
        for (scheme, load), row in by.items()
        if scheme == rows.NAPI and row.loss_ratio > SOME_LOSS and (rows.DE, load) in by
    ]
    end = of_cliff("max_offered")
    within, beyond = ([p for p in pairs if (p[0].load_of_cliff <= end) == wanted] for wanted in (True, False))
    if not within:
        return None

    def told(pairs: Sequence[tuple[ReceivingRow, ReceivingRow]]) -> str:
        each = (
            f"{de.load_of_cliff:g} times the cliff {kpps(de.application_pps)} kpps, {percent(de.loss_ratio)} lost "
            f"({kpps(napi.application_pps)}, {percent(napi.loss_ratio)})"
            for de, napi in pairs
        )
        return "; ".join(each)

    text = f"{rows.DE} ({rows.NAPI}) at {told(within)}." + (f" Beyond the paper's loads: {told(beyond)}." if beyond else "")
    return all(Pair(0, de.application_pps, napi.application_pps).more for de, napi in within), text


# Figures 7(c), (d) and 8: round trips.


def _trips(least: float = 0.0, most: float = 1.0) -> Callable[[Tables], Means]:
    """Those through the application at such shares of the echo's cliff."""
    return lambda tables: {
        (row.scheme, row.load_of_echo_cliff): row.mean_ns
        for row in echoes(tables)
        if row.load_of_echo_cliff is not None and least <= row.load_of_echo_cliff < most and not row.setting
    }


def _pings(tables: Tables) -> Means:
    """Those of pings, up to the paper's highest rate."""
    return {(r.scheme, r.offered_pps): r.mean_ns for r in tables.ping if r.offered_pps <= PINGED_PPS}


def _against(means: Means, mine: str, theirs: str) -> list[Pair]:
    """The lowest load first."""
    both = ((load, ns, means.get((theirs, load))) for (scheme, load), ns in means.items() if scheme == mine)
    pairs = [Pair(load, ns, other) for load, ns, other in both if ns is not None and other is not None]
    return sorted(pairs, key=lambda pair: pair.at)


@dataclass(frozen=True)
class _Words:
    """How round trips are told."""

    begin: str
    between: str
    load: Callable[[float], str]


THROUGH = _Words("at a share of the echo's cliff, ", ":", lambda share: f"{100 * share:.0f} %")
OF_PINGS = _Words("", " at", lambda pps: f"{units.grouped(pps)} a second")


def _compared(
    words: _Words, of: Callable[[Tables], Means], schemes: Sequence[str], theirs: str, holds: Callable[[Pairs], bool]
) -> Test[Tables]:
    """Whether something holds of the round trips of each of the schemes against those of another."""

    def told(tables: Tables) -> Told | None:
        found = {scheme: _against(of(tables), scheme, theirs) for scheme in schemes}
        if not all(found.values()):
            return None
        each = []
        for scheme, pairs in found.items():
            of_load = (f"{words.load(p.at)} {duration(p.mine)} ({duration(p.theirs)})" for p in pairs)
            each.append(f"{scheme} ({theirs}){words.between} {', '.join(of_load)}")
        return all(map(holds, found.values())), f"{words.begin}{'; '.join(each)}."

    return told


Low = dict[str, tuple[tuple[float, float], tuple[float, float]]]
"""By scheme: rate in frames/s and mean round trip in ns, at the lowest rate and at the highest."""


def _ends(found: Iterable[tuple[str, float, float | None]]) -> Low | None:
    """Of scheme, rate in frames/s and mean round trip in ns; None unless each scheme has two of them."""
    points = [(scheme, pps, ns) for scheme, pps, ns in found if ns is not None]
    by = {scheme: sorted((pps, ns) for one, pps, ns in points if one == scheme) for scheme in COMPARED}
    return {scheme: (of[0], of[-1]) for scheme, of in by.items()} if all(len(of) > 1 for of in by.values()) else None


def _zoom(tables: Tables) -> Low | None:
    found = _ends((row.scheme, row.offered_pps, row.mean_ns) for row in echoes(tables) if row.load_of_echo_cliff is None)
    return found if found and all(low[0] < LOW_PPS for low, _ in found.values()) else None


def _longer_at_low(found: Low) -> bool:
    return all(Pair(0, low[1], high[1]).more for low, high in found.values())


def _told_low(found: Low) -> str:
    each = (
        f"{scheme} {duration(low[1])} at {units.grouped(low[0])} a second, {duration(high[1])} at {units.grouped(high[0])}"
        for scheme, (low, high) in found.items()
    )
    return f"{'; '.join(each)}."


# Figure 7(e), (f).


def _interrupts(schemes: Sequence[str], chosen: Callable[[Sequence[ReceivingRow]], list[ReceivingRow]]) -> Test[Tables]:
    """Whether interrupts a second fall somewhere between the loads chosen of a scheme's curve, with each scheme."""

    def told(tables: Tables) -> Told | None:
        curves = curves_of(tables, *schemes)
        if curves is None:
            return None
        found: Curves = {scheme: chosen(curve) for scheme, curve in curves.items()}
        each = []
        for scheme, every in found.items():
            of_load = ", ".join(f"{units.grouped(r.interrupts_per_s)} at {r.load_of_cliff:g} times" for r in every)
            each.append(f"{scheme} {of_load}")
        falls = [
            any(Pair(0, b.interrupts_per_s, a.interrupts_per_s).less for a, b in pairwise(every)) for every in found.values()
        ]
        return all(falls), f"interrupts a second: {'; '.join(each)}."

    return told


def _after_turn(curve: Sequence[ReceivingRow]) -> list[ReceivingRow]:
    """From where the paper's interrupts turn up to the cliff."""
    return [row for row in curve if of_cliff("interrupt_rate_turns_at") <= row.load_of_cliff <= 1]


def _last(curve: Sequence[ReceivingRow]) -> list[ReceivingRow]:
    """The highest load that the paper offered, and the highest here."""
    return [[row for row in curve if row.load_of_cliff <= of_cliff("max_offered")][-1], curve[-1]]


def _leaves_least(tables: Tables) -> Told | None:
    left = {
        row.scheme: row.cpu_available
        for row in ours(tables)
        if row.load_of_cliff == HALF and row.scheme in COMPARED and not row.setting
    }
    if len(left) < len(COMPARED):
        return None
    least = all(left[rows.NAPI] < other - NO_CPU for scheme, other in left.items() if scheme != rows.NAPI)
    return least, f"{', '.join(f'{scheme} {percent(share)}' for scheme, share in left.items())}."


def _hardly_falls(tables: Tables) -> Told | None:
    """What is lost of the CPU between a quarter and half of the cliff, and from there to three quarters."""
    found = {}
    for scheme in COMPARED:
        left = {row.load_of_cliff: row.cpu_available for row in curve_of(tables, scheme)}
        if not set(QUARTERS) <= set(left):
            return None
        first, second, third = (left[load] for load in QUARTERS)
        found[scheme] = (first - second, second - third)
    each = (f"{scheme} {percent(before)}, then {percent(after)}" for scheme, (before, after) in found.items())
    return (
        all(after < HALF * before for before, after in found.values()),
        f"of the CPU, from {' to '.join(f'{load:g}' for load in QUARTERS)} times the cliff are lost: {'; '.join(each)}.",
    )


FIGURE_6: tuple[Claim[Tables], ...] = (
    Claim("Figure 6(a)", "A budget of 6 starts to improve at around 1.7 times the cliff; one of 300 does not.", _recovers),
    Claim(
        "Figure 6(b)",
        "At high rates the round trip is longer with a budget of 2 than with 300; with 6 it is that of 300.",
        _longer_with_2,
    ),
)
DE_AGAINST_NAPI: Claim[Tables] = Claim(
    "Figure 7(a), (b)", f"Where frames are lost, {rows.DE} gives the application more than NAPI, and loses less.", _gives_more
)
ROUND_TRIPS: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 7(c)",
        f"Below the cliff hybrid and {rows.DE} outperform NAPI (mean round trip).",
        _compared(THROUGH, _trips(), (rows.DE, rows.HYBRID), rows.NAPI, shorter),
    ),
    Claim(
        "Figure 7(c)",
        f"Beyond {of_cliff('cliff2'):g} times the cliff hybrid's round trip approaches NAPI's.",
        _compared(THROUGH, _trips(of_cliff("cliff2"), 1e9), (rows.HYBRID,), rows.NAPI, near),
    ),
    Claim(
        "Figure 7(c), (d)",
        f"Estimating the rate adds no noticeable delay: below the cliff hybrid's round trip is {rows.DE}'s.",
        _compared(THROUGH, _trips(), (rows.HYBRID,), rows.DE, alike),
    ),
    Claim(
        "Figure 7(d)",
        f"Below {LOW_PPS:g} frames a second the round trip is longer with all schemes, NAPI's the longest.",
        judged(
            _zoom,
            lambda found: _longer_at_low(found) and found[rows.NAPI][0][1] >= max(low[1] for low, _ in found.values()),
            _told_low,
        ),
    ),
)
INTERRUPTS: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 7(e)",
        f"Shortly after {of_cliff('interrupt_rate_turns_at'):g} times the cliff the interrupt rate drops.",
        _interrupts(COMPARED, _after_turn),
    ),
    Claim(
        "Figure 7(e)",
        f"Beyond {of_cliff('max_offered'):g} times the cliff the interrupt rate of NAPI and {rows.DE} falls.",
        _interrupts((rows.DE, rows.NAPI), _last),
    ),
)
CPU: tuple[Claim[Tables], ...] = (
    Claim(
        "Section 4.1, figure 7(f)",
        f"NAPI leaves the least of the CPU (at {HALF:g} times the cliff, by more than {percent(NO_CPU)} of it).",
        _leaves_least,
    ),
    Claim("Figure 7(f)", "At 0.5 to 0.7 times the cliff the CPU that is left hardly falls.", _hardly_falls),
)
PINGS: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 8",
        f"{rows.DE} and hybrid outperform NAPI (mean round trip of pings).",
        _compared(OF_PINGS, _pings, (rows.DE, rows.HYBRID), rows.NAPI, shorter),
    ),
    Claim(
        "Figure 8",
        f"Hybrid's pings take as long as {rows.DE}'s, or slightly longer.",
        _compared(OF_PINGS, _pings, (rows.HYBRID,), rows.DE, alike),
    ),
    Claim(
        "Figure 8",
        "At the lowest rates pings take longer, with all schemes.",
        judged(
            lambda tables: _ends((r.scheme, r.offered_pps, r.mean_ns) for r in tables.ping if r.offered_pps <= PINGED_PPS),
            _longer_at_low,
            _told_low,
        ),
    ),
)
