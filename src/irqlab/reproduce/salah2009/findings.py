# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them; where hybrid loses, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from irqlab.reproduce.claims import AIM, EXPECTED, Claim, Test, Told, judged, not_tried
from irqlab.reproduce.salah2009 import causes, comparisons, interrupts, overload, rows, switching
from irqlab.reproduce.salah2009.cliffs import INTERNAL, RECEIVES
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.reproduce.salah2009.points import BAND, CLIFF_BAND, EQUAL, curve_of, echoes, of_cliff, ours, paper
from irqlab.reproduce.salah2009.switching import EstimateRow
from irqlab.units import duration, kpps, percent

TODAY_LOAD = 2.0
BEYOND = f"Beyond the paper's loads, which end at {of_cliff('max_offered'):g} times the cliff:"
STARVED = 0.05
"""An application that receives less than this share of what NAPI gives it starves."""
ESTIMATE_GOOD = 0.03
SETTLED_WINDOWS = 2
SETTLED_STEP_WINDOWS = 3
"""One in which the load changes, and two that differ from the average (drivers/irqmod/estimator.h)."""
NO_SWITCHES = 1.0
"""A second: so few more make no difference."""
WORSE, LATER = 0.02, 0.05
"""What adaptive may be behind the best: in throughput, and in p99."""
ARRIVALS = {"constant": "constant arrivals", "poisson": "Poisson arrivals", "bursts": "bursts"}


# Section 4.2: the cliff.


def _cliffs(tables: Tables) -> tuple[Mapping[str, float | None], float]:
    """Of the receiving application by each sign and from inside, and the chosen one, in frames/s."""
    found = tables.cliff.where(lambda r: r.application == RECEIVES)
    return {row.found: row.cliff_pps for row in found}, next(row.cliff_pps for row in found if row.chosen) or 0.0


def _coincide(tables: Tables) -> Told:
    cliffs, chosen = _cliffs(tables)
    signs = {name: pps for name, pps in cliffs.items() if name != INTERNAL}
    held = all(pps is not None and abs(pps / chosen - 1) <= CLIFF_BAND for pps in signs.values())
    told = ", ".join(f"{name} {kpps(pps)}" for name, pps in signs.items())
    return held, f"in kpps: {told}." + ("" if held else " The CPU's sign is used, as in the paper.")


def _closed_form(tables: Tables) -> Told:
    cliffs, chosen = _cliffs(tables)
    inside, costs = cliffs[INTERNAL] or 0.0, tables.cliff_costs.rows[0]
    off = inside / chosen - 1
    return abs(off) <= CLIFF_BAND, (
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


# Figure 6: when ksoftirqd runs.


def _awake(tables: Tables) -> Told | None:
    """From which load on ksoftirqd runs."""
    curve = curve_of(tables, rows.NAPI)
    if not curve:
        return None
    awake = next((row.load_of_cliff for row in curve if row.ksoftirqd_share > EQUAL), None)
    held = awake == interrupts.measured_from(curve, of_cliff("ksoftirqd_awakened_at_budget_300"), 0.0)
    if awake is None:
        return held, f"it does not run up to {curve[-1].load_of_cliff:g} times the cliff."
    return held, f"it runs from {awake:g} times the cliff on."


# Hybrid's switching.


def _switching(arrivals: str) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        """Switches a second, by epsilon."""
        found = [row for row in tables.switches if row.arrivals == arrivals]
        by = {row.epsilon: row.switches_per_s for row in found if row.switches_per_s is not None}
        others = [count for epsilon, count in by.items() if epsilon != paper("epsilon")]
        each = ", ".join(f"{count:.1f} a second at {epsilon:g}" for epsilon, count in by.items())
        if not others or paper("epsilon") not in by:
            return None
        if max(by) == paper("epsilon"):
            return None, f"no larger e was measured: {each}."
        return by[paper("epsilon")] < min(others) - NO_SWITCHES, f"{each}."

    text = f"At the cliff hybrid switches least with e = {paper('epsilon'):g} ({ARRIVALS[arrivals]})."
    return Claim("Section 4.2", text, told, f"fewer by more than {NO_SWITCHES:g} a second than with each other e")


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
        BAND,
    ),
    Claim(
        "Section 4.2",
        "The closed form, fed with the costs of an interrupt and a packet, gives the cliff that is found from outside.",
        _closed_form,
        BAND,
    ),
    *comparisons.THROUGHPUT,
    Claim(EXPECTED, f"{BEYOND} under {rows.DE} an overloaded application starves.", _starves(rows.DE, True)),
    Claim(EXPECTED, f"{BEYOND} under hybrid it does not.", _starves(rows.HYBRID, False)),
    Claim(AIM, "Under adaptive an overloaded application does not starve.", _starves(rows.ADAPTIVE, False)),
    *comparisons.ROUND_TRIPS,
    *interrupts.CLAIMS,
    *comparisons.PINGS,
    *comparisons.FIGURE_6,
    Claim(
        "Figure 6",
        f"With a budget of {paper('default_budget'):g} ksoftirqd is woken from "
        f"{of_cliff('ksoftirqd_awakened_at_budget_300'):g} times the cliff on.",
        _awake,
        f"from the first load measured there on; it runs if it has more than {percent(EQUAL)} of the time",
    ),
    *(_switching(arrivals) for arrivals in switching.ARRIVALS if arrivals != "constant"),
    not_tried("Section 6", "Longer trials than 30 s gave little or no difference.", "the lab's trials are shorter than that."),
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
