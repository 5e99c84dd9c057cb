# SPDX-License-Identifier: GPL-2.0-or-later
"""Where improved hybrid stands on each kernel, and what each condition changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from irqlab.reproduce.claims import AIM, EXPECTED, Claim, Test, Told, judged
from irqlab.reproduce.hybrid import conditions, schemes
from irqlab.reproduce.hybrid.conditions import Condition
from irqlab.reproduce.hybrid.measure import Tables, ThroughputRow
from irqlab.units import duration, kpps, percent

LEVEL = 0.01
"""Behind by no more than this share counts as level."""
LEAST = 0.5
"""Of the cliff: the lowest load at which throughput is compared."""
FAR = 3.0
"""Of the cliff: from here on polls find more than their budget."""
TWICE = 2.0
TOLD = 1.5
"""Of the cliff: below that all schemes receive everything."""
AWAKE = 0.02
"""A share of the time from which on ksoftirqd runs."""
BEYOND = f"Beyond the paper's loads, which end at {conditions.PAPER_END:g} times the cliff:"
OVERLOADS = f"{' and '.join(f'{load:g}' for load in conditions.OVERLOADS)} times the cliff"
MORE = f"by more than {percent(LEVEL)} at each of these loads, at which the paper's schemes lose frames"
ONSETS = (conditions.BASE.name, conditions.ROUNDS.name, conditions.OLD_SOFTIRQS.name)


# Improved hybrid, on every kernel.


def _receives_most(tables: Tables) -> Told | None:
    found = tables.throughput.where(lambda r: r.scheme == schemes.PACED and r.load_of_cliff >= LEAST)
    if not found:
        return None

    def told(r: ThroughputRow) -> str:
        return f"Linux {r.kernel} at {r.load_of_cliff:g} times the cliff ({kpps(r.application_pps)} kpps, {r.to_best:.2f} of it)"

    behind = [row for row in found if row.to_best < 1 - LEVEL]
    worst = min(found, key=lambda row: row.to_best)
    return not behind, f"behind on {', '.join(map(told, behind))}." if behind else f"at worst on {told(worst)}."


def _shorter(tables: Tables) -> Told | None:
    """Of paced hybrid and of NAPI at each load of each kernel."""
    by = {(row.kernel, row.load_of_echo_cliff, row.scheme): row for row in tables.latency if row.p50_ns is not None}
    pairs = [
        (row, by[kernel, load, schemes.NAPI])
        for (kernel, load, scheme), row in by.items()
        if scheme == schemes.PACED and (kernel, load, schemes.NAPI) in by
    ]
    if not pairs:
        return None
    worst, napi = max(pairs, key=lambda pair: (pair[0].p50_ns or 0) / (pair[1].p50_ns or 1))
    text = (
        f"at worst on Linux {worst.kernel} at {100 * worst.load_of_echo_cliff:.0f} % {duration(worst.p50_ns or 0)} "
        f"({duration(napi.p50_ns or 0)}), of {len(pairs)} loads."
    )
    return (worst.p50_ns or 0) < (napi.p50_ns or 0), text


# Conditions.


@dataclass(frozen=True)
class _Under:
    cells: dict[tuple[str, str, float], float]
    """What is received, in frames/s, by condition, scheme and load."""
    condition: str

    def at(self, scheme: str, load: float, condition: str | None = None) -> float:
        return self.cells[condition or self.condition, scheme, load]

    def more(self, load: float, *order: str) -> bool:
        """Whether each scheme receives more than the next, beyond what counts as level."""
        return all(self.at(a, load) > (1 + LEVEL) * self.at(b, load) for a, b in pairwise(order))

    def told(self, names: Sequence[str], condition: str | None = None) -> str:
        """At every load that was measured, from TOLD on."""
        loads = sorted({load for name, _, load in self.cells if name == (condition or self.condition) and load >= TOLD})
        each = []
        for load in loads:
            received = ", ".join(f"{name} {kpps(self.at(name, load, condition))}" for name in names)
            each.append(f"{load:g} times {received}")
        return "; ".join(each)


def _under(
    condition: Condition,
    loads: Sequence[float],
    holds: Callable[[_Under, float], bool],
    shown: Sequence[str] = (schemes.HYBRID, schemes.NAPI, schemes.DE),
    kernel: str | None = None,
) -> Test[Tables]:
    """Whether something holds at each of the loads. `shown`: the schemes that are told, at every load.

    `kernel`: the only one that can tell, against the same without the condition. Conditions of the patched kernel are looked up
    in its table.
    """

    def told(tables: Tables) -> Told | None:
        table = tables.softirqs if condition in conditions.PATCHED_ONLY else tables.conditions
        if table is None:
            return None
        base = conditions.BASE.name
        rows = table.where(lambda r: r.condition in (condition.name, base) and kernel in (None, r.kernel))
        cells = {(row.condition, row.scheme, row.load_of_cliff): row.application_pps for row in rows}
        there = tuple(load for load in loads if (condition.name, schemes.HYBRID, load) in cells)
        if not there or {row.condition for row in rows} != {condition.name, base}:
            return None
        found = _Under(cells, condition.name)
        held = all(holds(found, load) for load in there)
        text = f"in kpps, by load in multiples of the cliff: {found.told(shown)}."
        return held, f"{text} Without the condition: {found.told(shown, base)}." if kernel else text

    return told


def _wins(found: _Under, load: float) -> bool:
    return found.more(load, schemes.HYBRID, schemes.DE) and found.more(load, schemes.HYBRID, schemes.NAPI)


# When ksoftirqd runs.

Shares = dict[str, dict[float, float]]
"""What ksoftirqd has of the time under NAPI, by condition and load."""


def _onset(tables: Tables) -> Shares | None:
    found: Shares = {}
    for row in tables.softirqs or ():
        if row.scheme == schemes.NAPI and row.condition in ONSETS:
            found.setdefault(row.condition, {})[row.load_of_cliff] = row.ksoftirqd_share
    return found if set(found) == set(ONSETS) else None


def _awake_from(shares: dict[float, float]) -> float | None:
    return min((load for load, share in shares.items() if share > AWAKE), default=None)


def _told_onset(found: Shares) -> str:
    each = []
    for name, shares in found.items():
        awake = _awake_from(shares)
        told = ", ".join(f"{load:g} times {percent(share)}" for load, share in shares.items())
        each.append(f"{name}: {f'from {awake:g} times the cliff on' if awake else 'it does not run'} ({told})")
    return f"ksoftirqd's share of the time, {'; '.join(each)}."


CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(
        AIM,
        f"On each kernel paced hybrid receives at least what the better of {schemes.DE} and {schemes.NAPI} receives, at every "
        f"load from {LEAST:g} times the cliff on (level: within {percent(LEVEL)}).",
        _receives_most,
    ),
    Claim(
        AIM,
        f"On each kernel paced hybrid's median round trip is below {schemes.NAPI}'s, at every load below the echo's cliff.",
        _shorter,
    ),
    Claim(
        EXPECTED,
        f"{BEYOND} where ksoftirqd does not hold softirqs back (Linux {conditions.NEW}), hybrid receives more than {schemes.DE} "
        f"and {schemes.NAPI} from {FAR:g} times the cliff on.",
        _under(conditions.RULE, (FAR, 4.0), _wins),
    ),
    Claim(
        EXPECTED,
        f"{BEYOND} with ksoftirqd at nice 19 as well (Linux {conditions.NEW}), it still does.",
        _under(conditions.BOTH, (FAR, 4.0), _wins),
    ),
    Claim(
        "Figure 7(a)",
        f"On Linux {conditions.OLD} hybrid receives more than {schemes.DE} and {schemes.NAPI} at {OVERLOADS}.",
        _under(conditions.BASE, conditions.OVERLOADS, _wins),
        MORE,
    ),
    Claim(
        "Figure 7(a)",
        f"With the softirqs of Linux 2.6.15 hybrid receives more than {schemes.DE} and {schemes.NAPI} at {OVERLOADS}.",
        _under(conditions.OLD_SOFTIRQS, conditions.OVERLOADS, _wins),
        MORE,
    ),
    Claim(
        "Figure 7(a)",
        f"With the softirqs of Linux 2.6.15 {schemes.DE} receives more than {schemes.NAPI} at {OVERLOADS}.",
        _under(
            conditions.OLD_SOFTIRQS,
            conditions.OVERLOADS,
            lambda found, load: found.more(load, schemes.DE, schemes.NAPI),
            (schemes.DE, schemes.NAPI),
        ),
        MORE,
    ),
    Claim(
        "Figure 6(a)",
        f"With the softirqs of Linux 2.6.15 NAPI receives more with a budget of 2 than with 300 at {OVERLOADS}.",
        _under(
            conditions.OLD_SOFTIRQS,
            conditions.OVERLOADS,
            lambda found, load: found.more(load, schemes.NAPI_2, schemes.NAPI),
            (schemes.NAPI_2, schemes.NAPI),
        ),
        MORE,
    ),
    Claim(
        "Figure 6",
        f"With the softirqs of Linux 2.6.15, ksoftirqd is woken from {FAR:g} times the cliff on with a budget of 300.",
        judged(_onset, lambda found: _awake_from(found[conditions.OLD_SOFTIRQS.name]) == FAR, _told_onset),
        f"from the first load measured there on; it runs if it has more than {percent(AWAKE)} of the time",
    ),
    Claim(
        EXPECTED,
        f"Where ksoftirqd does hold them back (Linux {conditions.OLD}), nice 19 alone keeps the application alive under "
        f"{schemes.NAPI} at {TWICE:g} times the cliff: it receives more than twice as much.",
        _under(
            conditions.NICE,
            (TWICE,),
            lambda found, load: found.at(schemes.NAPI, load) > 2 * found.at(schemes.NAPI, load, conditions.BASE.name),
            kernel=conditions.OLD,
        ),
    ),
)
