# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them; where they differ, what an experiment says of the cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from irqlab.reproduce.claims import EXPECTED, Claim, Finding, findings_of
from irqlab.reproduce.mogul1997 import causes, published
from irqlab.reproduce.mogul1997.causes import CauseRow
from irqlab.reproduce.mogul1997.configurations import (
    CPU_QUOTA,
    FEEDBACK_QUOTA,
    IFPOLL,
    LIMITS,
    NAPI,
    NO_FEEDBACK,
    NO_QUOTA,
    QUOTAS,
    SHRINK,
    UNMODIFIED,
    quota_name,
)
from irqlab.reproduce.mogul1997.measure import LOWEST, NORMAL, CpuRow, CurveRow, ForwardRow, Tables
from irqlab.units import NONE, kpps, percent

LIVELOCK = 0.1
"""A curve that keeps less than this share of its peak has livelocked."""
STABLE = 0.95
"""One that keeps at least this share has not."""
FALLS = 0.5
"""Under overload an output below this share of the peak has fallen."""
MUCH = 1.2
"""A peak improved by this factor is much improved."""
SLIGHTLY = 0.1
"""A peak reduced by less than this share is slightly reduced."""
NEAR_BEST = 0.9
NO_PROGRESS_PERCENT = 1.0
"""CPU time that is not measurable progress."""
STABLE_PERCENT = 5.0
"""Of the CPU: how far apart the marks of a flat curve are."""
DIP_PERCENT = 2.0
PLATEAU = 1.0
"""Figure 7-1 is flat from this load on, in peaks."""
SAME = 0.02
PAPER_QUOTAS = (round(published.text("quota_from")), round(published.text("quota_to")))

Curves = Mapping[str, CurveRow]
"""By configuration."""


def findings(tables: Tables) -> list[Finding]:
    """In the paper's order; then what else was found."""
    return findings_of(CLAIMS, tables)


def _curves(screend: bool, *names: str) -> Callable[[Tables], Curves | None]:
    def evidence(tables: Tables) -> Curves | None:
        found = {row.configuration: row for row in tables.curves if row.screend == screend}
        return {name: found[name] for name in names} if set(names) <= set(found) else None

    return evidence


def _marks(tables: Tables, screend: bool, name: str) -> list[ForwardRow]:
    """Of a curve, by load."""
    rows = tables.forwarding.where(lambda row: row.screend == screend and row.configuration == name)
    return sorted(rows, key=lambda row: row.offered_pps)


def _times(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _kept(row: CurveRow) -> str:
    """What a curve keeps of its peak under overload, here and in the paper."""
    paper = "" if row.paper_overload_to_peak is None else f" (the paper: {percent(row.paper_overload_to_peak)})"
    return (
        f"from {published.OVERLOAD:g} times the peak on it keeps {percent(row.overload_to_peak)} of its own peak of "
        f"{kpps(row.peak_pps)} kpps{paper}"
    )


def _all_kept(found: Curves) -> str:
    return "; ".join(f"{name}: {_kept(row)}" for name, row in found.items()) + "."


def _keeps(source: str, text: str, screend: bool, name: str, holds: Callable[[CurveRow], bool]) -> Claim[Tables, Curves]:
    return Claim(source, text, _curves(screend, name), lambda found: holds(found[name]), yes=_all_kept, no=_all_kept)


# Section 6.2: the unmodified kernel.


def _beyond(screend: bool, quantity: str) -> Callable[[Tables], tuple[ForwardRow, CurveRow] | None]:
    """The first mark of the unmodified kernel from a rate of the paper's text on."""

    def evidence(tables: Tables) -> tuple[ForwardRow, CurveRow] | None:
        least = published.of_peak(quantity)
        rows = [row for row in _marks(tables, screend, UNMODIFIED) if row.offered_to_peak >= least]
        curves = _curves(screend, UNMODIFIED)(tables)
        return (rows[0], curves[UNMODIFIED]) if rows and curves else None

    return evidence


def _share(found: tuple[ForwardRow, CurveRow]) -> str:
    mark, curve = found
    return (
        f"at {mark.offered_to_peak:.2f} times the peak {kpps(mark.output_pps)} kpps come out, "
        f"{percent(mark.output_pps / curve.peak_pps)} of this curve's peak."
    )


def _livelocks_at(source: str, text: str, screend: bool, quantity: str) -> Claim[Tables, tuple[ForwardRow, CurveRow]]:
    return Claim(
        source,
        text,
        _beyond(screend, quantity),
        holds=lambda found: found[0].output_pps < LIVELOCK * found[1].peak_pps,
        yes=_share,
        no=_share,
    )


_UNMODIFIED: tuple[Claim[Tables, Any], ...] = (
    _keeps(
        "Section 6.2, figure 6-1",
        f"Without screend the unmodified kernel peaks at {published.text('peak_without_screend'):,.0f} packets/s, and its output "
        "falls with more load.",
        False,
        UNMODIFIED,
        lambda row: row.overload_to_peak < FALLS,
    ),
    _livelocks_at(
        "Section 6.2",
        "It would probably livelock somewhat below the Ethernet's maximum rate, "
        f"{published.of_peak('ethernet_maximum'):.1f} times the peak.",
        False,
        "ethernet_maximum",
    ),
    Claim(
        "Section 6.2, figure 6-1",
        f"With screend it behaves badly above {published.of_peak('poor_behaviour_with_screend_above'):.2f} times the peak.",
        _beyond(True, "poor_behaviour_with_screend_above"),
        holds=lambda found: found[0].output_pps < STABLE * found[1].peak_pps,
        yes=_share,
        no=_share,
    ),
    _livelocks_at(
        "Section 6.2, figure 6-1",
        f"With screend livelock is complete at {published.of_peak('livelock_with_screend_at'):.2f} times the peak.",
        True,
        "livelock_with_screend_at",
    ),
)


# Sections 6.5, 6.6: polling and quotas.


def _lossless(found: Curves) -> str:
    told = (
        f"{name} up to {_times(row.lossless)} times the peak (the paper: {_times(row.paper_lossless)})"
        for name, row in found.items()
    )
    return f"without loss {', '.join(told)}."


def _overloads(found: Curves) -> str:
    told = (
        f"{name} {_times(row.overload)}" + ("" if row.paper_overload is None else f" ({_times(row.paper_overload)})")
        for name, row in found.items()
    )
    return f"mean output from {published.OVERLOAD:g} times the peak on, in peaks (the paper): {', '.join(told)}"


@dataclass(frozen=True)
class _Taken:
    mark: ForwardRow

    @property
    def share(self) -> float:
        """Of the frames taken off the ring, those that did not get past the output queue."""
        return self.mark.lost_output_queue / max(1e-9, 1 - self.mark.lost_nic)


def _last_mark(screend: bool, name: str) -> Callable[[Tables], _Taken | None]:
    def evidence(tables: Tables) -> _Taken | None:
        rows = _marks(tables, screend, name)
        return _Taken(rows[-1]) if rows else None

    return evidence


@dataclass(frozen=True)
class _Quotas:
    curves: Curves
    rings: Mapping[tuple[str, str], CauseRow]
    """By ring and quota."""

    @property
    def falling(self) -> bool:
        outputs = [row.overload for row in self.curves.values()]
        return all(a >= b for a, b in pairwise(outputs))

    @property
    def told(self) -> str:
        text = f"{_overloads(self.curves)}."
        for ring in causes.RINGS:
            setting = causes.ring_setting(ring)
            outputs = [
                f"quota {quota} {_times(self.rings[setting, quota_name(quota)].output_to_peak)}"
                for quota in QUOTAS
                if (setting, quota_name(quota)) in self.rings
            ]
            text += f" With {setting}: {', '.join(outputs)}." if outputs else ""
        return text + (
            " A quota is too large once a poll sends more frames than the transmit ring holds; below that a larger one saves "
            "polls."
            if self.rings and not self.falling
            else ""
        )


def _quotas(tables: Tables) -> _Quotas | None:
    curves = _curves(False, *map(quota_name, (*QUOTAS, 0)))(tables)
    rings = {(row.setting, row.configuration): row for row in tables.causes if row.cause == causes.RING}
    return _Quotas(curves, rings) if curves else None


_POLLING: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Section 6.5, figure 6-3",
        "Polling with a quota slightly improves the MLFRR.",
        _curves(False, UNMODIFIED, quota_name(5)),
        holds=lambda found: (found[quota_name(5)].lossless or 0) > (found[UNMODIFIED].lossless or 0),
        yes=_lossless,
        no=_lossless,
    ),
    _keeps(
        "Section 6.5, figure 6-3",
        "It avoids livelock at higher input rates (quota 5).",
        False,
        quota_name(5),
        lambda row: row.overload_to_peak >= STABLE,
    ),
    _keeps(
        "Section 6.6, figure 6-3",
        "Without a quota the throughput drops almost to zero above the MLFRR.",
        False,
        NO_QUOTA,
        lambda row: row.overload_to_peak < LIVELOCK,
    ),
    Claim(
        "Section 6.6, figure 6-3",
        "Without a quota it is worse than the unmodified kernel.",
        _curves(False, UNMODIFIED, NO_QUOTA),
        holds=lambda found: found[NO_QUOTA].overload < found[UNMODIFIED].overload,
        yes=lambda found: f"{_overloads(found)}.",
        no=lambda found: f"{_overloads(found)}.",
    ),
    Claim(
        "Section 6.6",
        "This livelock has packets discarded at the queue for the output interface.",
        _last_mark(False, NO_QUOTA),
        holds=lambda found: found.share > LIVELOCK,
        yes=lambda found: f"{percent(found.share)} of the frames taken off the ring were lost at the output queue.",
        no=lambda found: f"{percent(found.share)} of the frames taken off the ring were lost at the output queue.",
    ),
    Claim(
        "Section 6.6.2, figure 6-5",
        "Without screend smaller quotas work better; as the quota increases, livelock becomes more of a problem.",
        _quotas,
        holds=lambda found: found.falling,
        yes=lambda found: found.told,
        no=lambda found: found.told,
    ),
)


# Section 6.6.1: feedback.


@dataclass(frozen=True)
class _Priorities:
    curves: Curves
    rows: Sequence[CauseRow]

    @property
    def told(self) -> str:
        text = _all_kept(self.curves)
        for row in self.rows:
            text += f" With {row.setting}, {row.configuration}: {_times(row.output_to_peak)} at {row.offered_to_peak:.2f} peaks."
        return text


def _priorities(tables: Tables) -> _Priorities | None:
    curves = _curves(True, UNMODIFIED, NO_FEEDBACK)(tables)
    rows = tables.causes.where(lambda row: row.cause == causes.PRIORITY)
    return _Priorities(curves, rows) if curves else None


def _peaks(found: Curves) -> str:
    told = (
        f"{name} {_times(row.peak)}" + ("" if row.paper_peak is None else f" ({_times(row.paper_peak)})")
        for name, row in found.items()
    )
    return f"peaks with screend, in peaks without (the paper): {', '.join(told)}."


_WITH_FEEDBACK = quota_name(FEEDBACK_QUOTA)


@dataclass(frozen=True)
class _Peaks:
    curves: Curves
    rows: Sequence[CauseRow]

    @property
    def gain(self) -> float:
        return self.curves[_WITH_FEEDBACK].peak / max(1e-9, self.curves[UNMODIFIED].peak)

    def _with(self, setting: str, configuration: str) -> float:
        outputs = [row.output_to_peak for row in self.rows if (row.setting, row.configuration) == (setting, configuration)]
        return max(outputs, default=0.0)

    @property
    def told(self) -> str:
        text = f"{_peaks(self.curves)} Feedback changes it by {100 * (self.gain - 1):+.1f} %."
        for cause, setting in dict.fromkeys((row.cause, row.setting) for row in self.rows):
            before, after = self._with(setting, UNMODIFIED), self._with(setting, _WITH_FEEDBACK)
            if before:
                gain = 100 * (after / before - 1)
                text += f" {cause.capitalize()}, {setting}: {_times(before)} and {_times(after)}, {gain:+.1f} %."
        return text


def _improved(tables: Tables) -> _Peaks | None:
    curves = _curves(True, UNMODIFIED, _WITH_FEEDBACK)(tables)
    return _Peaks(curves, tables.causes.where(lambda row: row.cause in (causes.ARRIVALS, causes.COST))) if curves else None


_FEEDBACK: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Section 6.6.1, figure 6-4",
        "With screend polling without feedback performs about as badly as the unmodified kernel.",
        _priorities,
        holds=lambda found: all(row.overload_to_peak < LIVELOCK for row in found.curves.values()),
        yes=lambda found: found.told,
        no=lambda found: found.told,
    ),
    _keeps(
        "Section 6.6.1, figure 6-4",
        f"With feedback from the queue to screend there is no livelock (quota {FEEDBACK_QUOTA}).",
        True,
        _WITH_FEEDBACK,
        lambda row: row.overload_to_peak >= STABLE,
    ),
    Claim(
        "Section 6.6.1, figure 6-4",
        "With feedback the peak is much improved.",
        _improved,
        holds=lambda found: found.gain >= MUCH,
        yes=lambda found: found.told,
        no=lambda found: found.told,
    ),
    Claim(
        "Section 6.6.2, figure 6-6",
        "With feedback no quota leads to livelock, nor does having none.",
        _curves(True, *map(quota_name, (*QUOTAS, 0))),
        holds=lambda found: all(row.overload_to_peak >= STABLE for row in found.values()),
        yes=_all_kept,
        no=_all_kept,
    ),
    Claim(
        "Section 6.6.2, figure 6-6",
        f"With screend small quotas slightly reduce the peak, by about {published.text('small_quotas_cost_with_screend'):g} %.",
        _curves(True, *map(quota_name, (*QUOTAS, 0))),
        holds=lambda found: 0 < 1 - found[quota_name(QUOTAS[0])].peak / max(row.peak for row in found.values()) < SLIGHTLY,
        yes=_peaks,
        no=_peaks,
    ),
)


# Section 6.6.2: the recommended quota.

Both = tuple[Curves, Curves]
"""Without screend, and with it."""


def _both(tables: Tables) -> Both | None:
    names = tuple(map(quota_name, (*QUOTAS, 0)))
    without, with_it = _curves(False, *names)(tables), _curves(True, *names)(tables)
    return (without, with_it) if without and with_it else None


def _near_best(curves: Curves) -> bool:
    best = max(row.overload for row in curves.values())
    return all(curves[quota_name(quota)].overload >= NEAR_BEST * best for quota in PAPER_QUOTAS)


def _recommended(found: Both) -> str:
    return f"without screend: {_overloads(found[0])}; with it: {_overloads(found[1])}."


_QUOTA = Claim[Tables, Both](
    "Section 6.6.2",
    f"A quota between {PAPER_QUOTAS[0]} and {PAPER_QUOTAS[1]} yields near-optimum behaviour, with screend and without.",
    _both,
    holds=lambda found: all(map(_near_best, found)),
    yes=_recommended,
    no=_recommended,
)


# Section 7: progress of user processes.

Limits = Mapping[int, Sequence[CpuRow]]
"""By threshold in per cent: marks by load."""


def _limits(tables: Tables) -> Limits | None:
    by = tables.cpu.only(lambda row: row.process == LOWEST).by(lambda row: row.threshold_percent)
    return {limit: sorted(by[limit], key=lambda r: r.offered_pps) for limit in LIMITS} if set(LIMITS) <= set(by) else None


def _plateau(rows: Sequence[CpuRow]) -> list[CpuRow]:
    return [row for row in rows if row.offered_to_peak >= PLATEAU]


def _level(rows: Sequence[CpuRow]) -> float:
    """What is left at the highest load."""
    return rows[-1].cpu_percent


def _paper_level(limit: int) -> float:
    return published.cpu_curve(limit)[-1][1]


def _levels(found: Limits) -> str:
    told = (f"{limit} %: {_level(rows):.1f} % ({_paper_level(limit):.1f})" for limit, rows in found.items())
    return f"CPU left at the highest load, by threshold (the paper): {', '.join(told)}."


def _spread(rows: Sequence[CpuRow]) -> float:
    left = [row.cpu_percent for row in _plateau(rows)]
    return max(left) - min(left) if left else 0.0


def _spreads(found: Limits) -> str:
    told = (f"{limit} %: {_spread(rows):.1f}" for limit, rows in found.items())
    return (
        f"highest less lowest from the peak's load on, in per cent of the CPU, by threshold: {', '.join(told)}. {_levels(found)}"
    )


def _dip(rows: Sequence[CpuRow]) -> float:
    return _level(rows) - min(row.cpu_percent for row in rows)


def _dips(found: Limits) -> str:
    told = (f"{limit} %: {_dip(rows):.1f}" for limit, rows in found.items())
    return f"the lowest mark is below the one at the highest load by, in per cent of the CPU, by threshold: {', '.join(told)}."


def _silent(tables: Tables) -> CpuRow | None:
    found = _limits(tables)
    return found[LIMITS[-1]][0] if found else None


@dataclass(frozen=True)
class _Unlimited:
    lowest: CpuRow
    normal: CpuRow | None

    @property
    def told(self) -> str:
        text = f"{self.lowest.cpu_percent:.1f} % of the CPU at {self.lowest.offered_to_peak:.2f} times the peak."
        if self.normal:
            text += (
                f" A process {NORMAL}, which ksoftirqd does not go before: {self.normal.cpu_percent:.1f} %, and the router "
                f"forwards {kpps(self.normal.output_pps)} instead of {kpps(self.lowest.output_pps)} kpps."
            )
        return text


def _unlimited(tables: Tables) -> _Unlimited | None:
    found = _limits(tables)
    normal = tables.cpu.where(lambda row: row.process == NORMAL)
    return _Unlimited(found[LIMITS[-1]][-1], max(normal, key=lambda r: r.offered_pps) if normal else None) if found else None


_DIPPED = LIMITS[1:3]
_PROCESSES: tuple[Claim[Tables, Any], ...] = (
    Claim(
        "Section 7",
        "Without a limit a compute-bound process makes no measurable progress.",
        _unlimited,
        holds=lambda found: found.lowest.cpu_percent < NO_PROGRESS_PERCENT,
        yes=lambda found: found.told,
        no=lambda found: found.told,
    ),
    Claim(
        "Section 7, figure 7-1",
        f"With a limit the process's share is fairly stable as the input rate increases (quota {CPU_QUOTA}).",
        _limits,
        holds=lambda found: all(_spread(rows) <= STABLE_PERCENT for rows in found.values()),
        yes=_spreads,
        no=_spreads,
    ),
    Claim(
        "Section 7, figure 7-1",
        "The process does not get as much as the threshold implies.",
        _limits,
        holds=lambda found: all(_level(rows) < 100 - limit for limit, rows in found.items() if limit < 100),
        yes=_levels,
        no=_levels,
    ),
    Claim(
        "Section 7, figure 7-1",
        f"The curves of {_DIPPED[0]} and {_DIPPED[1]} % dip first.",
        _limits,
        holds=lambda found: all(_dip(found[limit]) > DIP_PERCENT for limit in _DIPPED),
        yes=_dips,
        no=_dips,
    ),
    Claim(
        "Section 7",
        f"Even without load the process gets only {published.text('cpu_left_without_load'):g} % of the CPU.",
        _silent,
        holds=lambda row: row.cpu_percent <= published.text("cpu_left_without_load") + STABLE_PERCENT / 2,
        yes=lambda row: f"{row.cpu_percent:.1f} %.",
        no=lambda row: f"{row.cpu_percent:.1f} %.",
    ),
)


# Beyond the paper.

Pair = tuple[CauseRow, CauseRow]
"""With a cause, and without it."""


def _cause(name: str, configuration: str = "") -> Callable[[Tables], Pair | None]:
    def evidence(tables: Tables) -> Pair | None:
        rows = [r for r in tables.causes if r.cause == name and configuration in ("", r.configuration)]
        return (rows[0], rows[1]) if len(rows) == 2 else None

    return evidence


def _told(pair: Pair) -> str:
    told = (f"{row.setting}: {_times(row.output_to_peak)}" for row in pair)
    return f"output at {pair[0].offered_to_peak:.2f} times the peak, in peaks: {'; '.join(told)}."


def _expected(text: str, evidence: Callable[[Tables], Pair | None], holds: Callable[[Pair], bool]) -> Claim[Tables, Pair]:
    return Claim(EXPECTED, text, evidence, holds, yes=_told, no=_told)


@dataclass(frozen=True)
class _Dip:
    """CPU left with a limit, in per cent, by setting and load: where figure 7-1 dips, and where it is level."""

    left: Mapping[str, tuple[float, float]]

    @property
    def depths(self) -> list[float]:
        return [level - low for low, level in self.left.values()]

    @property
    def levels(self) -> list[float]:
        return [level for _, level in self.left.values()]

    @property
    def told(self) -> str:
        each = (f"cost of an interrupt {name}: {low:.1f} and {level:.1f} %" for name, (low, level) in self.left.items())
        return (
            f"left for the process at {causes.DIP_LOAD:g} and {causes.LEVEL_LOAD:g} times the loss-free rate, "
            f"threshold {causes.DIP_LIMIT} %: {'; '.join(each)}."
        )


def _deeper(tables: Tables) -> _Dip | None:
    rows = tables.causes.where(lambda row: row.cause == causes.DIP)
    by: dict[str, list[float]] = {}
    for row in sorted(rows, key=lambda row: row.offered_to_peak):
        by.setdefault(row.setting, []).append(100 * row.cpu_left)
    found = {setting: (left[0], left[1]) for setting, left in by.items() if len(left) == 2}
    return _Dip({name: found[name] for name in causes.COSTS}) if set(causes.COSTS) <= set(found) else None


_INTERRUPTS = Claim[Tables, _Dip](
    EXPECTED,
    "The dip of figure 7-1 is the interrupts, which the limit does not count: where they cost more it is deeper, and the level "
    "beyond it is the same.",
    _deeper,
    holds=lambda found: found.depths[1] > found.depths[0] + DIP_PERCENT and abs(found.levels[1] - found.levels[0]) <= DIP_PERCENT,
    yes=lambda found: found.told,
    no=lambda found: found.told,
)

_BEYOND: tuple[Claim[Tables, Any], ...] = (
    _keeps(
        EXPECTED, "Linux's NAPI keeps 95 % of its peak without screend.", False, NAPI, lambda row: row.overload_to_peak >= STABLE
    ),
    _keeps(
        EXPECTED, "With screend Linux's NAPI keeps 95 % of its peak, too.", True, NAPI, lambda row: row.overload_to_peak >= STABLE
    ),
    _keeps(
        EXPECTED,
        "DragonFly's ifpoll keeps 95 % of its peak without screend.",
        False,
        IFPOLL,
        lambda row: row.overload_to_peak >= STABLE,
    ),
    _keeps(
        EXPECTED, "With screend ifpoll keeps 95 % of its peak, too.", True, IFPOLL, lambda row: row.overload_to_peak >= STABLE
    ),
    _keeps(
        EXPECTED,
        "OpenBSD's shrinking ring keeps 95 % of its peak without screend.",
        False,
        SHRINK,
        lambda row: row.overload_to_peak >= STABLE,
    ),
    _keeps(
        EXPECTED,
        "With screend the shrinking ring does not: its clock runs before processes do.",
        True,
        SHRINK,
        lambda row: row.overload_to_peak < STABLE,
    ),
    _expected(
        "A shorter ring does not help without a pause between interrupts.",
        _cause(causes.PAUSE),
        lambda pair: pair[1].output_to_peak < LIVELOCK < pair[0].output_to_peak,
    ),
    _expected(
        "With screend and no feedback it is ksoftirqd's priority that decides whether screend gets the CPU.",
        _cause(causes.PRIORITY, NO_FEEDBACK),
        lambda pair: pair[1].output_to_peak > 2 * pair[0].output_to_peak,
    ),
    _expected(
        "Feedback prevents livelock without screend and without a quota, too.",
        _cause(causes.FEEDBACK),
        lambda pair: pair[1].output_to_peak < LIVELOCK < FALLS < pair[0].output_to_peak,
    ),
    _expected(
        "NAPI with a weight is polling with that quota.",
        _cause(causes.WEIGHT),
        lambda pair: abs(pair[0].output_to_peak - pair[1].output_to_peak) <= SAME * pair[1].output_to_peak,
    ),
    _expected(
        "Without a quota a chip whose receiver stops when its ring is full does not livelock: its ring gets empty.",
        _cause(causes.CHIP),
        lambda pair: pair[0].output_to_peak < LIVELOCK < FALLS < pair[1].output_to_peak,
    ),
    _INTERRUPTS,
)

CLAIMS: tuple[Claim[Tables, Any], ...] = (*_UNMODIFIED, *_POLLING, *_FEEDBACK, _QUOTA, *_PROCESSES, *_BEYOND)
