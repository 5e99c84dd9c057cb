# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims that compare two curves of a figure: 6(a), 6(b), 7(a) to 7(f), and 8.

Two figures within EQUAL of each other are level. A scheme outperforms another if it is better at one load at least, beyond that,
and worse at none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from irqlab import units
from irqlab.reproduce.claims import Claim, Test, Told, judged
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.loads import ReceivingRow
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.reproduce.salah2009.points import EQUAL, curves_of, echoes, of_cliff, ours
from irqlab.units import duration, kpps, percent

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
CLIFF2 = of_cliff("cliff2")
NEAR_END = 1.3
"""Of the echo's cliff: the paper's loads of the round trip end at 1.2 times."""
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


def slightly_longer(pairs: Pairs) -> bool:
    """Whether one is longer on the average, and beyond EQUAL nowhere."""
    return alike(pairs) and sum(pair.mine / pair.theirs - 1 for pair in pairs) > 0


END = of_cliff("max_offered")
"""Of the cliff: where the paper's loads end."""


def within(curve: Iterable[ReceivingRow]) -> list[ReceivingRow]:
    """The rows at the paper's loads."""
    return [row for row in curve if row.load_of_cliff <= END]


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


# Figures 6(a), 7(a), (b): throughput and loss.

Both = tuple[ReceivingRow, ReceivingRow]
"""A scheme at a load, and another."""


def _paired(curve: Iterable[ReceivingRow], mine: str, theirs: str) -> list[Both]:
    by = {(row.scheme, row.load_of_cliff): row for row in curve if not row.setting}
    found = ((row, by[theirs, load]) for (scheme, load), row in by.items() if scheme == mine and (theirs, load) in by)
    return sorted(found, key=lambda pair: pair[0].load_of_cliff)


def _receives(
    mine: str, theirs: str, holds: Callable[[Sequence[Both]], bool], of: Callable[[Tables], Iterable[ReceivingRow]]
) -> Test[Tables]:
    """Whether something holds of two schemes at the paper's loads; what they receive wherever one loses frames is told."""

    def told(tables: Tables) -> Told | None:
        pairs = _paired(of(tables), mine, theirs)
        lossy = [pair for pair in pairs if max(row.loss_ratio for row in pair) > SOME_LOSS]
        inside, beyond = ([pair for pair in lossy if (pair[0].load_of_cliff <= END) == wanted] for wanted in (True, False))
        if not inside:
            return None
        text = f"{mine} ({theirs}) where frames are lost: {_told_received(inside)}."
        text += f" Beyond the paper's loads: {_told_received(beyond)}." if beyond else ""
        return holds([pair for pair in pairs if pair[0].load_of_cliff <= END]), text

    return told


def _told_received(pairs: Sequence[Both]) -> str:
    each = (
        f"at {one.load_of_cliff:g} times the cliff {kpps(one.application_pps)} kpps, {percent(one.loss_ratio)} lost "
        f"({kpps(other.application_pps)}, {percent(other.loss_ratio)})"
        for one, other in pairs
    )
    return "; ".join(each)


def outperforms(pairs: Sequence[Both]) -> bool:
    """Whether one receives more at one load at least, and less at none; and the same of what is lost."""
    received = [Pair(0, one.application_pps, other.application_pps) for one, other in pairs]
    worse = any(one.loss_ratio > other.loss_ratio + SOME_LOSS for one, other in pairs)
    return any(pair.more for pair in received) and not any(pair.less for pair in received) and not worse


def gives_more(pairs: Sequence[Both]) -> bool:
    """Whether one receives more, and loses less, at every load at which the other loses frames."""
    lossy = [(one, other) for one, other in pairs if other.loss_ratio > SOME_LOSS]
    return bool(lossy) and all(
        Pair(0, one.application_pps, other.application_pps).more and one.loss_ratio < other.loss_ratio for one, other in lossy
    )


def _sustained(tables: Tables) -> Told | None:
    """What each scheme receives at the highest of the paper's loads, of the most that it receives at any."""
    curves = curves_of(tables, *COMPARED)
    if curves is None:
        return None
    last = {scheme: within(curve)[-1] for scheme, curve in curves.items()}
    kept = {scheme: row.application_pps / max(r.application_pps for r in within(curves[scheme])) for scheme, row in last.items()}
    held = kept[rows.HYBRID] >= 1 - EQUAL > max(kept[rows.DE], kept[rows.NAPI])
    each = ", ".join(f"{scheme} {percent(share)}" for scheme, share in kept.items())
    return held, f"at {last[rows.DE].load_of_cliff:g} times the cliff, of the most that each receives: {each}."


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
    """How loads are told."""

    end: str
    load: Callable[[float], str]


THROUGH = _Words(" of the echo's cliff", lambda share: f"{100 * share:.0f} %")
OF_PINGS = _Words("", lambda pps: f"{units.grouped(pps)} a second")


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
            least, most = (choose(pairs, key=lambda p: p.mine / p.theirs) for choose in (min, max))
            told = " to ".join(f"{100 * (p.mine / p.theirs - 1):+.1f} % ({words.load(p.at)})" for p in (least, most))
            each.append(f"{scheme} against {theirs} {told}")
        some = next(iter(found.values()))
        loads = f"{words.load(some[0].at)} to {words.load(some[-1].at)}{words.end}"
        return all(map(holds, found.values())), f"{'; '.join(each)}, of {len(some)} loads from {loads}."

    return told


def _approaches(tables: Tables) -> Told | None:
    """How far hybrid's and NAPI's round trips are apart below the cliff, and from where hybrid is NAPI on."""
    below, beyond = (_against(_trips(*span)(tables), rows.HYBRID, rows.NAPI) for span in ((0.0, 1.0), (CLIFF2, NEAR_END)))
    if not below or not beyond:
        return None
    off = 100 * (beyond[0].mine / beyond[0].theirs - 1)
    text = f"hybrid against {rows.NAPI}: {off:+.1f} % at {beyond[0].at:g} times the echo's cliff"
    if alike(below):
        return None, f"they are level below the cliff, too ({text})."
    return alike(beyond), f"{text}; below the cliff they are not level."


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


LEVEL = f"level within {percent(EQUAL)}"
BETTER = f"better at one load at least, worse at none; {LEVEL}"
FIGURE_6: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 6(a)",
        "With a budget of 2 the application receives more than with 300.",
        _receives(rows.NAPI_2, rows.NAPI, outperforms, lambda tables: tables.budget),
        BETTER,
    ),
    Claim(
        "Figure 6(a)",
        "A budget of 6 starts to improve at around 1.7 times the cliff; one of 300 does not.",
        _recovers,
        f"more at {RECOVERS[1]:g} than at {RECOVERS[0]:g} times",
    ),
    Claim(
        "Figure 6(b)",
        "At high rates the round trip is longer with a budget of 2 than with 300; with 6 it is that of 300.",
        _longer_with_2,
        LEVEL,
    ),
)
THROUGHPUT: tuple[Claim[Tables], ...] = (
    *(
        Claim(
            "Figure 7(a), (b)",
            f"In throughput and loss hybrid outperforms {other}.",
            _receives(rows.HYBRID, other, outperforms, ours),
            BETTER,
        )
        for other in (rows.NAPI, rows.DE)
    ),
    Claim(
        "Figure 7(a)",
        f"With more load the throughput of {rows.DE} and NAPI degrades, and hybrid's is sustained.",
        _sustained,
        f"at least {percent(1 - EQUAL)} of the most within the paper's loads is sustained",
    ),
    Claim(
        "Figure 7(a), (b)",
        f"{rows.DE} gives more throughput and less loss than NAPI.",
        _receives(rows.DE, rows.NAPI, gives_more, ours),
        f"at every load at which NAPI loses frames; {LEVEL}",
    ),
)
ROUND_TRIPS: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 7(c)",
        f"Below the cliff hybrid and {rows.DE} outperform NAPI (mean round trip).",
        _compared(THROUGH, _trips(), (rows.DE, rows.HYBRID), rows.NAPI, shorter),
        BETTER,
    ),
    Claim("Figure 7(c)", f"Beyond {CLIFF2:g} times the cliff hybrid's round trip approaches NAPI's.", _approaches, LEVEL),
    Claim(
        "Figure 7(c), (d)",
        f"Estimating the rate adds no noticeable delay: below the cliff hybrid's round trip is {rows.DE}'s.",
        _compared(THROUGH, _trips(), (rows.HYBRID,), rows.DE, alike),
        LEVEL,
    ),
    Claim(
        "Figure 7(d)",
        f"Below {LOW_PPS:g} frames a second the round trip is longer with all schemes, NAPI's the longest.",
        judged(
            _zoom,
            lambda found: _longer_at_low(found) and found[rows.NAPI][0][1] >= max(low[1] for low, _ in found.values()),
            _told_low,
        ),
        LEVEL,
    ),
)
PINGS: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 8",
        f"{rows.DE} and hybrid outperform NAPI (mean round trip of pings).",
        _compared(OF_PINGS, _pings, (rows.DE, rows.HYBRID), rows.NAPI, shorter),
        BETTER,
    ),
    Claim(
        "Figure 8",
        f"Hybrid's pings take slightly longer than {rows.DE}'s.",
        _compared(OF_PINGS, _pings, (rows.HYBRID,), rows.DE, slightly_longer),
        f"longer on the average, and nowhere by more than {percent(EQUAL)}",
    ),
    Claim(
        "Figure 8",
        "At the lowest rates pings take longer, with all schemes.",
        judged(
            lambda tables: _ends((r.scheme, r.offered_pps, r.mean_ns) for r in tables.ping if r.offered_pps <= PINGED_PPS),
            _longer_at_low,
            _told_low,
        ),
        LEVEL,
    ),
)
