# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them; where hybrid loses, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from irqlab import units
from irqlab.reproduce.claims import AIM, EXPECTED, Claim, Test, Told, judged
from irqlab.reproduce.salah2009 import causes, comparisons, overload, rows, switching
from irqlab.reproduce.salah2009.cliffs import INTERNAL, RECEIVES
from irqlab.reproduce.salah2009.loads import EchoingRow, ReceivingRow
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.reproduce.salah2009.overload import OverloadRow
from irqlab.reproduce.salah2009.points import EQUAL, NO_CPU, Curves, curve_of, curves_of, echoes, of_cliff, ours, paper
from irqlab.reproduce.salah2009.switching import EstimateRow
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
ARRIVALS = {"constant": "constant arrivals", "poisson": "Poisson arrivals", "bursts": "bursts"}


# Section 4.2: the cliff.


def _cliffs(tables: Tables) -> tuple[Mapping[str, float | None], float]:
    """Of the receiving application by each sign and from inside, and the chosen one, in frames/s."""
    found = tables.cliff.where(lambda r: r.application == RECEIVES)
    return {row.found: row.cliff_pps for row in found}, next(row.cliff_pps for row in found if row.chosen) or 0.0


def _coincide(tables: Tables) -> Told:
    cliffs, chosen = _cliffs(tables)
    signs = {name: pps for name, pps in cliffs.items() if name != INTERNAL}
    held = all(pps is not None and abs(pps / chosen - 1) <= AGREE for pps in signs.values())
    told = ", ".join(f"{name} {kpps(pps)}" for name, pps in signs.items())
    return held, f"in kpps: {told}." + ("" if held else " The CPU's sign is used, as in the paper.")


def _closed_form(tables: Tables) -> Told:
    cliffs, chosen = _cliffs(tables)
    inside, costs = cliffs[INTERNAL] or 0.0, tables.cliff_costs.rows[0]
    off = inside / chosen - 1
    return abs(off) <= AGREE, (
        f"{kpps(inside)} kpps, {percent(abs(off))} {'above' if off > 0 else 'below'} the cliff from outside ({kpps(chosen)}). "
        f"The closed form has a packet cost at every load what it costs at {kpps(costs.rate_pps)} kpps "
        f"({costs.interrupts_per_packet:.2f} interrupts a packet)."
    )


# Starvation.


def _starves(scheme: str, starves: bool) -> Test[Tables]:
    """Whether the application starves under a scheme, or does not."""

    def told(tables: Tables) -> Told | None:
        by = tables.starvation.keyed(lambda row: row.scheme, scheme, rows.NAPI)
        if not by:
            return None
        row, napi = by[scheme], by[rows.NAPI]
        text = (
            f"over {row.window_s:g} s at {overload.LONG_LOAD:g} times the cliff the application receives "
            f"{kpps(row.application_pps)} of {kpps(row.offered_pps)} kpps ({rows.NAPI}: {kpps(napi.application_pps)})."
        )
        for one in tables.overload.where(lambda r: r.scheme == scheme):
            text += (
                f" At {one.load_of_cliff:g} times the cliff softirqs take {percent(one.softirq)} of the instructions, interrupts "
                f"{percent(one.hardirq)}, processes {percent(one.process_kernel + one.user)}."
            )
        return (row.application_pps < STARVED * napi.application_pps) == starves, text

    return told


# Figure 7(a): throughput.


def _why_behind(hybrid: ReceivingRow, profiles: Mapping[str, OverloadRow]) -> str:
    """Why hybrid is behind NAPI at a load. `profiles`: by scheme, at that load."""
    if not {rows.HYBRID, rows.NAPI} <= set(profiles):
        return ""
    mine, napi = profiles[rows.HYBRID], profiles[rows.NAPI]
    if hybrid.interrupts_per_s > hybrid.offered_pps / 2:
        own = units.grouped(hybrid.interrupts_per_s)
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


def _hybrid_against(other: str, load: float) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        by = {row.scheme: row for row in ours(tables) if row.load_of_cliff == load and not row.setting}
        if not {rows.HYBRID, other} <= set(by):
            return None
        hybrid, theirs = by[rows.HYBRID], by[other]
        held = hybrid.application_pps >= (1 - EQUAL) * theirs.application_pps
        why = (
            "" if held else _why_behind(hybrid, tables.overload.only(lambda r: r.load_of_cliff == load).keyed(lambda r: r.scheme))
        )
        return held, f"hybrid {kpps(hybrid.application_pps)} kpps, {theirs.scheme} {kpps(theirs.application_pps)}.{why}"

    text = f"At {load:g} times the cliff hybrid gives the application at least what {other} gives it."
    return Claim("Figure 7(a)", text, told)


# Figure 7(c), (d): round trips.


def _round_trip(source: str, name: str, of: Callable[[EchoingRow], int | None]) -> Claim[Tables]:
    """Of a DUT with time to spare: below the cliff of the echo. `of`: the round trip of a row, in ns."""

    def told(tables: Tables) -> Told | None:
        by = {(row.load_of_echo_cliff, row.scheme): of(row) for row in echoes(tables) if not row.setting}
        pairs = []
        for load in sorted({load for load, _ in by if load is not None and load < 1}):
            hybrid, napi = by.get((load, rows.HYBRID)), by.get((load, rows.NAPI))
            if hybrid is not None and napi is not None:
                pairs.append((load, hybrid, napi))
        longer = [(load, hybrid, napi) for load, hybrid, napi in pairs if hybrid > (1 + EQUAL) * napi]
        each = (f"{100 * load:.0f} % {duration(hybrid)} ({duration(napi)})" for load, hybrid, napi in longer or pairs)
        text = f"{'longer ' if longer else ''}at a share of the echo's cliff, hybrid ({rows.NAPI}): {', '.join(each)}."
        return (not longer, text) if pairs else None

    text = f"Below the cliff hybrid's round trip ({name}) is at most {rows.NAPI}'s (within {percent(EQUAL)})."
    return Claim(source, text, told)


# Adaptive: ours.


@dataclass(frozen=True)
class Behind:
    """Where adaptive is beside the best scheme."""

    load: float
    adaptive: float
    best: float
    name: str
    """The best one's."""


def _beside_best(load: float, by: Mapping[str, float], choose: Callable[..., str] = max) -> list[Behind]:
    """Adaptive beside the best at a load; nothing: it was not measured there. `by`: figures by name; `choose`: min or max."""
    best = choose(by, key=lambda name: by[name]) if by else ""
    return [Behind(load, by[rows.ADAPTIVE], by[best], best)] if rows.ADAPTIVE in by else []


def _slower(tables: Tables) -> Told | None:
    found: list[Behind] = []
    for load in dict.fromkeys(row.load_of_cliff for row in ours(tables)):
        found += _beside_best(load, {row.name: row.application_pps for row in ours(tables) if row.load_of_cliff == load})
    if not found:
        return None

    def told(chosen: Sequence[Behind]) -> str:
        each = (f"{b.load:g} times the cliff ({kpps(b.adaptive)} against {kpps(b.best)} kpps, {b.name})" for b in chosen)
        return ", ".join(each)

    slower = [one for one in found if one.adaptive < (1 - WORSE) * one.best]
    worst = min(found, key=lambda one: one.adaptive / one.best)
    return not slower, f"behind at {told(slower)}." if slower else f"at worst at {told([worst])}."


def _later(tables: Tables) -> Told | None:
    found: list[Behind] = []
    below = [row for row in echoes(tables) if row.load_of_echo_cliff is not None and row.load_of_echo_cliff < 1]
    for load in sorted({row.load_of_echo_cliff or 0.0 for row in below}):
        p99s = {row.name: row.p99_ns for row in below if row.load_of_echo_cliff == load and row.p99_ns is not None}
        found += _beside_best(load, p99s, min)
    if not found:
        return None

    def told(chosen: Sequence[Behind]) -> str:
        each = (f"{100 * b.load:.0f} % ({duration(b.adaptive)} against {duration(b.best)}, {b.name})" for b in chosen)
        return f"{', '.join(each)} of the echo's cliff"

    later = [one for one in found if one.adaptive > (1 + LATER) * one.best]
    worst = max(found, key=lambda one: one.adaptive / one.best)
    return not later, f"later at {told(later)}." if later else f"at worst at {told([worst])}."


# Figure 7(e), (f): interrupts and CPU.


def _turn(curve: Sequence[ReceivingRow]) -> float | None:
    """The highest load with one interrupt a frame."""
    linear = [row.load_of_cliff for row in curve if abs(row.interrupts_per_s / row.offered_pps - 1) <= EQUAL]
    return linear[-1] if linear else None


def _turns(curves: Curves) -> bool:
    """Whether that is the highest load measured up to the paper's, with each scheme."""
    most = of_cliff("interrupt_rate_turns_at")
    return all(
        _turn(curve) == max((row.load_of_cliff for row in curve if row.load_of_cliff <= most), default=None)
        for curve in curves.values()
    )


def _told_turns(curves: Curves) -> str:
    told = []
    for scheme, curve in curves.items():
        turn, last = _turn(curve), curve[-1]
        until = f"one a frame up to {turn:g} times the cliff" if turn else "fewer than one a frame at every load"
        told.append(f"{scheme}: {until}, {units.grouped(last.interrupts_per_s)} a second at {last.load_of_cliff:g} times")
    return f"{'; '.join(told)}."


def _measured_from(curve: Sequence[ReceivingRow], load: float, default: float | None = None) -> float | None:
    """The lowest load measured from another on."""
    return min((row.load_of_cliff for row in curve if row.load_of_cliff >= load), default=default)


def _gone_from(curve: Sequence[ReceivingRow]) -> ReceivingRow | None:
    """The load from which on there are no interrupts."""
    some = [row for row in curve if row.interrupts_per_s > NO_INTERRUPTS * row.offered_pps]
    after = curve[len(some) :]
    return after[0] if after and some == list(curve[: len(some)]) else None


def _gone_as_published(curve: Sequence[ReceivingRow]) -> bool:
    gone = _gone_from(curve)
    return gone is not None and gone.load_of_cliff <= (
        _measured_from(curve, of_cliff("hybrid_interrupts_fall_to_zero_at")) or 0.0
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


def _told_cpu_gone(curves: Curves) -> str:
    told = [
        f"{scheme} from {gone:g} times on" if (gone := _cpu_gone(curve)) else f"{scheme} never"
        for scheme, curve in curves.items()
    ]
    return f"nothing is left under {', '.join(told)}."


def _cpu_left(tables: Tables) -> Told | None:
    left = {row.name: row.cpu_available for row in ours(tables) if row.load_of_cliff == HALF}
    if not {rows.HYBRID, rows.DE} <= set(left):
        return None
    most = max(left, key=lambda name: left[name])
    both = f"hybrid leaves {percent(left[rows.HYBRID])}, {rows.DE} {percent(left[rows.DE])}"
    return left[rows.HYBRID] >= (1 - EQUAL) * left[rows.DE], f"{both}; most is left by {most}, {percent(left[most])}."


def _paper_schemes(tables: Tables) -> Curves | None:
    return curves_of(tables, rows.DE, rows.NAPI, rows.HYBRID)


_INTERRUPTS: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 7(e)",
        f"The interrupt rate follows the load up to {of_cliff('interrupt_rate_turns_at'):g} times the cliff, then turns.",
        judged(_paper_schemes, _turns, _told_turns),
    ),
    Claim(
        "Figure 7(e)",
        f"Hybrid's interrupts fall to zero at {of_cliff('hybrid_interrupts_fall_to_zero_at'):g} times the cliff.",
        judged(lambda tables: curve_of(tables, rows.HYBRID) or None, _gone_as_published, _told_gone),
    ),
    Claim(
        "Figure 7(f)",
        f"Nothing is left of the CPU from {of_cliff('cpu_availability_reaches_zero_at'):g} times the cliff on.",
        judged(
            _paper_schemes,
            lambda curves: all(
                _cpu_gone(curve) == _measured_from(curve, of_cliff("cpu_availability_reaches_zero_at"))
                for curve in curves.values()
            ),
            _told_cpu_gone,
        ),
    ),
    Claim(
        "Figure 7(f)",
        "Hybrid is disable-enable below the cliff, and leaves as much of the CPU (at half the cliff).",
        _cpu_left,
    ),
)


# Figure 6: the budget.


def _budget(load: float) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        by = tables.budget.only(lambda r: r.load_of_cliff == load).keyed(lambda r: r.scheme, rows.NAPI, rows.NAPI_2)
        pps = {scheme: row.application_pps for scheme, row in by.items()}
        each = ", ".join(f"{scheme} {kpps(one)}" for scheme, one in pps.items())
        return (pps[rows.NAPI_2] > (1 + EQUAL) * pps[rows.NAPI], f"in kpps: {each}.") if pps else None

    return Claim(
        "Figure 6(a)",
        f"At {load:g} times the cliff the application receives more with a budget of {paper('hybrid_budget'):g} than with "
        f"{paper('default_budget'):g}.",
        told,
    )


def _awake(tables: Tables) -> Told | None:
    """From which load on ksoftirqd runs."""
    curve = curve_of(tables, rows.NAPI)
    if not curve:
        return None
    awake = next((row.load_of_cliff for row in curve if row.ksoftirqd_share > EQUAL), None)
    held = awake == _measured_from(curve, of_cliff("ksoftirqd_awakened_at_budget_300"), 0.0)
    if awake is None:
        return held, f"it does not run up to {curve[-1].load_of_cliff:g} times the cliff."
    return held, f"it runs from {awake:g} times the cliff on."


# Hybrid's switching.


def _switching(arrivals: str) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        """Switches a second, by epsilon."""
        found = [row for row in tables.switches if row.arrivals == arrivals]
        by = {row.epsilon: row.switches_per_s for row in found if row.switches_per_s is not None}
        fewest = [epsilon for epsilon, count in by.items() if count <= min(by.values()) + NO_SWITCHES]
        each = ", ".join(f"{count:.1f} a second at {epsilon:g}" for epsilon, count in by.items())
        text = f"{each}; fewest at e = {', '.join(f'{epsilon:g}' for epsilon in fewest)}."
        return (paper("epsilon") in fewest, text) if by else None

    text = f"At the cliff hybrid switches least with e = {paper('epsilon'):g} ({ARRIVALS[arrivals]})."
    return Claim("Text", text, told)


def _settles(tables: Tables) -> Told | None:
    found = tables.settling.rows
    told = (f"to {row.step_of_cliff:g} times the cliff {row.windows or f'more than {max(switching.WINDOWS)}'}" for row in found)
    in_time = all(row.windows is not None and row.windows <= SETTLED_WINDOWS for row in found)
    return (in_time, f"windows after a step from nothing: {', '.join(told)}.") if found else None


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


def _after_step(tables: Tables) -> Told | None:
    """Of a step down, from SETTLED_STEP_WINDOWS windows after it on."""
    from_ms = (switching.STEP_NS + SETTLED_STEP_WINDOWS * switching.WINDOW_NS) / 1e6
    found = tables.over_time.where(lambda r: r.pattern == switching.STEP_DOWN and r.at_ms >= from_ms)
    if not found:
        return None
    worst = max(found, key=lambda row: abs(row.error))
    text = f"at worst {100 * worst.error:+.1f} %, {worst.at_ms - switching.STEP_NS / 1e6:.0f} ms after the step."
    return abs(worst.error) <= ESTIMATE_GOOD, text


# Today's schemes.


def _today(tables: Tables) -> Told | None:
    """By driver: NAPI, and the best of today's other schemes."""
    found = {}
    for driver, every in tables.application.by(lambda r: r.driver).items():
        at = [row for row in every if row.load_of_cliff == TODAY_LOAD]
        napi = [row for row in at if row.scheme == rows.NAPI]
        others = [row for row in at if row.scheme in rows.TODAYS]
        if napi and others:
            found[driver] = (napi[0], max(others, key=lambda row: row.application_pps))
    told = (
        f"{driver}: {best.name} {kpps(best.application_pps)} kpps, {napi.name} {kpps(napi.application_pps)}"
        for driver, (napi, best) in found.items()
    )
    more = all(best.application_pps > (1 + EQUAL) * napi.application_pps for napi, best in found.values())
    return (more, f"{'; '.join(told)}.") if found else None


CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(
        "Section 4.2",
        "The signs of the cliff coincide: no CPU left, throughput that no longer follows the load, loss.",
        _coincide,
    ),
    Claim(
        "Section 4.2",
        "The closed form, fed with the costs of an interrupt and a packet, gives the cliff that is found from outside.",
        _closed_form,
    ),
    Claim("Figure 7(a)", f"Under {rows.DE} an overloaded application starves.", _starves(rows.DE, True)),
    Claim("Figure 7(a)", "Under hybrid an overloaded application does not starve.", _starves(rows.HYBRID, False)),
    Claim(AIM, "Under adaptive an overloaded application does not starve.", _starves(rows.ADAPTIVE, False)),
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
    Claim(
        "Figure 6",
        f"With a budget of {paper('default_budget'):g} ksoftirqd is woken from "
        f"{of_cliff('ksoftirqd_awakened_at_budget_300'):g} times the cliff on.",
        _awake,
    ),
    *(_switching(arrivals) for arrivals in switching.ARRIVALS),
    Claim(
        EXPECTED,
        f"Hybrid switches within {SETTLED_WINDOWS} windows of {paper('rate_window'):g} ms after every step of the load.",
        _settles,
    ),
    Claim(
        EXPECTED,
        f"Hybrid's estimate of the rate is within {percent(ESTIMATE_GOOD)} of what is offered, at every load.",
        judged(
            lambda tables: tables.estimator.rows or None,
            lambda found: all(abs(row.error) <= ESTIMATE_GOOD for row in found),
            _estimated,
            _misestimated,
        ),
    ),
    Claim(
        EXPECTED,
        f"From {SETTLED_STEP_WINDOWS} windows after a step of the load from {switching.HIGH:g} times the cliff down to "
        f"{switching.LOW:g}, the estimate is within {percent(ESTIMATE_GOOD)}.",
        _after_step,
    ),
    Claim(AIM, f"At every load adaptive receives within {percent(WORSE)} of what the best scheme receives.", _slower),
    Claim(AIM, f"Below the cliff adaptive's p99 round trip is within {percent(LATER)} of the shortest.", _later),
    Claim(
        EXPECTED,
        f"At {TODAY_LOAD:g} times the cliff today's kernel has a setting that gives the application more than NAPI's default.",
        _today,
    ),
    *causes.CLAIMS,
)
