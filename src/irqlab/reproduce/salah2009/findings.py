# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them; where hybrid loses, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab import units
from irqlab.reproduce.claims import AIM, EXPECTED, Claim, Finding, findings_of
from irqlab.reproduce.salah2009 import causes, comparisons, overload, rows, switching
from irqlab.reproduce.salah2009.cliffs import INTERNAL, RECEIVES, CostRow
from irqlab.reproduce.salah2009.loads import EchoingRow, ReceivingRow
from irqlab.reproduce.salah2009.overload import OverloadRow, StarvationRow
from irqlab.reproduce.salah2009.points import EQUAL, NO_CPU, curve_of, echoes, of_cliff, ours, paper
from irqlab.reproduce.salah2009.switching import EstimateRow, OverTimeRow, SettlingRow, SwitchRow
from irqlab.reproduce.salah2009.tables import Tables
from irqlab.units import duration, kpps, percent

OVERLOADS = (2.0, 4.0)
"""Of the cliff: where schemes are compared."""
TODAY_LOAD = 2.0
AGREE = 0.15
"""How close the two ways to the cliff, and its signs, are to be."""
STARVED = 0.05
"""An application that receives less than this share of what NAPI gives it starves."""
ESTIMATE_GOOD = 0.03
SETTLED_WINDOWS = 2
SETTLED_STEP_WINDOWS = 3
"""One in which the load changes, and two that differ from the average (drivers/irqmod/estimator.h)."""
NO_INTERRUPTS = 0.01
"""Interrupts a frame that count as none."""
NO_SWITCHES = 1.0
"""A second: so few more make no difference."""
WORSE, LATER = 0.02, 0.05
"""What adaptive may be behind the best: in throughput, and in p99."""
HALF = 0.5


def findings(tables: Tables) -> list[Finding]:
    """In the paper's order; then today's schemes."""
    return findings_of(CLAIMS, tables)


# Section 4.2: the cliff.


@dataclass(frozen=True)
class _Cliff:
    signs: Mapping[str, float | None]
    """From outside, in frames/s."""
    chosen: float
    internal: float
    costs: CostRow

    @property
    def told(self) -> str:
        return ", ".join(f"{name} {kpps(pps)}" for name, pps in self.signs.items())

    @property
    def off(self) -> float:
        return self.internal / self.chosen - 1


def _cliff(tables: Tables) -> _Cliff:
    found = tables.cliff.where(lambda r: r.application == RECEIVES)
    signs = {row.found: row.cliff_pps for row in found}
    chosen = next(row.cliff_pps for row in found if row.chosen)
    return _Cliff(
        {name: pps for name, pps in signs.items() if name != INTERNAL},
        chosen or 0.0,
        signs[INTERNAL] or 0.0,
        tables.cliff_costs.rows[0],
    )


def _coincide(found: _Cliff) -> bool:
    return all(pps is not None and abs(pps / found.chosen - 1) <= AGREE for pps in found.signs.values())


def _closed_form(found: _Cliff) -> str:
    side = "above" if found.off > 0 else "below"
    return (
        f"{kpps(found.internal)} kpps, {percent(abs(found.off))} {side} the cliff from outside ({kpps(found.chosen)}). The "
        f"closed form has a packet cost at every load what it costs at {kpps(found.costs.rate_pps)} kpps "
        f"({found.costs.interrupts_per_packet:.2f} interrupts a packet)."
    )


_CLIFF: tuple[Claim[Tables, _Cliff], ...] = (
    Claim(
        "Section 4.2",
        "The signs of the cliff coincide: no CPU left, throughput that no longer follows the load, loss.",
        _cliff,
        holds=_coincide,
        yes=lambda found: f"in kpps: {found.told}.",
        no=lambda found: f"in kpps: {found.told}. The CPU's sign is used, as in the paper.",
    ),
    Claim(
        "Section 4.2",
        "The closed form, fed with the costs of an interrupt and a packet, gives the cliff that is found from outside.",
        _cliff,
        holds=lambda found: abs(found.off) <= AGREE,
        yes=_closed_form,
        no=_closed_form,
    ),
)


# Starvation.


@dataclass(frozen=True)
class _Starving:
    row: StarvationRow
    napi: StarvationRow
    shares: Sequence[OverloadRow]
    """Of the scheme, under overload."""

    @property
    def starved(self) -> bool:
        return self.row.application_pps < STARVED * self.napi.application_pps

    @property
    def told(self) -> str:
        row = self.row
        text = (
            f"over {row.window_s:g} s at {overload.LONG_LOAD:g} times the cliff the application receives "
            f"{kpps(row.application_pps)} of {kpps(row.offered_pps)} kpps ({rows.NAPI}: {kpps(self.napi.application_pps)})."
        )
        for one in self.shares:
            text += (
                f" At {one.load_of_cliff:g} times the cliff softirqs take {percent(one.softirq)} of the instructions, interrupts "
                f"{percent(one.hardirq)}, processes {percent(one.process_kernel + one.user)}."
            )
        return text


def _starving(scheme: str) -> Callable[[Tables], _Starving | None]:
    def evidence(tables: Tables) -> _Starving | None:
        by = {row.scheme: row for row in tables.starvation}
        if not {scheme, rows.NAPI} <= set(by):
            return None
        return _Starving(by[scheme], by[rows.NAPI], tables.overload.where(lambda r: r.scheme == scheme))

    return evidence


def _starves(source: str, text: str, scheme: str, starves: bool) -> Claim[Tables, _Starving]:
    return Claim(
        source,
        text,
        _starving(scheme),
        holds=lambda found: found.starved == starves,
        yes=lambda found: found.told,
        no=lambda found: found.told,
    )


# Figure 7(a): throughput.


@dataclass(frozen=True)
class _Overloaded:
    load: float
    hybrid: ReceivingRow
    other: ReceivingRow
    profiles: Mapping[str, OverloadRow]
    """By scheme, at this load."""

    @property
    def told(self) -> str:
        return f"hybrid {kpps(self.hybrid.application_pps)} kpps, {self.other.scheme} {kpps(self.other.application_pps)}."

    @property
    def why(self) -> str:
        """Why hybrid is behind."""
        if not {rows.HYBRID, rows.NAPI} <= set(self.profiles):
            return ""
        mine, napi = self.profiles[rows.HYBRID], self.profiles[rows.NAPI]
        if self.hybrid.interrupts_per_s > self.hybrid.offered_pps / 2:
            own = units.grouped(self.hybrid.interrupts_per_s)
            return (
                f" Nearly every frame still has an interrupt of its own ({own} a second). So no poll finds more than its budget, "
                f"ksoftirqd is not woken, and softirqs ({percent(mine.softirq)} of the instructions) and interrupts "
                f"({percent(mine.hardirq)}) go before the application, under hybrid as under {rows.NAPI}."
            )
        return (
            f" A budget of {rows.HYBRID_BUDGET} makes a run of every {rows.HYBRID_BUDGET} frames: hybrid takes "
            f"{kpps(mine.taken_pps)} kpps off the ring with {percent(mine.softirq)} of the instructions in softirqs, {rows.NAPI} "
            f"{kpps(napi.taken_pps)} with {percent(napi.softirq)}."
        )


def _hybrid_against(other: str, load: float) -> Claim[Tables, _Overloaded]:
    def evidence(tables: Tables) -> _Overloaded | None:
        by = {row.scheme: row for row in ours(tables) if row.load_of_cliff == load and not row.setting}
        profiles = {row.scheme: row for row in tables.overload if row.load_of_cliff == load}
        return _Overloaded(load, by[rows.HYBRID], by[other], profiles) if {rows.HYBRID, other} <= set(by) else None

    return Claim(
        "Figure 7(a)",
        f"At {load:g} times the cliff hybrid gives the application at least what {other} gives it.",
        evidence,
        holds=lambda found: found.hybrid.application_pps >= (1 - EQUAL) * found.other.application_pps,
        yes=lambda found: found.told,
        no=lambda found: f"{found.told}{found.why}",
    )


# Figure 7(c), (d): round trips.

Pairs = list[tuple[float, int, int]]
"""Share of the echo's cliff; round trips in ns of hybrid and of NAPI."""


def _trips(tables: Tables, of: Callable[[EchoingRow], int | None]) -> Pairs | None:
    """Below the cliff of the echo: round trips of a DUT with time to spare."""
    by = {(row.load_of_echo_cliff, row.scheme): of(row) for row in echoes(tables) if not row.setting}
    pairs = []
    for load in sorted({load for load, _ in by if load is not None and load < 1}):
        hybrid, napi = by.get((load, rows.HYBRID)), by.get((load, rows.NAPI))
        if hybrid is not None and napi is not None:
            pairs.append((load, hybrid, napi))
    return pairs or None


def _against(pairs: Pairs) -> str:
    told = (f"{100 * load:.0f} % {duration(hybrid)} ({duration(napi)})" for load, hybrid, napi in pairs)
    return f"at a share of the echo's cliff, hybrid ({rows.NAPI}): {', '.join(told)}."


def _longer(pairs: Pairs) -> Pairs:
    return [(load, hybrid, napi) for load, hybrid, napi in pairs if hybrid > (1 + EQUAL) * napi]


def _round_trip(source: str, name: str, of: Callable[[EchoingRow], int | None]) -> Claim[Tables, Pairs]:
    return Claim(
        source,
        f"Below the cliff hybrid's round trip ({name}) is at most {rows.NAPI}'s (within {percent(EQUAL)}).",
        lambda tables: _trips(tables, of),
        holds=lambda pairs: not _longer(pairs),
        yes=_against,
        no=lambda pairs: f"longer {_against(_longer(pairs))}",
    )


# Adaptive: ours.


@dataclass(frozen=True)
class Behind:
    """Where adaptive is beside the best scheme."""

    load: float
    adaptive: float
    best: float
    name: str
    """The best one's."""


def _throughputs(tables: Tables) -> list[Behind] | None:
    found = []
    for load in dict.fromkeys(row.load_of_cliff for row in ours(tables)):
        by = {row.name: row.application_pps for row in ours(tables) if row.load_of_cliff == load}
        if rows.ADAPTIVE in by:
            best = max(by, key=lambda name: by[name])
            found.append(Behind(load, by[rows.ADAPTIVE], by[best], best))
    return found or None


def _p99s(tables: Tables) -> list[Behind] | None:
    found = []
    below = [row for row in echoes(tables) if row.load_of_echo_cliff is not None and row.load_of_echo_cliff < 1]
    for load in sorted({row.load_of_echo_cliff or 0.0 for row in below}):
        by = {row.name: row.p99_ns for row in below if row.load_of_echo_cliff == load and row.p99_ns is not None}
        if rows.ADAPTIVE in by:
            best = min(by, key=lambda name: by[name])
            found.append(Behind(load, by[rows.ADAPTIVE], by[best], best))
    return found or None


def _slower(found: list[Behind]) -> list[Behind]:
    return [one for one in found if one.adaptive < (1 - WORSE) * one.best]


def _later(found: list[Behind]) -> list[Behind]:
    return [one for one in found if one.adaptive > (1 + LATER) * one.best]


def _told_slower(found: list[Behind]) -> str:
    told = (f"{one.load:g} times the cliff ({kpps(one.adaptive)} against {kpps(one.best)} kpps, {one.name})" for one in found)
    return ", ".join(told)


def _told_later(found: list[Behind]) -> str:
    told = (f"{100 * one.load:.0f} % ({duration(one.adaptive)} against {duration(one.best)}, {one.name})" for one in found)
    return f"{', '.join(told)} of the echo's cliff"


_ADAPTIVE: tuple[Claim[Tables, list[Behind]], ...] = (
    Claim(
        AIM,
        f"At every load adaptive receives within {percent(WORSE)} of what the best scheme receives.",
        _throughputs,
        holds=lambda found: not _slower(found),
        yes=lambda found: f"at worst at {_told_slower([min(found, key=lambda one: one.adaptive / one.best)])}.",
        no=lambda found: f"behind at {_told_slower(_slower(found))}.",
    ),
    Claim(
        AIM,
        f"Below the cliff adaptive's p99 round trip is within {percent(LATER)} of the shortest.",
        _p99s,
        holds=lambda found: not _later(found),
        yes=lambda found: f"at worst at {_told_later([max(found, key=lambda one: one.adaptive / one.best)])}.",
        no=lambda found: f"later at {_told_later(_later(found))}.",
    ),
)


# Figure 7(e), (f): interrupts and CPU.

Curves = dict[str, list[ReceivingRow]]
"""By scheme; the lowest load first."""


def _paper_schemes(tables: Tables, *schemes: str) -> Curves | None:
    curves = {scheme: curve_of(tables, scheme) for scheme in schemes}
    return curves if all(curves.values()) else None


def _turn(curve: Sequence[ReceivingRow]) -> float | None:
    """The highest load with one interrupt a frame."""
    linear = [row.load_of_cliff for row in curve if abs(row.interrupts_per_s / row.offered_pps - 1) <= EQUAL]
    return linear[-1] if linear else None


def _turns_with(curve: Sequence[ReceivingRow], load: float) -> bool:
    """Whether that is the highest load measured up to `load`."""
    return _turn(curve) == max((row.load_of_cliff for row in curve if row.load_of_cliff <= load), default=None)


def _told_turns(curves: Curves) -> str:
    told = []
    for scheme, curve in curves.items():
        turn, last = _turn(curve), curve[-1]
        until = f"one a frame up to {turn:g} times the cliff" if turn else "fewer than one a frame at every load"
        told.append(f"{scheme}: {until}, {units.grouped(last.interrupts_per_s)} a second at {last.load_of_cliff:g} times")
    return f"{'; '.join(told)}."


def _gone_from(curve: Sequence[ReceivingRow]) -> ReceivingRow | None:
    """The load from which on there are no interrupts."""
    some = [row for row in curve if row.interrupts_per_s > NO_INTERRUPTS * row.offered_pps]
    after = curve[len(some) :]
    return after[0] if after and some == list(curve[: len(some)]) else None


def _gone_as_published(curve: Sequence[ReceivingRow]) -> bool:
    gone, load = _gone_from(curve), of_cliff("hybrid_interrupts_fall_to_zero_at")
    return gone is not None and gone.load_of_cliff <= min(
        (r.load_of_cliff for r in curve if r.load_of_cliff >= load), default=0.0
    )


def _told_gone(curve: Sequence[ReceivingRow]) -> str:
    gone = _gone_from(curve)
    if gone is None:
        last = curve[-1]
        return f"at {last.load_of_cliff:g} times the cliff there are {last.interrupts_per_s / last.offered_pps:.2f} a frame."
    text = f"they are at most {percent(NO_INTERRUPTS)} of the frames from {gone.load_of_cliff:g} times the cliff on."
    before = [row for row in curve if row.load_of_cliff < gone.load_of_cliff]
    if before and before[-1].load_of_cliff > 1 + paper("epsilon"):
        last = before[-1]
        text += (
            f" Below that NAPI interrupts: at {last.load_of_cliff:g} times a poll finds the ring empty behind the frames it "
            f"takes, and unmasks ({last.interrupts_per_s / last.offered_pps:.2f} interrupts a frame)."
        )
    return text


def _cpu_gone(curve: Sequence[ReceivingRow]) -> float | None:
    """The lowest load at which nothing is left of the CPU."""
    return next((row.load_of_cliff for row in curve if row.cpu_available <= NO_CPU), None)


def _cpu_gone_as_published(curve: Sequence[ReceivingRow]) -> bool:
    load = of_cliff("cpu_availability_reaches_zero_at")
    return _cpu_gone(curve) == min((row.load_of_cliff for row in curve if row.load_of_cliff >= load), default=None)


def _told_cpu_gone(curves: Curves) -> str:
    told = [
        f"{scheme} from {gone:g} times on" if (gone := _cpu_gone(curve)) else f"{scheme} never"
        for scheme, curve in curves.items()
    ]
    return f"nothing is left under {', '.join(told)}."


CpuLeft = dict[str, float]
"""Share of the CPU by scheme."""


def _cpu_left(tables: Tables) -> CpuLeft | None:
    left = {row.name: row.cpu_available for row in ours(tables) if row.load_of_cliff == HALF}
    return left if {rows.HYBRID, rows.DE} <= set(left) else None


def _told_cpu_left(left: CpuLeft) -> str:
    most = max(left, key=lambda name: left[name])
    both = f"hybrid leaves {percent(left[rows.HYBRID])}, {rows.DE} {percent(left[rows.DE])}"
    return f"{both}; most is left by {most}, {percent(left[most])}."


_INTERRUPTS: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Figure 7(e)",
        f"The interrupt rate follows the load up to {of_cliff('interrupt_rate_turns_at'):g} times the cliff, then turns.",
        lambda tables: _paper_schemes(tables, rows.DE, rows.NAPI, rows.HYBRID),
        holds=lambda curves: all(_turns_with(curve, of_cliff("interrupt_rate_turns_at")) for curve in curves.values()),
        yes=_told_turns,
        no=_told_turns,
    ),
    Claim(
        "Figure 7(e)",
        f"Hybrid's interrupts fall to zero at {of_cliff('hybrid_interrupts_fall_to_zero_at'):g} times the cliff.",
        lambda tables: curve_of(tables, rows.HYBRID) or None,
        holds=_gone_as_published,
        yes=_told_gone,
        no=_told_gone,
    ),
    Claim(
        "Figure 7(f)",
        f"Nothing is left of the CPU from {of_cliff('cpu_availability_reaches_zero_at'):g} times the cliff on.",
        lambda tables: _paper_schemes(tables, rows.DE, rows.NAPI, rows.HYBRID),
        holds=lambda curves: all(map(_cpu_gone_as_published, curves.values())),
        yes=_told_cpu_gone,
        no=_told_cpu_gone,
    ),
    Claim(
        "Figure 7(f)",
        "Hybrid is disable-enable below the cliff, and leaves as much of the CPU (at half the cliff).",
        _cpu_left,
        holds=lambda left: left[rows.HYBRID] >= (1 - EQUAL) * left[rows.DE],
        yes=_told_cpu_left,
        no=_told_cpu_left,
    ),
)


# Figure 6: the budget.

Budgets = dict[str, ReceivingRow]
"""By scheme."""


def _budget(load: float) -> Claim[Tables, Budgets]:
    def told(by: Budgets) -> str:
        each = ", ".join(f"{scheme} {kpps(row.application_pps)}" for scheme, row in by.items())
        return f"in kpps: {each}."

    def evidence(tables: Tables) -> Budgets | None:
        by = {row.scheme: row for row in tables.budget if row.load_of_cliff == load}
        return by if {rows.NAPI, rows.NAPI_2} <= set(by) else None

    return Claim(
        "Figure 6(a)",
        f"At {load:g} times the cliff the application receives more with a budget of {paper('hybrid_budget'):g} than with "
        f"{paper('default_budget'):g}.",
        evidence,
        holds=lambda by: by[rows.NAPI_2].application_pps > (1 + EQUAL) * by[rows.NAPI].application_pps,
        yes=told,
        no=told,
    )


def _awake(curve: Sequence[ReceivingRow]) -> float | None:
    """The lowest load at which ksoftirqd runs."""
    return next((row.load_of_cliff for row in curve if row.ksoftirqd_share > EQUAL), None)


def _awake_as_published(curve: Sequence[ReceivingRow]) -> bool:
    load = of_cliff("ksoftirqd_awakened_at_budget_300")
    return _awake(curve) == min((row.load_of_cliff for row in curve if row.load_of_cliff >= load), default=0.0)


def _told_awake(curve: Sequence[ReceivingRow]) -> str:
    awake = _awake(curve)
    if awake is None:
        return f"it does not run up to {curve[-1].load_of_cliff:g} times the cliff."
    return f"it runs from {awake:g} times the cliff on."


_KSOFTIRQD: Claim[Tables, list[ReceivingRow]] = Claim(
    "Figure 6",
    f"With a budget of {paper('default_budget'):g} ksoftirqd is woken from {of_cliff('ksoftirqd_awakened_at_budget_300'):g} "
    "times the cliff on.",
    lambda tables: curve_of(tables, rows.NAPI) or None,
    holds=_awake_as_published,
    yes=_told_awake,
    no=_told_awake,
)


# Hybrid's switching.

Switches = dict[float, float]
"""A second, by epsilon."""
ARRIVALS = {"constant": "constant arrivals", "poisson": "Poisson arrivals", "bursts": "bursts"}


def _switching(arrivals: str) -> Claim[Tables, Switches]:
    def evidence(tables: Tables) -> Switches | None:
        found: list[SwitchRow] = [row for row in tables.switches if row.arrivals == arrivals]
        return {row.epsilon: row.switches_per_s for row in found if row.switches_per_s is not None} or None

    def fewest(by: Switches) -> list[float]:
        return [epsilon for epsilon, count in by.items() if count <= min(by.values()) + NO_SWITCHES]

    def told(by: Switches) -> str:
        each = ", ".join(f"{count:.1f} a second at {epsilon:g}" for epsilon, count in by.items())
        return f"{each}; fewest at e = {', '.join(f'{epsilon:g}' for epsilon in fewest(by))}."

    return Claim(
        "Text",
        f"At the cliff hybrid switches least with e = {paper('epsilon'):g} ({ARRIVALS[arrivals]}).",
        evidence,
        holds=lambda by: paper("epsilon") in fewest(by),
        yes=told,
        no=told,
    )


Steps = tuple[SettlingRow, ...]


def _late(found: Steps) -> Steps:
    return tuple(row for row in found if row.windows is None or row.windows > SETTLED_WINDOWS)


def _settled(found: Steps) -> str:
    told = (f"to {row.step_of_cliff:g} times the cliff {row.windows or f'more than {max(switching.WINDOWS)}'}" for row in found)
    return f"windows after a step from nothing: {', '.join(told)}."


Estimates = tuple[EstimateRow, ...]


def _estimated(found: Estimates) -> str:
    worst = max(found, key=lambda row: abs(row.error))
    refused = max(row.missed_pps / row.offered_pps for row in found)
    return (
        f"{percent(abs(worst.error))} at worst between {kpps(found[0].offered_pps)} and {kpps(found[-1].offered_pps)} kpps, "
        f"though the NIC refuses up to {percent(refused)} of the frames."
    )


def _misestimated(found: Estimates) -> str:
    off = (row for row in found if abs(row.error) > ESTIMATE_GOOD)
    return f"off at {', '.join(f'{row.load_of_cliff:.2g} times the cliff ({100 * row.error:+.0f} %)' for row in off)}."


OverTime = tuple[OverTimeRow, ...]
"""Of a step down, from SETTLED_STEP_WINDOWS windows after it on."""


def _after_step(tables: Tables) -> OverTime | None:
    from_ms = (switching.STEP_NS + SETTLED_STEP_WINDOWS * switching.WINDOW_NS) / 1e6
    return tables.over_time.where(lambda r: r.pattern == switching.STEP_DOWN and r.at_ms >= from_ms) or None


def _told_step(found: OverTime) -> str:
    worst = max(found, key=lambda row: abs(row.error))
    return f"at worst {100 * worst.error:+.1f} %, {worst.at_ms - switching.STEP_NS / 1e6:.0f} ms after the step."


_SWITCHING: tuple[Claim[Tables, Any], ...] = (
    *(_switching(arrivals) for arrivals in switching.ARRIVALS),
    Claim(
        EXPECTED,
        f"Hybrid switches within {SETTLED_WINDOWS} windows of {paper('rate_window'):g} ms after every step of the load.",
        lambda tables: tables.settling.rows or None,
        holds=lambda found: not _late(found),
        yes=_settled,
        no=_settled,
    ),
    Claim(
        EXPECTED,
        f"Hybrid's estimate of the rate is within {percent(ESTIMATE_GOOD)} of what is offered, at every load.",
        lambda tables: tables.estimator.rows or None,
        holds=lambda found: all(abs(row.error) <= ESTIMATE_GOOD for row in found),
        yes=_estimated,
        no=_misestimated,
    ),
    Claim(
        EXPECTED,
        f"From {SETTLED_STEP_WINDOWS} windows after a step of the load from {switching.HIGH:g} times the cliff down to "
        f"{switching.LOW:g}, the estimate is within {percent(ESTIMATE_GOOD)}.",
        _after_step,
        holds=lambda found: all(abs(row.error) <= ESTIMATE_GOOD for row in found),
        yes=_told_step,
        no=_told_step,
    ),
)


# Today's schemes.

Today = dict[str, tuple[ReceivingRow, ReceivingRow]]
"""By driver: NAPI, and the best of today's other schemes."""


def _today(tables: Tables) -> Today | None:
    found = {}
    for driver, every in tables.application.by(lambda r: r.driver).items():
        at = [row for row in every if row.load_of_cliff == TODAY_LOAD]
        napi = [row for row in at if row.scheme == rows.NAPI]
        others = [row for row in at if row.scheme in rows.TODAYS]
        if napi and others:
            found[driver] = (napi[0], max(others, key=lambda row: row.application_pps))
    return found or None


def _told_today(found: Today) -> str:
    told = (
        f"{driver}: {best.name} {kpps(best.application_pps)} kpps, {napi.name} {kpps(napi.application_pps)}"
        for driver, (napi, best) in found.items()
    )
    return f"{'; '.join(told)}."


CLAIMS: tuple[Claim[Tables, Any], ...] = (
    *_CLIFF,
    _starves("Figure 7(a)", f"Under {rows.DE} an overloaded application starves.", rows.DE, True),
    _starves("Figure 7(a)", "Under hybrid an overloaded application does not starve.", rows.HYBRID, False),
    _starves(AIM, "Under adaptive an overloaded application does not starve.", rows.ADAPTIVE, False),
    *(_hybrid_against(other, load) for load in OVERLOADS for other in (rows.DE, rows.NAPI)),
    comparisons.DE_AGAINST_NAPI,
    _round_trip("Figure 7(c), (d)", "median", lambda row: row.p50_ns),
    _round_trip(EXPECTED, "p99", lambda row: row.p99_ns),
    *comparisons.ROUND_TRIPS,
    *_INTERRUPTS,
    *comparisons.INTERRUPTS,
    *comparisons.CPU,
    *comparisons.PINGS,
    *(_budget(load) for load in OVERLOADS),
    *comparisons.FIGURE_6,
    _KSOFTIRQD,
    *_SWITCHING,
    *_ADAPTIVE,
    Claim(
        EXPECTED,
        f"At {TODAY_LOAD:g} times the cliff today's kernel has a setting that gives the application more than NAPI's default.",
        _today,
        holds=lambda found: all(best.application_pps > (1 + EQUAL) * napi.application_pps for napi, best in found.values()),
        yes=_told_today,
        no=_told_today,
    ),
    *causes.CLAIMS,
)
