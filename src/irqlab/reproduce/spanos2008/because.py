# SPDX-License-Identifier: GPL-2.0-or-later
"""Claims that are tested once, without the costs of hardware: table 2 as printed, why figures differ, and long trials."""

from __future__ import annotations

from collections.abc import Callable

from irqlab.present.rows import listed
from irqlab.reproduce.claims import EXPECTED, PRINT, Claim, Test, Told, judged
from irqlab.reproduce.spanos2008 import causes, durations, throughput
from irqlab.reproduce.spanos2008.causes import CollapseCauseRow, InterruptCauseRow, ThroughputCauseRow
from irqlab.reproduce.spanos2008.durations import DisturbedRow
from irqlab.reproduce.spanos2008.fills import FillFitRow
from irqlab.reproduce.spanos2008.measure import Tables
from irqlab.reproduce.spanos2008.observations import REACHES, near
from irqlab.reproduce.spanos2008.precision import FASTEST, FEW, GREATLY, NAPI, NAPI_128, OFF, TX_128
from irqlab.reproduce.spanos2008.throughput import BASE
from irqlab.units import kpps

PRINTED = 0.1
"""A per cent is printed wrongly if it is off by more."""
SAME = 0.02
"""Throughputs that differ by less are the same."""
REVERSED_SIZES = tuple(
    size for size in causes.LIST_SIZES if throughput.paper_mbps()[size, NAPI] < throughput.paper_mbps()[size, OFF]
)
"""At which NAPI is slower than TX-OFF in the paper."""


# Table 2, as it is printed.


def _as_printed(tables: Tables) -> Told | None:
    rows = tables.table2_improvement.where(lambda r: r.printed_percent is not None)
    printed = {(r.frame_bytes, r.variant): r.printed_percent or 0.0 for r in rows}
    computed = {(r.frame_bytes, r.variant): r.paper_percent for r in rows}
    wrong = sum(abs(printed[cell] - computed[cell]) > PRINTED for cell in printed)
    if not wrong:
        return (True, f"all of {len(rows)} cells are.") if rows else None

    def error(size: int, first: str, second: str) -> float:
        return abs(printed[size, NAPI] - computed[size, first]) + abs(printed[size, OFF] - computed[size, second])

    sizes = {size for size, _ in printed if {(size, NAPI), (size, OFF)} <= set(printed)}
    swapped = {size for size in sizes if error(size, OFF, NAPI) < error(size, NAPI, OFF)}
    other = {NAPI: OFF, OFF: NAPI}
    put = {(size, v): printed[size, other.get(v, v) if size in swapped else v] for size, v in printed}
    told = [
        f"{variant} at {size} bytes is {computed[size, variant]:+.2f} %, not {percent:+.2f} %"
        for (size, variant), percent in put.items()
        if abs(percent - computed[size, variant]) > PRINTED
    ]
    swap = f" The columns {NAPI} and {OFF} are swapped in {len(swapped)} rows." if swapped else ""
    rest = f" {'Besides, ' if swapped else ''}{listed(told)}." if told else ""
    return False, f"{wrong} of {len(rows)} cells are not.{swap}{rest}"


def _reached(tables: Tables) -> Told | None:
    rows = tables.table2_improvement.rows
    if not rows:
        return None
    printed, computed = max(r.printed_percent or 0.0 for r in rows), max(r.paper_percent for r in rows)
    return max(printed, computed) < REACHES + 1, f"table 2 has {printed:.2f} %, table 1 {computed:.2f} %."


# Why throughputs differ: one cause on and off.


def _caused(tables: Tables, *chosen: str) -> dict[tuple[str, int, str], ThroughputCauseRow]:
    """By setting, frame bytes and variant; empty unless all of the causes were measured."""
    rows = [row for row in tables.causes_throughput or () if row.cause in chosen]
    found = {(row.setting, row.frame_bytes, row.variant): row for row in rows}
    return found if {row.cause for row in found.values()} == set(chosen) else {}


def _changes_nothing(chosen: tuple[str, ...], off: str, on: str) -> Test[Tables]:
    """Whether a cause makes no difference: throughputs with a setting and with another."""

    def told(tables: Tables) -> Told | None:
        found = _caused(tables, *chosen)
        both = {
            variant: (row.throughput_pps, found[on, size, variant].throughput_pps)
            for (setting, size, variant), row in found.items()
            if setting == off and (on, size, variant) in found
        }
        each = "; ".join(f"{v} {kpps(a)} and {kpps(b)} kpps ({100 * (b / a - 1):+.1f} %)" for v, (a, b) in both.items())
        same = all(abs(b / a - 1) < SAME for a, b in both.values())
        return (same, f"without and with it, {causes.BYTES}-byte frames: {each}.") if found else None

    return told


def _no_change(text: str, chosen: tuple[str, ...], off: str, on: str) -> Claim[Tables]:
    return Claim(EXPECTED, f"{text} changes throughput by less than {100 * SAME:g} %.", _changes_nothing(chosen, off, on))


def _lead(because: str, setting: str) -> Claim[Tables]:
    """By what share NAPI is faster than TX-OFF, by frame bytes. TX-OFF passes its frames one by one in any case."""

    def told(tables: Tables) -> Told | None:
        found = _caused(tables, causes.LISTS)
        base = {causes.SINGLE: causes.NONE}
        leads = {
            name: {
                size: row.throughput_pps / found[base.get(name, name), size, OFF].throughput_pps - 1
                for (one, size, variant), row in found.items()
                if one == name and variant == NAPI and size in REVERSED_SIZES
            }
            for name in (causes.NONE, causes.SINGLE, causes.CHARGED)
        }
        if not found:
            return None
        lists, single, charged = (
            listed([f"{100 * lead:+.1f} % ({size} bytes)" for size, lead in of.items()]) for of in leads.values()
        )
        text = f"{NAPI} against {OFF}: with lists {lists}; one by one {single}; with lists and the board's costs {charged}."
        return all(lead < 0 for lead in leads[setting].values()), text

    sizes = listed([str(size) for size in REVERSED_SIZES])
    text = f"{NAPI} is not slower than {OFF} with frames of {sizes} bytes, as it is in the paper, because {because}."
    return Claim(EXPECTED, text, told)


# Freeing in batches, and what both save together.


def _batches(tables: Tables) -> Told | None:
    """What freeing 128 packets in the handler costs, by how frames are allocated: TX-OFF against TX-128."""
    found = _caused(tables, causes.MEMORY)
    us = {(setting, variant): 1e6 / row.throughput_pps for (setting, _, variant), row in found.items()}
    shares = {
        setting: [
            100 * (us[setting, slow] - us[setting, fast]) / us[setting, BASE]
            for slow, fast in ((TX_128, OFF), (NAPI_128, FASTEST))
        ]
        for setting in causes.MEMORIES
        if (setting, BASE) in us
    }
    if not shares:
        return None
    each = "; ".join(f"{setting} {alone:.1f} and {napi:.1f} %" for setting, (alone, napi) in shares.items())
    first, *_, last = (min(both) for both in shares.values())
    return last >= 100 * GREATLY > first, (
        f"what {OFF} takes less than {TX_128}, and {FASTEST} than {NAPI_128}, of {BASE}'s time, {causes.BYTES} bytes: {each}."
    )


def _filled(tables: Tables) -> Told | None:
    rows = tables.fills_fits.rows if tables.fills_fits else ()
    if not rows:
        return None
    each = "; ".join(
        f"{r.terms} {r.mutual_least_us:.2f} to {r.mutual_most_us:.2f} µs, left-out error {r.left_out_error_percent:.1f} %"
        + (f", a fill {r.fill_ns:.0f} ns" if r.fill_ns is not None else "")
        for r in rows
    )
    last = rows[-1]
    held = (last.fill_ns or 0) > 0 and all(low <= r <= high for r, low, high in _ranges(last))
    return held, f"{each}; the paper {last.paper_least_us:.2f} to {last.paper_most_us:.2f} µs."


def _ranges(row: FillFitRow) -> list[tuple[float, float, float]]:
    return [(one, row.paper_least_us, row.paper_most_us) for one in (row.mutual_least_us, row.mutual_most_us)]


# Why the collapse and table 3 differ.


def _handler(tables: Tables) -> Told | None:
    found = {row.setting: row for row in tables.causes_collapse or ()}
    if not {causes.CHARGED, causes.HANDLER} <= set(found):
        return None

    def as_published(row: CollapseCauseRow) -> bool:
        return row.collapse_ratio is not None and near(row.collapse_ratio, row.paper_collapse_ratio or 1.0)

    told = ", ".join(f"{name} {row.collapse_ratio or 0:.2f}" for name, row in found.items())
    return (
        not as_published(found[causes.CHARGED]) and as_published(found[causes.HANDLER]),
        f"collapse by loss-free rate of {BASE}: {told}; the paper: {found[causes.CHARGED].paper_collapse_ratio:.2f}.",
    )


Shares = dict[tuple[str, str], InterruptCauseRow]
"""By setting and variant."""


def _under(tables: Tables) -> Shares | None:
    found = {(row.setting, row.variant): row for row in tables.causes_interrupts or ()}
    return found if {causes.NONE, causes.CHARGED} <= {setting for setting, _ in found} else None


def _told_rx(found: Shares) -> str:
    each = (f"{v} {row.rx_interrupts_per_frame:.4f} ({setting})" for (setting, v), row in found.items() if v in (NAPI, FASTEST))
    return f"receive interrupts a frame: {', '.join(each)}."


# Trials as long as the paper's.


def _lose_nothing(tables: Tables) -> Told | None:
    rows = tables.long_trials.rows if tables.long_trials else ()
    each = "; ".join(
        f"{r.variant} loses {r.lost_frames:,} of {r.sent_frames:,} frames at {kpps(r.offered_pps)} kpps "
        f"({100 * r.lost_frames / r.sent_frames:.2f} %)"
        for r in rows
    )
    return (not any(r.lost_frames for r in rows), f"{each}.") if rows else None


Disturbed = dict[tuple[float, bool], DisturbedRow]
"""By load and whether there was a burst."""


def _disturbed(variant: str, holds: Callable[[Disturbed], bool]) -> Test[Tables]:
    def told(tables: Tables) -> Told | None:
        by = {(row.share, bool(row.burst_frames)): row for row in tables.long_disturbed or () if row.variant == variant}
        each = []
        for share in dict.fromkeys(share for share, _ in by):
            alone, burst = by[share, False], by[share, True]
            lost = f"{alone.lost_last_second:,} and {burst.lost_last_second:,}"
            each.append(f"{kpps(alone.offered_pps)} kpps ({100 * share:g} %): {lost}")
        if not by:
            return None
        text = f"frames lost in the second half of trials of 2 s, without a burst and long after one: {'; '.join(each)}."
        return holds(by), text

    return told


def _two_states(by: Disturbed) -> bool:
    return not by[1.0, False].lost_last_second and bool(by[1.0, True].lost_last_second)


def _too_high(by: Disturbed) -> bool:
    lost = any(row.lost_frames for (share, burst), row in by.items() if share < 1 and not burst)
    return bool(by[1.0, False].lost_last_second) and not lost


_SLOWEST, _FASTEST = durations.DISTURBED
CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(PRINT, f"The improvements that table 2 prints are those of table 1 over {BASE}.", _as_printed),
    Claim(
        PRINT,
        f"The improvement that section 6 says can be reached, {REACHES:g} %, is the largest of tables 1 and 2.",
        _reached,
    ),
    _no_change(
        "Freeing sent packets as the paper does (one by one before each transmit, none when receiving, no timer)",
        (causes.FREEING,),
        "ours",
        causes.AS_PAPER,
    ),
    _lead("it passes frames to the stack as lists", causes.SINGLE),
    _lead("freeing a sent packet in an interrupt costs the DUT less than the board", causes.CHARGED),
    Claim(
        EXPECTED,
        f"Freeing 128 packets at once is dear with Linux 2.6.9's allocator: with SLAB, and frames allocated and freed singly, "
        f"{OFF} saves at least {100 * GREATLY:.1f} % of {BASE}'s time against {TX_128}; with SLUB, and in bulk, it does not.",
        _batches,
    ),
    Claim(
        EXPECTED,
        f"{NAPI} and {OFF} together save more in the paper because the instruction cache fills less: with a cost for a fill, "
        "fitted together with those for a byte and for freeing in an interrupt, the interaction is the paper's.",
        _filled,
    ),
    _no_change("The kernel's argument preempt=none", (causes.BASE_CAUSE, causes.PREEMPTION), causes.NONE, causes.NO_PREEMPTION),
    _no_change("A chip whose bus and wire take time", (causes.BASE_CAUSE, causes.CHIP), causes.NONE, causes.TIMED),
    Claim(
        EXPECTED,
        f"With the costs fitted to table 1 {BASE} collapses too late, because they charge the handler nothing: with a cost of "
        "the handler the ratio is the paper's.",
        _handler,
    ),
    Claim(
        EXPECTED,
        f"{NAPI} takes receive interrupts under table 3's load because it is not overloaded: with the board's costs it takes "
        "next to none, as in the paper.",
        judged(
            _under,
            lambda found: all(found[causes.CHARGED, v].rx_interrupts_per_frame <= FEW for v in (NAPI, FASTEST)),
            _told_rx,
        ),
    ),
    Claim(
        EXPECTED,
        f"Trials of {durations.LONG_NS / 1e9:g} s agree with short ones: at the throughput that these found they lose nothing.",
        _lose_nothing,
    ),
    Claim(
        EXPECTED,
        f"Long trials of {_SLOWEST} lose frames because at that throughput the DUT has two states: it loses nothing until "
        f"something makes frames wait, here a burst of {durations.BURST_FRAMES}, and goes on losing them from then on.",
        _disturbed(_SLOWEST, _two_states),
    ),
    Claim(
        EXPECTED,
        f"Long trials of {_FASTEST} lose frames because short ones find a throughput that is less than 1 % too high.",
        _disturbed(_FASTEST, _too_high),
    ),
)
