# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims on interrupts and on what is left of the CPU: figures 7(e) and (f)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from irqlab import units
from irqlab.reproduce.claims import DEFINITION, Claim, Test, Told, judged, not_tried
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.comparisons import COMPARED, END, Pair, within
from irqlab.reproduce.salah2009.loads import ReceivingRow
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.reproduce.salah2009.points import BAND, CLIFF_BAND, EQUAL, NO_CPU, Curves, curve_of, curves_of, of_cliff, paper
from irqlab.units import percent

NO_INTERRUPTS = 0.01
"""Interrupts a frame that count as none."""
RISES_AGAIN = 0.6
SLOWLY = 0.5
"""Interrupts that a further frame brings, fewer than which are slowly more."""
HALF = 0.5
QUARTERS = (0.25, 0.5, 0.75)


def _linear(curves: Curves) -> bool:
    """Whether every frame has its interrupt up to the paper's turn."""
    most = of_cliff("interrupt_rate_turns_at")
    return all(
        abs(row.interrupts_per_s / row.offered_pps - 1) <= EQUAL
        for curve in curves.values()
        for row in curve
        if row.load_of_cliff <= most
    )


def _told_linear(curves: Curves) -> str:
    told = []
    for scheme, curve in curves.items():
        one = [row.load_of_cliff for row in curve if abs(row.interrupts_per_s / row.offered_pps - 1) <= EQUAL]
        told.append(f"{scheme}: one a frame up to {one[-1]:g} times the cliff" if one else f"{scheme}: fewer at every load")
    return f"{'; '.join(told)}."


def measured_from(curve: Sequence[ReceivingRow], load: float, default: float | None = None) -> float | None:
    """The lowest load measured from another on."""
    return min((row.load_of_cliff for row in curve if row.load_of_cliff >= load), default=default)


def _gone_from(curve: Sequence[ReceivingRow]) -> ReceivingRow | None:
    """The load from which on there are no interrupts."""
    some = [row for row in curve if row.interrupts_per_s > NO_INTERRUPTS * row.offered_pps]
    after = curve[len(some) :]
    return after[0] if after and some == list(curve[: len(some)]) else None


def _gone_as_published(curve: Sequence[ReceivingRow]) -> bool:
    gone = _gone_from(curve)
    return gone is not None and gone.load_of_cliff <= (measured_from(curve, of_cliff("hybrid_interrupts_fall_to_zero_at")) or 0.0)


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


def _as_much_left(tables: Tables) -> Told | None:
    """What hybrid and DE leave of the CPU below the cliff."""
    found = [{row.load_of_cliff: row.cpu_available for row in curve_of(tables, scheme)} for scheme in (rows.HYBRID, rows.DE)]
    apart = [(abs(left - found[1][load]), load) for load, left in found[0].items() if load < 1 and load in found[1]]
    if not apart:
        return None
    most, load = max(apart)
    both = f"hybrid leaves {percent(found[0][load])}, {rows.DE} {percent(found[1][load])}"
    return most <= NO_CPU, f"at {len(apart)} loads; farthest apart at {load:g} times the cliff: {both}."


def _gone_at_the_cliff(curves: Curves) -> bool:
    return all(
        abs((_cpu_gone(curve) or 0.0) - of_cliff("cpu_availability_reaches_zero_at")) <= CLIFF_BAND for curve in curves.values()
    )


def _paper_schemes(tables: Tables) -> Curves | None:
    return curves_of(tables, rows.DE, rows.NAPI, rows.HYBRID)


def _interrupts(
    schemes: Sequence[str], chosen: Callable[[Sequence[ReceivingRow]], list[ReceivingRow]], holds: Callable[[Curves], bool]
) -> Test[Tables]:
    """Whether something holds of the loads chosen of each scheme's curve. Their interrupts a second are told."""

    def told(tables: Tables) -> Told | None:
        curves = curves_of(tables, *schemes)
        if curves is None:
            return None
        found: Curves = {scheme: chosen(curve) for scheme, curve in curves.items()}
        if not all(len(every) > 1 for every in found.values()):
            return None
        each = []
        for scheme, every in found.items():
            of_load = ", ".join(f"{units.grouped(r.interrupts_per_s)} at {r.load_of_cliff:g} times" for r in every)
            each.append(f"{scheme} {of_load}")
        return holds(found), f"interrupts a second: {'; '.join(each)}."

    return told


def _drops(curves: Curves) -> bool:
    return all(any(Pair(0, b.interrupts_per_s, a.interrupts_per_s).less for a, b in pairwise(every)) for every in curves.values())


def _rise(every: Sequence[ReceivingRow]) -> float:
    """How many more interrupts a further frame brings, between the first load and the last."""
    first, last = every[0], every[-1]
    return (last.interrupts_per_s - first.interrupts_per_s) / (last.offered_pps - first.offered_pps)


def _falls(every: Sequence[ReceivingRow]) -> float:
    """What is left of the interrupts at the last load, of those at the first."""
    return every[-1].interrupts_per_s / max(1.0, every[0].interrupts_per_s)


def _after_turn(curve: Sequence[ReceivingRow]) -> list[ReceivingRow]:
    """From where the paper's interrupts turn up to the cliff."""
    return [row for row in curve if of_cliff("interrupt_rate_turns_at") <= row.load_of_cliff <= 1]


def _rising(curve: Sequence[ReceivingRow]) -> list[ReceivingRow]:
    """From where they rise again up to the cliff: the lowest load behind 0.6 times."""
    return [row for row in curve if RISES_AGAIN < row.load_of_cliff <= 1]


def _last(curve: Sequence[ReceivingRow]) -> list[ReceivingRow]:
    """The highest load that the paper offered, and those beyond."""
    return [within(curve)[-1], *(row for row in curve if row.load_of_cliff > END)]


def _leaves_least(tables: Tables) -> Told | None:
    """NAPI below the cliff, and the least of the others."""
    curves = curves_of(tables, *COMPARED)
    if curves is None:
        return None
    left = {
        scheme: {row.load_of_cliff: row.cpu_available for row in curve if row.load_of_cliff < 1}
        for scheme, curve in curves.items()
    }
    less = {load: min(left[rows.DE][load], left[rows.HYBRID][load]) - napi for load, napi in left[rows.NAPI].items()}
    least, most = (choose(less.values()) for choose in (min, max))
    text = f"NAPI leaves {100 * -most:+.1f} to {100 * -least:+.1f} points of the CPU against the least of {rows.DE} and hybrid."
    return most > NO_CPU and least >= -NO_CPU, text


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


_TURN: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 7(e)",
        f"Shortly after {of_cliff('interrupt_rate_turns_at'):g} times the cliff the interrupt rate drops.",
        _interrupts(COMPARED, _after_turn, _drops),
    ),
    Claim(
        "Figure 7(e)",
        f"After {RISES_AGAIN:g} times the cliff it increases again, but very slowly.",
        _interrupts(COMPARED, _rising, lambda curves: all(0 < _rise(every) <= SLOWLY for every in curves.values())),
        f"at most {SLOWLY:g} interrupts for a further frame",
    ),
)
_BEYOND: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 7(e)",
        f"Beyond its loads ({END:g} times the cliff) the paper expects the interrupt rate of NAPI and {rows.DE} to fall.",
        _interrupts((rows.DE, rows.NAPI), _last, _drops),
    ),
    Claim(
        "Figure 7(e)",
        f"It expects NAPI's to fall more rapidly than {rows.DE}'s.",
        _interrupts((rows.DE, rows.NAPI), _last, lambda curves: _falls(curves[rows.NAPI]) < _falls(curves[rows.DE])),
    ),
)
_CPU: tuple[Claim[Tables], ...] = (
    Claim(
        "Section 4.1, figure 7(f)",
        "NAPI leaves the least of the CPU below the cliff.",
        _leaves_least,
        f"by more than {percent(NO_CPU)} of the CPU at one load at least",
    ),
    Claim(
        "Figure 7(f)",
        "At 0.5 to 0.7 times the cliff the CPU that is left hardly falls.",
        _hardly_falls,
        "by less than half as much as from a quarter to half of the cliff",
    ),
    not_tried(
        "Figure 7(f)",
        "With NAPI more of the CPU is left at 0.6 times the cliff than at 0.5.",
        "no load of 0.6 times is measured.",
    ),
)
CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(
        "Figure 7(e)",
        f"Up to {of_cliff('interrupt_rate_turns_at'):g} times the cliff interrupts increase linearly with the load.",
        judged(_paper_schemes, _linear, _told_linear),
        f"one a frame within {percent(EQUAL)}",
    ),
    *_TURN,
    Claim(
        "Figure 7(e)",
        f"Hybrid's interrupts fall to zero at {of_cliff('hybrid_interrupts_fall_to_zero_at'):g} times the cliff.",
        judged(lambda tables: curve_of(tables, rows.HYBRID) or None, _gone_as_published, _told_gone),
        f"at most {percent(NO_INTERRUPTS)} of the frames from the first load measured there on",
    ),
    *_BEYOND,
    Claim(
        "Figure 7(f)",
        f"Nothing is left of the CPU from {of_cliff('cpu_availability_reaches_zero_at'):g} times the cliff on.",
        judged(_paper_schemes, _gone_at_the_cliff, _told_cpu_gone),
        f"at most {percent(NO_CPU)} left; {BAND}. By definition: the cliff is where {rows.DE} leaves none",
        DEFINITION,
    ),
    Claim(
        "Figure 7(f)",
        "Hybrid leaves as much of the CPU as disable-enable: estimating the rate is not seen.",
        _as_much_left,
        f"no more than {percent(NO_CPU)} of the CPU apart below the cliff",
    ),
    *_CPU,
)
