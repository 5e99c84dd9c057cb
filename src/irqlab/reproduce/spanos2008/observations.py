# SPDX-License-Identifier: GPL-2.0-or-later
"""What the paper says in words of its tables and figures; tested on each run, with costs and without."""

from __future__ import annotations

from collections.abc import Callable

from irqlab.present.rows import listed
from irqlab.reproduce.claims import Claim, Test, Told, judged
from irqlab.reproduce.spanos2008 import curves, interrupts
from irqlab.reproduce.spanos2008.interrupts import InterruptRow
from irqlab.reproduce.spanos2008.measure import RunTables
from irqlab.reproduce.spanos2008.phases import PhaseRow
from irqlab.reproduce.spanos2008.throughput import BASE, ThroughputRow
from irqlab.units import kpps

TX_128, OFF, NAPI, NAPI_128, FASTEST = "TX-128", "TX-OFF", "NAPI", "NAPI-TX-128", "NAPI-TX-OFF"
SIMILAR = 0.1
"""Throughputs that differ by no more are similar. In the paper NAPI and TX-OFF differ by 6 % at most."""
MUCH = 2.0
"""A gain is much better if it is so many times the other. In the paper: 3.4 times at the least."""
SLIGHTLY = 0.15
"""Faster by no more than this share is slightly faster. In the paper NAPI-TX-128 is by 13 % at most."""
CLOSE = 0.15
"""A ratio agrees with the paper's if it is within this share of it."""
NEAR = 0.05
"""Rates and interrupts per frame that are the paper's differ from them by no more than this share."""
FLAT = 0.02
"""A plateau this near to the maximum is flat."""
ALL = 0.999
"""This share of the frames is all of them."""
FEW = 0.01
"""Interrupts a frame that count as next to none."""
GREATLY = 0.1
"""Of a frame's time: what changes more changes it greatly."""
WITHOUT_NAPI = (BASE, TX_128, OFF)
WITH_NAPI = (NAPI, NAPI_128, FASTEST)

Variants = dict[str, ThroughputRow]
"""By variant, at a size at which they are below the wire's rate in the paper."""


def _gain(of: Variants, variant: str, base: str = BASE) -> float:
    """In per cent, the wire's limit lifted."""
    return 100 * (of[variant].free_mbps / of[base].free_mbps - 1)


def _between(gains: list[float]) -> str:
    least, most = (f"{gain:+.1f}" for gain in (min(gains), max(gains)))
    return f"{least} %" if least == most else f"{least} to {most} %"


def _gains(holds: Callable[[Variants], bool], *variants: str) -> Test[RunTables]:
    """Whether something holds at all sizes. What each variant gains over all of them is told; `variants`: none: of all."""

    def told(tables: RunTables) -> Told | None:
        found = _compared(tables, TX_128, *variants)
        if not found:
            return None
        of = {v: [_gain(rows, v) for rows in found.values() if v in rows] for v in (*WITHOUT_NAPI[1:], *WITH_NAPI)}
        each = ", ".join(f"{v} {_between(gains)}" for v, gains in of.items() if gains and v in (variants or of))
        text = f"over {BASE}, the wire's limit lifted, {min(found)} to {max(found)} bytes: {each}."
        return all(map(holds, found.values())), text

    return told


def _compared(tables: RunTables, *variants: str) -> dict[int, Variants]:
    """By frame bytes: sizes at which ORIGINAL and the variants compared are below the wire's rate in the paper."""
    by = tables.table1_throughput.by(lambda r: r.frame_bytes)
    found = {size: {r.variant: r for r in rows if not r.paper_capped} for size, rows in by.items()}
    return {size: of for size, of in found.items() if {BASE, *variants} <= set(of)}


def _slightly(tables: RunTables) -> Told | None:
    found = _compared(tables, NAPI, NAPI_128)
    gains = [_gain(of, NAPI_128, NAPI) for of in found.values()]
    if not gains:
        return None
    return all(0 < gain <= 100 * SLIGHTLY for gain in gains), f"by {_between(gains)}, {min(found)} to {max(found)} bytes."


# Section 4.2.2: table 3 and figure 5.


def _all_of(count: Callable[[InterruptRow], tuple[int, int]], *variants: str) -> Test[RunTables]:
    """Whether of the frames counted, the first of two numbers, all are there."""

    def told(tables: RunTables) -> Told | None:
        found = {row.variant: count(row) for row in tables.table3_interrupts if row.variant in variants}
        every = all(some >= ALL * of for some, of in found.values())
        return (every, f"{', '.join(f'{v} {some:,} of {of:,}' for v, (some, of) in found.items())}.") if found else None

    return told


def _plateaus(flat: bool, *variants: str) -> Test[RunTables]:
    """Whether the variants keep their rate, or do not."""

    def told(tables: RunTables) -> Told | None:
        rows = tables.figure5_collapse.where(lambda r: r.variant in variants)
        each = ", ".join(f"{r.variant} {100 * r.plateau_ratio:.1f} % ({r.frame_bytes} bytes)" for r in rows)
        held = all(r.plateau_ratio > 1 - FLAT if flat else r.plateau_ratio < 1 - FLAT for r in rows)
        return (held, f"at the wire's rate, of the most that is forwarded: {each}.") if rows else None

    return told


def _loss_free(tables: RunTables) -> Told | None:
    """In frames/s, both directions together."""
    rows = {r.variant: r for r in tables.figure5_collapse if r.paper_loss_free_pps and r.variant in (BASE, FASTEST)}
    if set(rows) != {BASE, FASTEST}:
        return None
    near = all(abs(row.loss_free_pps / (row.paper_loss_free_pps or 0.0) - 1) <= NEAR for row in rows.values())
    return near, f"{' and '.join(f'{v} {kpps(row.loss_free_pps)} kpps' for v, row in rows.items())}."


# Section 5, table 5.

Rows5 = dict[str, PhaseRow]


def _rows5(tables: RunTables) -> Rows5 | None:
    return tables.table5_phases.keyed(lambda row: row.variant, BASE, OFF, *WITH_NAPI) or None


def _rates_hold(found: Rows5) -> bool:
    return all(
        r.interrupts_per_frame <= FEW
        if not r.paper_interrupts_per_frame
        else abs(r.interrupts_per_frame / r.paper_interrupts_per_frame - 1) <= NEAR
        for r in found.values()
    )


def _told_rates(found: Rows5) -> str:
    each = (f"{v} {r.interrupts_per_frame:.4f} ({r.paper_interrupts_per_frame:.4f})" for v, r in found.items())
    return f"interrupts a frame (the formula): {', '.join(each)}."


def _told_enabled(found: Rows5) -> str:
    return f"of a frame's time, at most: {', '.join(f'{v} {100 * r.enabled_share:.0f} %' for v, r in found.items())}."


def _enabled(found: Rows5) -> bool:
    least = min(found[v].enabled_share for v in (NAPI_128, FASTEST))
    return all(r.enabled_share < least for v, r in found.items() if v not in (NAPI_128, FASTEST))


def _freeing(tables: RunTables) -> Told | None:
    """What TX-OFF saves of T_SKB, as a share of a frame's instructions."""
    found = _rows5(tables)
    if not found:
        return None
    base, off = (found[v].instructions.skb for v in (BASE, OFF))
    saved = (base - off) / found[BASE].sum_instructions
    text = f"T_SKB takes {base:.0f} instructions with {BASE} and {off:.0f} with {OFF}: {100 * saved:.1f} % of a frame's."
    return saved >= GREATLY, text


TABLE_1: tuple[Claim[RunTables], ...] = (
    Claim(
        "Section 4.2.1",
        "All modified drivers are faster than the original.",
        _gains(lambda of: all(_gain(of, v) > 0 for v in of if v != BASE)),
    ),
    Claim(
        "Section 4.2.1",
        f"{TX_128} provides the smallest improvement.",
        _gains(lambda of: all(_gain(of, TX_128) < _gain(of, v) for v in of if v not in (BASE, TX_128))),
    ),
    Claim(
        "Section 4.2.1",
        f"{NAPI} and {OFF} provide similar improvement.",
        _gains(lambda of: abs(of[NAPI].free_mbps / of[OFF].free_mbps - 1) <= SIMILAR, NAPI, OFF),
    ),
    Claim(
        "Section 4.2.1",
        f"Both perform much better than {TX_128}.",
        _gains(lambda of: min(_gain(of, NAPI), _gain(of, OFF)) >= MUCH * _gain(of, TX_128) > 0, NAPI, OFF, TX_128),
    ),
    Claim("Section 4.2.1", f"{NAPI_128} is slightly faster than {NAPI}.", _slightly),
)
LIVELOCK: tuple[Claim[RunTables], ...] = (
    Claim(
        "Section 4.2.2, table 3",
        "Drivers without NAPI receive all frames that arrive.",
        _all_of(lambda row: (row.received_frames, row.offered_frames), *(v for v in interrupts.VARIANTS if v in WITHOUT_NAPI)),
    ),
    Claim(
        "Section 4.2.2, table 3",
        "With NAPI all received frames are forwarded.",
        _all_of(lambda row: (row.transmitted_frames, row.received_frames), NAPI, FASTEST),
    ),
    Claim(
        "Section 4.2.2",
        f"With {curves.SIZES[0]}-byte frames the highest rate without loss is, in kpps: "
        f"{' and '.join(f'{v} {(curves.paper_collapse(v).loss_free_pps or 0.0) / 1e3:g}' for v in (BASE, FASTEST))}.",
        _loss_free,
    ),
    Claim(
        "Section 4.2.2, figure 5",
        f"Above their throughput {listed(list(WITHOUT_NAPI))} forward less the more arrives, with {curves.SIZES[0]}- and "
        f"{curves.SIZES[1]}-byte frames.",
        _plateaus(False, *WITHOUT_NAPI),
    ),
    Claim(
        "Section 4.2.2, figure 5",
        f"{listed(list(WITH_NAPI))} keep their rate with frames of both sizes.",
        _plateaus(True, *WITH_NAPI),
    ),
)
TABLE_5: tuple[Claim[RunTables], ...] = (
    Claim(
        "Table 5",
        "The interrupt rate is, of the rate of frames: 2, 129/128, 1, 1, 1/128 and next to 0.",
        judged(_rows5, _rates_hold, _told_rates),
    ),
    Claim(
        "Section 5",
        f"The time in which interrupts are enabled is greatest with {NAPI_128} and {FASTEST}.",
        judged(_rows5, _enabled, _told_enabled),
    ),
    Claim(
        "Section 3.2",
        "Freeing with dev_kfree_skb() in place of dev_kfree_skb_irq() changes performance greatly.",
        _freeing,
    ),
)
