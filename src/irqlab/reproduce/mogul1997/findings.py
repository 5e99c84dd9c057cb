# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them; where they differ, what an experiment says of the cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from irqlab.reproduce.claims import Claim, Test, Told, judged
from irqlab.reproduce.mogul1997 import beyond, causes, published
from irqlab.reproduce.mogul1997.configurations import (
    CPU_QUOTA,
    FEEDBACK_QUOTA,
    LIMITS,
    NO_FEEDBACK,
    NO_QUOTA,
    QUOTAS,
    UNMODIFIED,
    quota_name,
)
from irqlab.reproduce.mogul1997.curves import (
    DIP_PERCENT,
    DIPPED,
    EVERY_QUOTA,
    FALLS,
    FIGURE_COST,
    LIVELOCK,
    MORE_LOSSLESS,
    MUCH,
    NEAR_BEST,
    NO_PROGRESS_PERCENT,
    PAPER_QUOTAS,
    ROUNDED,
    SMALL_COST,
    STABLE,
    STABLE_PERCENT,
    WITH_FEEDBACK,
    apart,
    curves_of,
    keeps,
    loses,
    marks,
    on_curves,
    times,
    told_kept,
    told_lossless,
    told_overloads,
    told_peaks,
)
from irqlab.reproduce.mogul1997.measure import LOWEST, NORMAL, CpuRow, ForwardRow, Tables
from irqlab.units import kpps, percent


def _mark(tables: Tables, screend: bool, wanted: Callable[[float], bool], last: bool = False) -> tuple[ForwardRow, float] | None:
    """The unmodified kernel's first mark (or last) at a load that is wanted, in peaks; what comes out, as a share of its peak."""
    rows = [row for row in marks(tables, screend, UNMODIFIED) if wanted(row.offered_to_peak)]
    curves = curves_of(tables, screend, UNMODIFIED)
    if not rows or not curves:
        return None
    mark = rows[-1 if last else 0]
    return mark, mark.output_pps / curves[UNMODIFIED].peak_pps


def _told_mark(mark: ForwardRow, share: float) -> str:
    output = f"{kpps(mark.output_pps)} kpps come out, {percent(share)} of this curve's peak"
    return f"at {mark.offered_to_peak:.2f} times the peak {output}"


def _below(share: float, screend: bool, quantity: str) -> Test[Tables]:
    """Whether the first mark from a rate of the paper's text on is below such a share of its peak."""
    least = published.of_peak(quantity)
    return judged(
        lambda tables: _mark(tables, screend, lambda load: load >= least),
        lambda found: found[1] < share,
        lambda found: f"{_told_mark(*found)}.",
    )


def _below_maximum(tables: Tables) -> Told | None:
    """Whether the livelock begins below the Ethernet's maximum rate; not to be told if it begins between the loads around it."""
    most = published.of_peak("ethernet_maximum")
    below = _mark(tables, False, lambda load: load < most, last=True)
    beyond = _mark(tables, False, lambda load: load >= most)
    if below is None:
        return None
    text = _told_mark(*below) + (f"; {_told_mark(*beyond)}." if beyond else ".")
    if below[1] < LIVELOCK:
        return True, text
    if beyond and beyond[1] < LIVELOCK:
        return None, f"it begins between the loads on both sides of the maximum: {text}"
    return False, text


def _more_lossless(tables: Tables) -> Told | None:
    """Whether the MLFRR is higher with a quota, and no more than in the paper, as far as the loads tell."""
    curves = curves_of(tables, False, UNMODIFIED, quota_name(5))
    if not curves:
        return None
    plain, polled = (curves[name].lossless or 0.0 for name in (UNMODIFIED, quota_name(5)))
    beyond = [row.offered_to_peak for row in marks(tables, False, UNMODIFIED) if row.offered_to_peak > plain]
    return plain < polled <= MORE_LOSSLESS * (beyond[0] if beyond else plain), told_lossless(curves)


def _lost_at_output(tables: Tables) -> Told | None:
    """Of the frames taken off the ring at the highest load, those that did not get past the output queue."""
    rows = marks(tables, False, NO_QUOTA)
    if not rows:
        return None
    share = rows[-1].lost_output_queue / max(1e-9, 1 - rows[-1].lost_nic)
    return share > LIVELOCK, f"{percent(share)} of the frames taken off the ring were lost at the output queue."


def _smaller_quotas(tables: Tables) -> Told | None:
    """Whether the output falls from quota to quota; and what it is with each ring."""
    curves = curves_of(tables, False, *EVERY_QUOTA)
    if not curves:
        return None
    falling = all(a.overload >= b.overload for a, b in pairwise(curves.values()))
    text, rings = f"{told_overloads(curves)}.", tables.causes.only(lambda row: row.cause == causes.RING)
    by = rings.keyed(lambda row: (row.setting, row.configuration))
    for setting in map(causes.ring_setting, causes.RINGS):
        found = ((f"quota {quota}", by.get((setting, quota_name(quota)))) for quota in QUOTAS)
        outputs = [f"{name} {times(row.output_to_peak)}" for name, row in found if row]
        text += f" With {setting}: {', '.join(outputs)}." if outputs else ""
    if by and not falling:
        text += (
            " A quota is too large once a poll sends more frames than the transmit ring holds; below that a larger one saves "
            "polls."
        )
    return falling, text


def _near_best(tables: Tables) -> Told | None:
    without, with_it = (curves_of(tables, screend, *EVERY_QUOTA) for screend in (False, True))
    if not without or not with_it:
        return None
    near = [
        curves[quota_name(quota)].overload >= NEAR_BEST * max(row.overload for row in curves.values())
        for curves in (without, with_it)
        for quota in PAPER_QUOTAS
    ]
    return all(near), f"without screend: {told_overloads(without)}; with it: {told_overloads(with_it)}."


# Feedback.


def _no_feedback(tables: Tables) -> Told | None:
    curves = curves_of(tables, True, UNMODIFIED, NO_FEEDBACK)
    if not curves:
        return None
    each = (
        f" With {row.setting}, {row.configuration}: {times(row.output_to_peak)} at {row.offered_to_peak:.2f} peaks."
        for row in tables.causes
        if row.cause == causes.PRIORITY
    )
    return all(row.overload_to_peak < LIVELOCK for row in curves.values()), told_kept(curves) + "".join(each)


def _improves(tables: Tables) -> Told | None:
    """Whether feedback improves the peak; and by how much with each experiment."""
    curves = curves_of(tables, True, UNMODIFIED, WITH_FEEDBACK)
    if not curves:
        return None
    gain = curves[WITH_FEEDBACK].peak / max(1e-9, curves[UNMODIFIED].peak)
    text = f"{told_peaks(curves)} Feedback changes it by {100 * (gain - 1):+.1f} %."
    rows = tables.causes.only(lambda row: row.cause in (causes.ARRIVALS, causes.COST))
    for cause, setting in dict.fromkeys((row.cause, row.setting) for row in rows):
        before, after = (
            max((r.output_to_peak for r in rows if (r.setting, r.configuration) == (setting, name)), default=0.0)
            for name in (UNMODIFIED, WITH_FEEDBACK)
        )
        if before:
            more = 100 * (after / before - 1)
            text += f" {cause.capitalize()}, {setting}: {times(before)} and {times(after)}, {more:+.1f} %."
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
    return apart((row.offered_to_peak, row.cpu_percent) for row in rows)


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
    return abs(left - published.text("cpu_left_without_load")) <= ROUNDED, f"{left:.1f} %."


AS_LIVELOCK = f"less than {percent(LIVELOCK)} of its peak"
AS_STABLE = f"at least {percent(STABLE)} of its peak, the least of the paper's curves without livelock"
CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(
        "Section 6.2, figure 6-1",
        "Without screend the unmodified kernel's output falls with more load than its peak "
        f"({published.text('peak_without_screend'):,.0f} packets/s in the paper, which are one here).",
        loses(FALLS, False, UNMODIFIED),
        f"to less than {percent(FALLS)}",
    ),
    Claim(
        "Section 6.2",
        "It would probably livelock somewhat below the Ethernet's maximum rate, "
        f"{published.of_peak('ethernet_maximum'):.1f} times the peak.",
        _below_maximum,
        AS_LIVELOCK,
    ),
    Claim(
        "Section 6.2, figure 6-1",
        f"With screend it behaves badly above {published.of_peak('poor_behaviour_with_screend_above'):.2f} times the peak.",
        _below(STABLE, True, "poor_behaviour_with_screend_above"),
        f"less than {percent(STABLE)} of its peak",
    ),
    Claim(
        "Section 6.2, figure 6-1",
        f"With screend livelock is complete at {published.of_peak('livelock_with_screend_at'):.2f} times the peak.",
        _below(LIVELOCK, True, "livelock_with_screend_at"),
        AS_LIVELOCK,
    ),
    Claim(
        "Section 6.5, figure 6-3",
        "Polling with a quota slightly improves the MLFRR.",
        _more_lossless,
        f"higher, and as far as the loads tell by no more than the paper's {100 * (MORE_LOSSLESS - 1):.0f} %",
    ),
    Claim(
        "Section 6.5, figure 6-3",
        "It avoids livelock at higher input rates (quota 5).",
        keeps(STABLE, False, quota_name(5)),
        AS_STABLE,
    ),
    Claim(
        "Section 6.6, figure 6-3",
        "Without a quota the throughput drops almost to zero above the MLFRR.",
        loses(LIVELOCK, False, NO_QUOTA),
        AS_LIVELOCK,
    ),
    Claim(
        "Section 6.6, figure 6-3",
        "Without a quota it is worse than the unmodified kernel.",
        on_curves(
            False,
            (UNMODIFIED, NO_QUOTA),
            lambda found: found[NO_QUOTA].overload < found[UNMODIFIED].overload,
            lambda found: f"{told_overloads(found)}.",
        ),
    ),
    Claim(
        "Section 6.6",
        "This livelock has packets discarded at the queue for the output interface.",
        _lost_at_output,
        f"more than {percent(LIVELOCK)} of what is taken off the ring",
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
        f"both {AS_LIVELOCK}",
    ),
    Claim(
        "Section 6.6.1, figure 6-4",
        f"With feedback from the queue to screend there is no livelock (quota {FEEDBACK_QUOTA}).",
        keeps(STABLE, True, WITH_FEEDBACK),
        AS_STABLE,
    ),
    Claim("Section 6.6.1, figure 6-4", "With feedback the peak is much improved.", _improves, f"at least {MUCH:g} times"),
    Claim(
        "Section 6.6.2, figure 6-6",
        "With feedback no quota leads to livelock, nor does having none.",
        on_curves(True, EVERY_QUOTA, lambda found: all(row.overload_to_peak >= STABLE for row in found.values()), told_kept),
        AS_STABLE,
    ),
    Claim(
        "Section 6.6.2, figure 6-6",
        f"With screend small quotas slightly reduce the peak, by about {SMALL_COST:g} %.",
        on_curves(
            True,
            EVERY_QUOTA,
            lambda found: (
                SMALL_COST - ROUNDED
                <= 100 * (1 - found[EVERY_QUOTA[0]].peak / max(r.peak for r in found.values()))
                <= FIGURE_COST
            ),
            lambda found: (
                f"by {100 * (1 - found[EVERY_QUOTA[0]].peak / max(r.peak for r in found.values())):.1f} %; {told_peaks(found)}"
            ),
        ),
        f"{SMALL_COST - ROUNDED:g} % (it is rounded) to {FIGURE_COST:.1f} %, the cost of a quota of 5 in figure 6-6",
    ),
    Claim(
        "Section 6.6.2",
        f"A quota between {PAPER_QUOTAS[0]} and {PAPER_QUOTAS[1]} yields near-optimum behaviour, with screend and without.",
        _near_best,
        f"at least {percent(NEAR_BEST)} of the best",
    ),
    Claim(
        "Section 7",
        "Without a limit a compute-bound process makes no measurable progress.",
        _no_progress,
        f"less than {NO_PROGRESS_PERCENT:g} % of the CPU",
    ),
    Claim(
        "Section 7, figure 7-1",
        f"With a limit the process's share is fairly stable as the input rate increases (quota {CPU_QUOTA}).",
        judged(_limits, lambda found: all(_spread(rows) <= STABLE_PERCENT for rows in found.values()), _spreads),
        f"marks no more than {STABLE_PERCENT:.1f} % of the CPU apart, the most in the paper's figure",
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
        f"by more than {DIP_PERCENT:g} % of the CPU",
    ),
    Claim(
        "Figure 7-1",
        f"That of {LIMITS[0]} % does not.",
        judged(_limits, lambda found: _dip(found[LIMITS[0]]) <= DIP_PERCENT, _dips),
        f"no more than {DIP_PERCENT:g} % of the CPU",
    ),
    Claim(
        "Section 7",
        f"Even without load the process gets only {published.text('cpu_left_without_load'):g} % of the CPU.",
        _without_load,
        f"within {ROUNDED:g}, since it is rounded",
    ),
    *beyond.CLAIMS,
)
