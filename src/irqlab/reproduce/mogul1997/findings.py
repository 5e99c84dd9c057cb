# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them; where they differ, what an experiment says of the cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from irqlab.reproduce.claims import EXPECTED, Claim, Test, Told, judged
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
WITH_FEEDBACK = quota_name(FEEDBACK_QUOTA)
EVERY_QUOTA = tuple(map(quota_name, (*QUOTAS, 0)))
DIPPED = LIMITS[1:3]

Curves = Mapping[str, CurveRow]
"""By configuration."""


# Curves of figures 6-1 to 6-6.


def _curves(tables: Tables, screend: bool, *names: str) -> Curves:
    """Those of the names; empty if one is missing."""
    found = tables.curves.only(lambda row: row.screend == screend).keyed(lambda row: row.configuration, *names)
    return {name: found[name] for name in names if found}


def _on(screend: bool, names: Sequence[str], holds: Callable[[Curves], bool], told: Callable[[Curves], str]) -> Test[Tables]:
    return judged(lambda tables: _curves(tables, screend, *names) or None, holds, told)


def _marks(tables: Tables, screend: bool, name: str) -> list[ForwardRow]:
    """Of a curve, by load."""
    rows = tables.forwarding.where(lambda row: row.screend == screend and row.configuration == name)
    return sorted(rows, key=lambda row: row.offered_pps)


def _times(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _beside(ours: float, theirs: float | None) -> str:
    """A figure, and behind it the paper's if it has one."""
    return _times(ours) + ("" if theirs is None else f" ({_times(theirs)})")


def _kept(found: Curves) -> str:
    """What curves keep of their peaks under overload, here and in the paper."""
    each = []
    for name, row in found.items():
        paper = "" if row.paper_overload_to_peak is None else f" (the paper: {percent(row.paper_overload_to_peak)})"
        each.append(
            f"{name}: from {published.OVERLOAD:g} times the peak on it keeps {percent(row.overload_to_peak)} of its own peak of "
            f"{kpps(row.peak_pps)} kpps{paper}"
        )
    return f"{'; '.join(each)}."


def _lossless(found: Curves) -> str:
    each = (f"{n} up to {_times(r.lossless)} times the peak (the paper: {_times(r.paper_lossless)})" for n, r in found.items())
    return f"without loss {', '.join(each)}."


def _overloads(found: Curves) -> str:
    each = (f"{name} {_beside(row.overload, row.paper_overload)}" for name, row in found.items())
    return f"mean output from {published.OVERLOAD:g} times the peak on, in peaks (the paper): {', '.join(each)}"


def _peaks(found: Curves) -> str:
    each = (f"{name} {_beside(row.peak, row.paper_peak)}" for name, row in found.items())
    return f"peaks with screend, in peaks without (the paper): {', '.join(each)}."


def _keeps(least: float, screend: bool, name: str) -> Test[Tables]:
    """Whether a curve keeps at least such a share of its peak."""
    return _on(screend, (name,), lambda found: found[name].overload_to_peak >= least, _kept)


def _loses(most: float, screend: bool, name: str) -> Test[Tables]:
    """Whether it keeps less."""
    return _on(screend, (name,), lambda found: found[name].overload_to_peak < most, _kept)


def _below(share: float, screend: bool, quantity: str) -> Test[Tables]:
    """Whether the unmodified kernel's first mark from a rate of the paper's text on is below such a share of its peak."""

    def told(tables: Tables) -> Told | None:
        least = published.of_peak(quantity)
        rows = [row for row in _marks(tables, screend, UNMODIFIED) if row.offered_to_peak >= least]
        curves = _curves(tables, screend, UNMODIFIED)
        if not rows or not curves:
            return None
        mark, peak_pps = rows[0], curves[UNMODIFIED].peak_pps
        return mark.output_pps < share * peak_pps, (
            f"at {mark.offered_to_peak:.2f} times the peak {kpps(mark.output_pps)} kpps come out, "
            f"{percent(mark.output_pps / peak_pps)} of this curve's peak."
        )

    return told


def _lost_at_output(tables: Tables) -> Told | None:
    """Of the frames taken off the ring at the highest load, those that did not get past the output queue."""
    rows = _marks(tables, False, NO_QUOTA)
    if not rows:
        return None
    share = rows[-1].lost_output_queue / max(1e-9, 1 - rows[-1].lost_nic)
    return share > LIVELOCK, f"{percent(share)} of the frames taken off the ring were lost at the output queue."


def _smaller_quotas(tables: Tables) -> Told | None:
    """Whether the output falls from quota to quota; and what it is with each ring."""
    curves = _curves(tables, False, *EVERY_QUOTA)
    if not curves:
        return None
    falling = all(a.overload >= b.overload for a, b in pairwise(curves.values()))
    text, rings = f"{_overloads(curves)}.", tables.causes.only(lambda row: row.cause == causes.RING)
    by = rings.keyed(lambda row: (row.setting, row.configuration))
    for setting in map(causes.ring_setting, causes.RINGS):
        found = ((f"quota {quota}", by.get((setting, quota_name(quota)))) for quota in QUOTAS)
        outputs = [f"{name} {_times(row.output_to_peak)}" for name, row in found if row]
        text += f" With {setting}: {', '.join(outputs)}." if outputs else ""
    if by and not falling:
        text += (
            " A quota is too large once a poll sends more frames than the transmit ring holds; below that a larger one saves "
            "polls."
        )
    return falling, text


def _near_best(tables: Tables) -> Told | None:
    without, with_it = (_curves(tables, screend, *EVERY_QUOTA) for screend in (False, True))
    if not without or not with_it:
        return None
    near = [
        curves[quota_name(quota)].overload >= NEAR_BEST * max(row.overload for row in curves.values())
        for curves in (without, with_it)
        for quota in PAPER_QUOTAS
    ]
    return all(near), f"without screend: {_overloads(without)}; with it: {_overloads(with_it)}."


# Feedback.


def _no_feedback(tables: Tables) -> Told | None:
    curves = _curves(tables, True, UNMODIFIED, NO_FEEDBACK)
    if not curves:
        return None
    each = (
        f" With {row.setting}, {row.configuration}: {_times(row.output_to_peak)} at {row.offered_to_peak:.2f} peaks."
        for row in tables.causes
        if row.cause == causes.PRIORITY
    )
    return all(row.overload_to_peak < LIVELOCK for row in curves.values()), _kept(curves) + "".join(each)


def _improves(tables: Tables) -> Told | None:
    """Whether feedback improves the peak; and by how much with each experiment."""
    curves = _curves(tables, True, UNMODIFIED, WITH_FEEDBACK)
    if not curves:
        return None
    gain = curves[WITH_FEEDBACK].peak / max(1e-9, curves[UNMODIFIED].peak)
    text = f"{_peaks(curves)} Feedback changes it by {100 * (gain - 1):+.1f} %."
    rows = tables.causes.only(lambda row: row.cause in (causes.ARRIVALS, causes.COST))
    for cause, setting in dict.fromkeys((row.cause, row.setting) for row in rows):
        before, after = (
            max((r.output_to_peak for r in rows if (r.setting, r.configuration) == (setting, name)), default=0.0)
            for name in (UNMODIFIED, WITH_FEEDBACK)
        )
        if before:
            more = 100 * (after / before - 1)
            text += f" {cause.capitalize()}, {setting}: {_times(before)} and {_times(after)}, {more:+.1f} %."
    return gain >= MUCH, text


# Section 7: progress of user processes.

Limits = Mapping[int, Sequence[CpuRow]]
"""By threshold in per cent: marks by load."""


def _limits(tables: Tables) -> Limits | None:
    by = tables.cpu.only(lambda row: row.process == LOWEST).by(lambda row: row.threshold_percent)
    return {limit: sorted(by[limit], key=lambda r: r.offered_pps) for limit in LIMITS} if set(LIMITS) <= set(by) else None


def _levels(found: Limits) -> str:
    """What is left at the highest load."""
    each = (f"{limit} %: {rows[-1].cpu_percent:.1f} % ({published.cpu_curve(limit)[-1][1]:.1f})" for limit, rows in found.items())
    return f"CPU left at the highest load, by threshold (the paper): {', '.join(each)}."


def _spread(rows: Sequence[CpuRow]) -> float:
    left = [row.cpu_percent for row in rows if row.offered_to_peak >= PLATEAU]
    return max(left) - min(left) if left else 0.0


def _spreads(found: Limits) -> str:
    each = (f"{limit} %: {_spread(rows):.1f}" for limit, rows in found.items())
    return (
        f"highest less lowest from the peak's load on, in per cent of the CPU, by threshold: {', '.join(each)}. {_levels(found)}"
    )


def _dip(rows: Sequence[CpuRow]) -> float:
    return rows[-1].cpu_percent - min(row.cpu_percent for row in rows)


def _dips(found: Limits) -> str:
    each = (f"{limit} %: {_dip(rows):.1f}" for limit, rows in found.items())
    return f"the lowest mark is below the one at the highest load by, in per cent of the CPU, by threshold: {', '.join(each)}."


def _no_progress(tables: Tables) -> Told | None:
    found = _limits(tables)
    if not found:
        return None
    lowest = found[LIMITS[-1]][-1]
    text = f"{lowest.cpu_percent:.1f} % of the CPU at {lowest.offered_to_peak:.2f} times the peak."
    if rows := tables.cpu.where(lambda row: row.process == NORMAL):
        normal = max(rows, key=lambda r: r.offered_pps)
        text += (
            f" A process {NORMAL}, which ksoftirqd does not go before: {normal.cpu_percent:.1f} %, and the router "
            f"forwards {kpps(normal.output_pps)} instead of {kpps(lowest.output_pps)} kpps."
        )
    return lowest.cpu_percent < NO_PROGRESS_PERCENT, text


def _without_load(tables: Tables) -> Told | None:
    found = _limits(tables)
    if not found:
        return None
    left = found[LIMITS[-1]][0].cpu_percent
    return left <= published.text("cpu_left_without_load") + STABLE_PERCENT / 2, f"{left:.1f} %."


# Beyond the paper.


def _cause(name: str, holds: Callable[[float, float], bool], configuration: str = "") -> Test[Tables]:
    """Whether the outputs with a cause and without it, in peaks, are as expected."""

    def told(tables: Tables) -> Told | None:
        rows = tables.causes.where(lambda r: r.cause == name and configuration in ("", r.configuration))
        if len(rows) != 2:
            return None
        each = (f"{row.setting}: {_times(row.output_to_peak)}" for row in rows)
        held = holds(rows[0].output_to_peak, rows[1].output_to_peak)
        return held, f"output at {rows[0].offered_to_peak:.2f} times the peak, in peaks: {'; '.join(each)}."

    return told


def _deeper(tables: Tables) -> Told | None:
    """Whether figure 7-1 dips deeper where interrupts cost more. CPU left in per cent where it dips, and where it is level."""
    by: dict[str, list[CauseRow]] = {}
    for row in sorted(tables.causes.where(lambda row: row.cause == causes.DIP), key=lambda row: row.offered_to_peak):
        by.setdefault(row.setting, []).append(row)
    if any(len(by.get(name, ())) != 2 for name in causes.COSTS):
        return None
    left = {name: [100 * row.cpu_left for row in by[name]] for name in causes.COSTS}
    (free, free_level), (dear, dear_level) = left.values()
    each = (f"cost of an interrupt {name}: {low:.1f} and {level:.1f} %" for name, (low, level) in left.items())
    deeper = dear_level - dear > free_level - free + DIP_PERCENT
    return deeper and abs(dear_level - free_level) <= DIP_PERCENT, (
        f"left for the process at {causes.DIP_LOAD:g} and {causes.LEVEL_LOAD:g} times the loss-free rate, "
        f"threshold {causes.DIP_LIMIT} %: {'; '.join(each)}."
    )


CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(
        "Section 6.2, figure 6-1",
        f"Without screend the unmodified kernel peaks at {published.text('peak_without_screend'):,.0f} packets/s, and its output "
        "falls with more load.",
        _loses(FALLS, False, UNMODIFIED),
    ),
    Claim(
        "Section 6.2",
        "It would probably livelock somewhat below the Ethernet's maximum rate, "
        f"{published.of_peak('ethernet_maximum'):.1f} times the peak.",
        _below(LIVELOCK, False, "ethernet_maximum"),
    ),
    Claim(
        "Section 6.2, figure 6-1",
        f"With screend it behaves badly above {published.of_peak('poor_behaviour_with_screend_above'):.2f} times the peak.",
        _below(STABLE, True, "poor_behaviour_with_screend_above"),
    ),
    Claim(
        "Section 6.2, figure 6-1",
        f"With screend livelock is complete at {published.of_peak('livelock_with_screend_at'):.2f} times the peak.",
        _below(LIVELOCK, True, "livelock_with_screend_at"),
    ),
    Claim(
        "Section 6.5, figure 6-3",
        "Polling with a quota slightly improves the MLFRR.",
        _on(
            False,
            (UNMODIFIED, quota_name(5)),
            lambda found: (found[quota_name(5)].lossless or 0) > (found[UNMODIFIED].lossless or 0),
            _lossless,
        ),
    ),
    Claim(
        "Section 6.5, figure 6-3",
        "It avoids livelock at higher input rates (quota 5).",
        _keeps(STABLE, False, quota_name(5)),
    ),
    Claim(
        "Section 6.6, figure 6-3",
        "Without a quota the throughput drops almost to zero above the MLFRR.",
        _loses(LIVELOCK, False, NO_QUOTA),
    ),
    Claim(
        "Section 6.6, figure 6-3",
        "Without a quota it is worse than the unmodified kernel.",
        _on(
            False,
            (UNMODIFIED, NO_QUOTA),
            lambda found: found[NO_QUOTA].overload < found[UNMODIFIED].overload,
            lambda found: f"{_overloads(found)}.",
        ),
    ),
    Claim(
        "Section 6.6",
        "This livelock has packets discarded at the queue for the output interface.",
        _lost_at_output,
    ),
    Claim(
        "Section 6.6.2, figure 6-5",
        "Without screend smaller quotas work better; as the quota increases, livelock becomes more of a problem.",
        _smaller_quotas,
    ),
    Claim(
        "Section 6.6.1, figure 6-4",
        "With screend polling without feedback performs about as badly as the unmodified kernel.",
        _no_feedback,
    ),
    Claim(
        "Section 6.6.1, figure 6-4",
        f"With feedback from the queue to screend there is no livelock (quota {FEEDBACK_QUOTA}).",
        _keeps(STABLE, True, WITH_FEEDBACK),
    ),
    Claim("Section 6.6.1, figure 6-4", "With feedback the peak is much improved.", _improves),
    Claim(
        "Section 6.6.2, figure 6-6",
        "With feedback no quota leads to livelock, nor does having none.",
        _on(True, EVERY_QUOTA, lambda found: all(row.overload_to_peak >= STABLE for row in found.values()), _kept),
    ),
    Claim(
        "Section 6.6.2, figure 6-6",
        f"With screend small quotas slightly reduce the peak, by about {published.text('small_quotas_cost_with_screend'):g} %.",
        _on(
            True,
            EVERY_QUOTA,
            lambda found: 0 < 1 - found[EVERY_QUOTA[0]].peak / max(row.peak for row in found.values()) < SLIGHTLY,
            _peaks,
        ),
    ),
    Claim(
        "Section 6.6.2",
        f"A quota between {PAPER_QUOTAS[0]} and {PAPER_QUOTAS[1]} yields near-optimum behaviour, with screend and without.",
        _near_best,
    ),
    Claim("Section 7", "Without a limit a compute-bound process makes no measurable progress.", _no_progress),
    Claim(
        "Section 7, figure 7-1",
        f"With a limit the process's share is fairly stable as the input rate increases (quota {CPU_QUOTA}).",
        judged(_limits, lambda found: all(_spread(rows) <= STABLE_PERCENT for rows in found.values()), _spreads),
    ),
    Claim(
        "Section 7, figure 7-1",
        "The process does not get as much as the threshold implies.",
        judged(_limits, lambda found: all(r[-1].cpu_percent < 100 - limit for limit, r in found.items() if limit < 100), _levels),
    ),
    Claim(
        "Section 7, figure 7-1",
        f"The curves of {DIPPED[0]} and {DIPPED[1]} % dip first.",
        judged(_limits, lambda found: all(_dip(found[limit]) > DIP_PERCENT for limit in DIPPED), _dips),
    ),
    Claim(
        "Section 7",
        f"Even without load the process gets only {published.text('cpu_left_without_load'):g} % of the CPU.",
        _without_load,
    ),
    Claim(EXPECTED, "Linux's NAPI keeps 95 % of its peak without screend.", _keeps(STABLE, False, NAPI)),
    Claim(EXPECTED, "With screend Linux's NAPI keeps 95 % of its peak, too.", _keeps(STABLE, True, NAPI)),
    Claim(EXPECTED, "DragonFly's ifpoll keeps 95 % of its peak without screend.", _keeps(STABLE, False, IFPOLL)),
    Claim(EXPECTED, "With screend ifpoll keeps 95 % of its peak, too.", _keeps(STABLE, True, IFPOLL)),
    Claim(EXPECTED, "OpenBSD's shrinking ring keeps 95 % of its peak without screend.", _keeps(STABLE, False, SHRINK)),
    Claim(
        EXPECTED,
        "With screend the shrinking ring does not: its clock runs before processes do.",
        _loses(STABLE, True, SHRINK),
    ),
    Claim(
        EXPECTED,
        "A shorter ring does not help without a pause between interrupts.",
        _cause(causes.PAUSE, lambda paused, none: none < LIVELOCK < paused),
    ),
    Claim(
        EXPECTED,
        "With screend and no feedback it is ksoftirqd's priority that decides whether screend gets the CPU.",
        _cause(causes.PRIORITY, lambda first, usual: usual > 2 * first, NO_FEEDBACK),
    ),
    Claim(
        EXPECTED,
        "Feedback prevents livelock without screend and without a quota, too.",
        _cause(causes.FEEDBACK, lambda fed, none: none < LIVELOCK < FALLS < fed),
    ),
    Claim(
        EXPECTED,
        "NAPI with a weight is polling with that quota.",
        _cause(causes.WEIGHT, lambda napi, polling: abs(napi - polling) <= SAME * polling),
    ),
    Claim(
        EXPECTED,
        "Without a quota a chip whose receiver stops when its ring is full does not livelock: its ring gets empty.",
        _cause(causes.CHIP, lambda goes_on, stops: goes_on < LIVELOCK < FALLS < stops),
    ),
    Claim(
        EXPECTED,
        "The dip of figure 7-1 is the interrupts, which the limit does not count: where they cost more it is deeper, and the "
        "level beyond it is the same.",
        _deeper,
    ),
)
