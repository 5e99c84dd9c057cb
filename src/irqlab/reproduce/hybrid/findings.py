# SPDX-License-Identifier: GPL-2.0-or-later
"""Where improved hybrid stands on each kernel, and what each condition changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from irqlab.reproduce.claims import AIM, EXPECTED, Claim, Finding, findings_of
from irqlab.reproduce.hybrid import conditions, schemes
from irqlab.reproduce.hybrid.conditions import Condition
from irqlab.reproduce.hybrid.tables import LatencyRow, Tables, ThroughputRow
from irqlab.units import duration, kpps, percent

LEVEL = 0.01
"""Behind by no more than this share counts as level."""
LEAST = 0.5
"""Of the cliff: the lowest load at which throughput is compared."""
FAR = 3.0
"""Of the cliff: from here on polls find more than their budget."""
TWICE = 2.0


def findings(tables: Tables) -> list[Finding]:
    """What improved hybrid reaches; then the conditions."""
    return findings_of(CLAIMS, tables)


# Improved hybrid, on every kernel.

Received = tuple[ThroughputRow, ...]


def _paced(tables: Tables) -> Received | None:
    return tables.throughput.where(lambda r: r.scheme == schemes.PACED and r.load_of_cliff >= LEAST) or None


def _behind(found: Received) -> Received:
    return tuple(row for row in found if row.to_best < 1 - LEVEL)


def _where(row: ThroughputRow) -> str:
    return (
        f"Linux {row.kernel} at {row.load_of_cliff:g} times the cliff ({kpps(row.application_pps)} kpps, {row.to_best:.2f} of it)"
    )


def _worst(found: Received) -> str:
    return f"at worst on {_where(min(found, key=lambda row: row.to_best))}."


Trips = Sequence[tuple[LatencyRow, LatencyRow]]
"""Of paced hybrid and of NAPI at one load of one kernel."""


def _trips(tables: Tables) -> Trips | None:
    by = {(row.kernel, row.load_of_echo_cliff, row.scheme): row for row in tables.latency if row.p50_ns is not None}
    pairs = [
        (row, by[kernel, load, schemes.NAPI])
        for (kernel, load, scheme), row in by.items()
        if scheme == schemes.PACED and (kernel, load, schemes.NAPI) in by
    ]
    return pairs or None


def _longer(pairs: Trips) -> Trips:
    return [(one, napi) for one, napi in pairs if not _shorter(one, napi)]


def _shorter(one: LatencyRow, napi: LatencyRow) -> bool:
    return one.p50_ns is not None and napi.p50_ns is not None and one.p50_ns < napi.p50_ns


def _told_trips(pairs: Trips) -> str:
    told = (
        f"Linux {one.kernel} at {100 * one.load_of_echo_cliff:.0f} % {duration(one.p50_ns or 0)} ({duration(napi.p50_ns or 0)})"
        for one, napi in pairs
    )
    return ", ".join(told)


# Conditions.

Cells = dict[tuple[str, str, float], float]
"""What is received, in frames/s, by condition, scheme and load."""


@dataclass(frozen=True)
class _Under:
    cells: Cells
    condition: str
    loads: tuple[float, ...]

    def at(self, scheme: str, load: float, condition: str | None = None) -> float:
        return self.cells[condition or self.condition, scheme, load]

    def told(self, *names: str, condition: str | None = None) -> str:
        where = condition or self.condition
        each = (
            f"{load:g} times the cliff {', '.join(f'{name} {kpps(self.at(name, load, where))}' for name in names)}"
            for load in self.loads
        )
        return "; ".join(each)


def _under(condition: Condition, *loads: float, kernel: str | None = None) -> Callable[[Tables], _Under | None]:
    """`kernel`: the only one that can tell; None: any. Conditions of the patched kernel are looked up in its table."""

    def evidence(tables: Tables) -> _Under | None:
        table = tables.softirqs if condition in conditions.PATCHED_ONLY else tables.conditions
        if table is None:
            return None
        rows = table.where(lambda r: r.condition in (condition.name, conditions.BASE.name) and kernel in (None, r.kernel))
        cells = {(row.condition, row.scheme, row.load_of_cliff): row.application_pps for row in rows}
        there = tuple(load for load in loads if (condition.name, schemes.HYBRID, load) in cells)
        both = {row.condition for row in rows} == {condition.name, conditions.BASE.name}
        return _Under(cells, condition.name, there) if both and there else None

    return evidence


def _more(a: float, b: float) -> bool:
    """Beyond what counts as level."""
    return a > (1 + LEVEL) * b


def _wins(found: _Under) -> bool:
    rivals = (schemes.DE, schemes.NAPI)
    return all(_more(found.at(schemes.HYBRID, load), max(found.at(one, load) for one in rivals)) for load in found.loads)


def _both(found: _Under) -> str:
    shown = (schemes.HYBRID, schemes.NAPI, schemes.DE)
    return f"in kpps, at {found.told(*shown)}; without the condition, at {found.told(*shown, condition=conditions.BASE.name)}."


def _hybrid_wins(condition: Condition, text: str, *loads: float) -> Claim[Tables, _Under]:
    return Claim(EXPECTED, text, _under(condition, *loads), holds=_wins, yes=_both, no=_both)


def _as_published(found: _Under) -> bool:
    order = (schemes.HYBRID, schemes.DE, schemes.NAPI)
    return all(_more(found.at(a, load), found.at(b, load)) for load in found.loads for a, b in pairwise(order))


def _budgets(found: _Under) -> str:
    shown = (schemes.NAPI_2, schemes.NAPI)
    return f"in kpps, at {found.told(*shown)}; without the condition, at {found.told(*shown, condition=conditions.BASE.name)}."


def _rescues(found: _Under) -> bool:
    return all(found.at(schemes.NAPI, load) > 2 * found.at(schemes.NAPI, load, conditions.BASE.name) for load in found.loads)


# When ksoftirqd runs.

AWAKE = 0.02
"""A share of the time from which on ksoftirqd runs."""
Shares = dict[str, dict[float, float]]
"""What ksoftirqd has of the time under NAPI, by condition and load."""


def _onset(tables: Tables) -> Shares | None:
    if tables.softirqs is None:
        return None
    found: Shares = {}
    for row in tables.softirqs.where(lambda r: r.scheme == schemes.NAPI and r.condition in ONSETS):
        found.setdefault(row.condition, {})[row.load_of_cliff] = row.ksoftirqd_share
    return found if set(found) == set(ONSETS) else None


ONSETS = (conditions.BASE.name, conditions.ROUNDS.name, conditions.OLD_SOFTIRQS.name)


def _awake_from(shares: dict[float, float]) -> float | None:
    return min((load for load, share in shares.items() if share > AWAKE), default=None)


def _told_onset(found: Shares) -> str:
    each = []
    for name, shares in found.items():
        awake = _awake_from(shares)
        told = ", ".join(f"{load:g} times {percent(share)}" for load, share in shares.items())
        each.append(f"{name}: {f'from {awake:g} times the cliff on' if awake else 'it does not run'} ({told})")
    return f"ksoftirqd's share of the time, {'; '.join(each)}."


CLAIMS: tuple[Claim[Tables, Any], ...] = (
    Claim(
        AIM,
        f"On each kernel paced hybrid receives at least what the better of {schemes.DE} and {schemes.NAPI} receives, at every "
        f"load from {LEAST:g} times the cliff on (level: within {percent(LEVEL)}).",
        _paced,
        holds=lambda found: not _behind(found),
        yes=_worst,
        no=lambda found: f"behind on {', '.join(map(_where, _behind(found)))}.",
    ),
    Claim(
        AIM,
        f"On each kernel paced hybrid's median round trip is below {schemes.NAPI}'s, at every load below the echo's cliff.",
        _trips,
        holds=lambda pairs: not _longer(pairs),
        yes=lambda pairs: f"{_told_trips(pairs)}.",
        no=lambda pairs: f"not below it on {_told_trips(_longer(pairs))}.",
    ),
    _hybrid_wins(
        conditions.RULE,
        f"Where ksoftirqd does not hold softirqs back (Linux {conditions.NEW}), hybrid receives more than {schemes.DE} and "
        f"{schemes.NAPI} from {FAR:g} times the cliff on, as in the paper.",
        FAR,
        4.0,
    ),
    _hybrid_wins(
        conditions.BOTH,
        f"With ksoftirqd at nice 19 as well (Linux {conditions.NEW}), it still does.",
        FAR,
        4.0,
    ),
    Claim(
        "Figure 7(a)",
        f"With the softirqs of Linux 2.6.15, hybrid receives more than {schemes.DE}, and {schemes.DE} more than {schemes.NAPI}, "
        f"at {conditions.PAPER_END:g} times the cliff, where the paper's loads end.",
        _under(conditions.OLD_SOFTIRQS, conditions.PAPER_END),
        holds=_as_published,
        yes=_both,
        no=_both,
    ),
    Claim(
        "Figure 6(a)",
        "With the softirqs of Linux 2.6.15, NAPI receives more with a budget of 2 than with 300, from "
        f"{FAR:g} times the cliff on.",
        _under(conditions.OLD_SOFTIRQS, FAR, 4.0),
        holds=lambda found: all(_more(found.at(schemes.NAPI_2, load), found.at(schemes.NAPI, load)) for load in found.loads),
        yes=_budgets,
        no=_budgets,
    ),
    Claim(
        "Figure 6",
        f"With the softirqs of Linux 2.6.15, ksoftirqd is woken from {FAR:g} times the cliff on with a budget of 300.",
        _onset,
        holds=lambda found: _awake_from(found[conditions.OLD_SOFTIRQS.name]) == FAR,
        yes=_told_onset,
        no=_told_onset,
    ),
    Claim(
        EXPECTED,
        f"Where ksoftirqd does hold them back (Linux {conditions.OLD}), nice 19 alone keeps the application alive under "
        f"{schemes.NAPI} at {TWICE:g} times the cliff: it receives more than twice as much.",
        _under(conditions.NICE, TWICE, kernel=conditions.OLD),
        holds=_rescues,
        yes=_both,
        no=_both,
    ),
)
