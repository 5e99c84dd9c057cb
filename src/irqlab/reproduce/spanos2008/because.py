# SPDX-License-Identifier: GPL-2.0-or-later
"""Claims that are tested once, without the costs of hardware: table 2 as printed, why figures differ, and long trials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irqlab.present.rows import listed
from irqlab.reproduce.claims import EXPECTED, Claim
from irqlab.reproduce.spanos2008 import causes, durations, throughput
from irqlab.reproduce.spanos2008.causes import CollapseCauseRow, InterruptCauseRow, ThroughputCauseRow
from irqlab.reproduce.spanos2008.durations import DisturbedRow, LongRow
from irqlab.reproduce.spanos2008.tables import Tables
from irqlab.reproduce.spanos2008.throughput import BASE, GainRow
from irqlab.units import kpps

NAPI, OFF, BOTH = "NAPI", "TX-OFF", "NAPI-TX-OFF"
PRINTED = 0.1
"""A per cent is printed wrongly if it is off by more."""
SAME = 0.02
"""Throughputs that differ by less are the same."""
CLOSE = 0.15
"""A ratio agrees with the paper's if it is within this share of it."""
ALL_FORWARDED = 0.999
FEW = 0.01
"""Interrupts a frame that count as next to none."""


# Table 2, as it is printed.

Gains = tuple[GainRow, ...]


def _printed(tables: Tables) -> Gains | None:
    return tables.table2_improvement.where(lambda r: r.printed_percent is not None) or None


def _wrong(printed: float, computed: float) -> bool:
    return abs(printed - computed) > PRINTED


def _misprinted(rows: Gains) -> list[GainRow]:
    return [r for r in rows if _wrong(r.printed_percent or 0.0, r.paper_percent)]


Printed = dict[tuple[int, str], float]
"""By frame bytes and variant."""


def _swapped(printed: Printed, computed: Printed) -> set[int]:
    """Sizes at which what is printed is nearer to table 1 with NAPI and TX-OFF exchanged."""

    def error(size: int, first: str, second: str) -> float:
        return abs(printed[size, NAPI] - computed[size, first]) + abs(printed[size, OFF] - computed[size, second])

    sizes = {size for size, _ in printed if {(size, NAPI), (size, OFF)} <= set(printed)}
    return {size for size in sizes if error(size, OFF, NAPI) < error(size, NAPI, OFF)}


def _prints(rows: Gains) -> str:
    printed = {(r.frame_bytes, r.variant): r.printed_percent or 0.0 for r in rows}
    computed = {(r.frame_bytes, r.variant): r.paper_percent for r in rows}
    swapped = _swapped(printed, computed)
    other = {NAPI: OFF, OFF: NAPI}
    put = {(size, v): printed[size, other.get(v, v) if size in swapped else v] for size, v in printed}
    left = [key for key in put if _wrong(put[key], computed[key])]
    told = [f"{v} at {size} bytes is {computed[size, v]:+.2f} %, not {put[size, v]:+.2f} %" for size, v in left]
    swap = f" The columns {NAPI} and {OFF} are swapped in {len(swapped)} rows." if swapped else ""
    rest = f" {'Besides, ' if swapped else ''}{listed(told)}." if told else ""
    return f"{len(_misprinted(rows))} of {len(rows)} cells are not.{swap}{rest}"


_PRINTED: Claim[Tables, Gains] = Claim(
    "Table 2",
    f"The improvements that it prints are those of table 1 over {BASE}.",
    _printed,
    holds=lambda rows: not _misprinted(rows),
    yes=lambda rows: f"all of {len(rows)} cells are.",
    no=_prints,
)


# Why throughputs differ: one cause on and off.

Caused = dict[tuple[str, int, str], ThroughputCauseRow]
"""By setting, frame bytes and variant."""


def _caused(*chosen: str) -> Callable[[Tables], Caused | None]:
    def evidence(tables: Tables) -> Caused | None:
        found = {(r.setting, r.frame_bytes, r.variant): r for r in tables.causes_throughput or () if r.cause in chosen}
        return found if {row.cause for row in found.values()} == set(chosen) else None

    return evidence


def _changes(found: Caused, off: str, on: str) -> list[tuple[str, float, float]]:
    """Variants, and their throughputs with a setting and with another."""
    return [
        (variant, row.throughput_pps, found[on, size, variant].throughput_pps)
        for (setting, size, variant), row in found.items()
        if setting == off and (on, size, variant) in found
    ]


def _no_change(text: str, chosen: tuple[str, ...], off: str, on: str) -> Claim[Tables, Caused]:
    """A cause that makes no difference."""

    def told(found: Caused) -> str:
        each = [f"{v} {kpps(a)} and {kpps(b)} kpps ({100 * (b / a - 1):+.1f} %)" for v, a, b in _changes(found, off, on)]
        return f"without and with it, {causes.BYTES}-byte frames: {'; '.join(each)}."

    return Claim(
        EXPECTED,
        f"{text} changes throughput by less than {100 * SAME:g} %.",
        _caused(*chosen),
        holds=lambda found: all(abs(b / a - 1) < SAME for _, a, b in _changes(found, off, on)),
        yes=told,
        no=told,
    )


def _reversed_sizes() -> tuple[int, ...]:
    """At which NAPI is slower than TX-OFF in the paper."""
    paper = throughput.paper_mbps()
    return tuple(size for size in causes.LIST_SIZES if paper[size, NAPI] < paper[size, OFF])


def _leads(found: Caused, setting: str) -> dict[int, float]:
    """By what share NAPI is faster than TX-OFF, by frame bytes. TX-OFF passes its frames one by one in any case."""
    base = causes.NONE if setting == causes.SINGLE else setting
    return {
        size: row.throughput_pps / found[base, size, OFF].throughput_pps - 1
        for (one, size, variant), row in found.items()
        if one == setting and variant == NAPI and size in _reversed_sizes()
    }


def _told_leads(found: Caused) -> str:
    lists, single, charged = (
        listed([f"{100 * lead:+.1f} % ({size} bytes)" for size, lead in _leads(found, setting).items()])
        for setting in (causes.NONE, causes.SINGLE, causes.CHARGED)
    )
    return f"{NAPI} against {OFF}: with lists {lists}; one by one {single}; with lists and the board's costs {charged}."


def _lead(because: str, setting: str) -> Claim[Tables, Caused]:
    sizes = listed([str(size) for size in _reversed_sizes()])
    return Claim(
        EXPECTED,
        f"{NAPI} is not slower than {OFF} with frames of {sizes} bytes, as it is in the paper, because {because}.",
        _caused(causes.LISTS),
        holds=lambda found: all(lead < 0 for lead in _leads(found, setting).values()),
        yes=_told_leads,
        no=_told_leads,
    )


# Why the collapse and table 3 differ.

Collapses = dict[str, CollapseCauseRow]


def _collapses(tables: Tables) -> Collapses | None:
    found = {row.setting: row for row in tables.causes_collapse or ()}
    return found if {causes.CHARGED, causes.HANDLER} <= set(found) else None


def _at_ratio(row: CollapseCauseRow) -> bool:
    return row.collapse_ratio is not None and abs(row.collapse_ratio / (row.paper_collapse_ratio or 1.0) - 1) <= CLOSE


def _ratios(found: Collapses) -> str:
    told = ", ".join(f"{name} {row.collapse_ratio or 0:.2f}" for name, row in found.items())
    return f"collapse by loss-free rate of {BASE}: {told}; the paper: {found[causes.CHARGED].paper_collapse_ratio:.2f}."


_HANDLER: Claim[Tables, Collapses] = Claim(
    EXPECTED,
    f"With the costs fitted to table 1 {BASE} collapses too late, because they charge the handler nothing: with a cost of the "
    "handler the ratio is the paper's.",
    _collapses,
    holds=lambda found: not _at_ratio(found[causes.CHARGED]) and _at_ratio(found[causes.HANDLER]),
    yes=_ratios,
    no=_ratios,
)

Shares = dict[tuple[str, str], InterruptCauseRow]
"""By setting and variant."""


def _under(tables: Tables) -> Shares | None:
    found = {(row.setting, row.variant): row for row in tables.causes_interrupts or ()}
    return found if {causes.NONE, causes.CHARGED} <= {setting for setting, _ in found} else None


def _told_shares(found: Shares) -> str:
    parts = []
    for setting in dict.fromkeys(setting for setting, _ in found):
        each = ", ".join(f"{v} {100 * row.forwarded_share:.1f} %" for (one, v), row in found.items() if one == setting)
        parts.append(f"{setting}: {each}")
    paper = ", ".join(f"{v} {100 * row.paper_forwarded_share:.1f} %" for (one, v), row in found.items() if one == causes.NONE)
    return f"forwarded of what was offered; {'; '.join(parts)}; the paper: {paper}."


def _told_rx(found: Shares) -> str:
    each = (
        f"{variant} {row.rx_interrupts_per_frame:.4f} ({setting})"
        for (setting, variant), row in found.items()
        if variant in (NAPI, BOTH)
    )
    return f"receive interrupts a frame: {', '.join(each)}."


_OVERLOADED: Claim[Tables, Shares] = Claim(
    EXPECTED,
    "Table 3's load overloads no variant because the DUT is faster than the board: with the board's costs it overloads all.",
    _under,
    holds=lambda found: all(
        (row.forwarded_share >= ALL_FORWARDED) == (setting == causes.NONE)
        for (setting, _), row in found.items()
        if setting in (causes.NONE, causes.CHARGED)
    ),
    yes=_told_shares,
    no=_told_shares,
)
_SAVED: Claim[Tables, Shares] = Claim(
    EXPECTED,
    f"{NAPI} takes receive interrupts under table 3's load because it is not overloaded: with the board's costs it takes next "
    "to none, as in the paper.",
    _under,
    holds=lambda found: all(found[causes.CHARGED, v].rx_interrupts_per_frame <= FEW for v in (NAPI, BOTH)),
    yes=_told_rx,
    no=_told_rx,
)


# Trials as long as the paper's.

Long = tuple[LongRow, ...]


def _told_long(rows: Long) -> str:
    each = (
        f"{r.variant} loses {r.lost_frames:,} of {r.sent_frames:,} frames at {kpps(r.offered_pps)} kpps "
        f"({100 * r.lost_frames / r.sent_frames:.2f} %)"
        for r in rows
    )
    return f"{'; '.join(each)}."


_LONG: Claim[Tables, Long] = Claim(
    EXPECTED,
    f"Trials of {durations.LONG_NS / 1e9:g} s agree with short ones: at the throughput that these found they lose nothing.",
    lambda tables: tables.long_trials.rows or None if tables.long_trials else None,
    holds=lambda rows: not any(r.lost_frames for r in rows),
    yes=_told_long,
    no=_told_long,
)

Disturbed = dict[str, dict[tuple[float, bool], DisturbedRow]]
"""By variant; by load and whether there was a burst."""


def _disturbed(tables: Tables) -> Disturbed | None:
    if tables.long_disturbed is None:
        return None
    return {
        variant: {(row.share, bool(row.burst_frames)): row for row in rows}
        for variant, rows in tables.long_disturbed.by(lambda r: r.variant).items()
    }


def _of_variant(variant: str) -> Callable[[Tables], Disturbed | None]:
    return lambda tables: {variant: found[variant]} if (found := _disturbed(tables)) and variant in found else None


def _two_states(found: Disturbed) -> bool:
    return all(not by[1.0, False].lost_last_second and by[1.0, True].lost_last_second for by in found.values())


def _too_high(found: Disturbed) -> bool:
    return all(
        by[1.0, False].lost_last_second
        and not any(row.lost_frames for (share, burst), row in by.items() if share < 1 and not burst)
        for by in found.values()
    )


def _told_disturbed(found: Disturbed) -> str:
    each = []
    for by in found.values():
        for share in dict.fromkeys(share for share, _ in by):
            alone, burst = by[share, False], by[share, True]
            each.append(
                f"{kpps(alone.offered_pps)} kpps ({100 * share:g} %): {alone.lost_last_second:,} and {burst.lost_last_second:,}"
            )
    return f"frames lost in the second half of trials of 2 s, without a burst and long after one: {'; '.join(each)}."


def _state(why: str, variant: str, holds: Callable[[Disturbed], bool]) -> Claim[Tables, Disturbed]:
    return Claim(EXPECTED, why, _of_variant(variant), holds=holds, yes=_told_disturbed, no=_told_disturbed)


_SLOWEST, _FASTEST = durations.DISTURBED
_STATES = _state(
    f"Long trials of {_SLOWEST} lose frames because at that throughput the DUT has two states: it loses nothing until something "
    f"makes frames wait, here a burst of {durations.BURST_FRAMES}, and goes on losing them from then on.",
    _SLOWEST,
    _two_states,
)
_EXCESS = _state(
    f"Long trials of {_FASTEST} lose frames because short ones find a throughput that is less than 1 % too high.",
    _FASTEST,
    _too_high,
)

CLAIMS: tuple[Claim[Tables, Any], ...] = (
    _PRINTED,
    _no_change(
        "Freeing sent packets as the paper does (one by one before each transmit, none when receiving, no timer)",
        (causes.FREEING,), "ours", causes.AS_PAPER,
    ),
    _lead("it passes frames to the stack as lists", causes.SINGLE),
    _lead("freeing a sent packet in an interrupt costs the DUT less than the board", causes.CHARGED),
    _no_change("The kernel's argument preempt=none", (causes.BASE_CAUSE, causes.PREEMPTION), causes.NONE, causes.NO_PREEMPTION),
    _no_change("A chip whose bus and wire take time", (causes.BASE_CAUSE, causes.CHIP), causes.NONE, causes.TIMED),
    _HANDLER,
    _OVERLOADED,
    _SAVED,
    _LONG,
    _STATES,
    _EXCESS,
)  # fmt: skip
