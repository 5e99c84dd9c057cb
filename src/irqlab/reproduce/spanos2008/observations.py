# SPDX-License-Identifier: GPL-2.0-or-later
"""What the paper says in words of its tables and figures; tested on each run, with costs and without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from irqlab.present.rows import listed
from irqlab.reproduce.claims import Claim
from irqlab.reproduce.spanos2008 import curves, interrupts
from irqlab.reproduce.spanos2008.curves import CollapseRow
from irqlab.reproduce.spanos2008.interrupts import InterruptRow
from irqlab.reproduce.spanos2008.phases import PhaseRow
from irqlab.reproduce.spanos2008.tables import RunTables
from irqlab.reproduce.spanos2008.throughput import BASE, ThroughputRow
from irqlab.units import kpps

TX_128, OFF, NAPI, NAPI_128, FASTEST = "TX-128", "TX-OFF", "NAPI", "NAPI-TX-128", "NAPI-TX-OFF"
SIMILAR = 0.1
"""Throughputs that differ by no more are similar. In the paper NAPI and TX-OFF differ by 6 % at most."""
MUCH = 2.0
"""A gain is much better if it is so many times the other. In the paper: 3.4 times at the least."""
SLIGHTLY = 0.15
"""Faster by no more than this share is slightly faster. In the paper NAPI-TX-128 is by 13 % at most."""
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
Found = dict[int, Variants]
"""By frame bytes and variant: sizes at which ORIGINAL and the variants compared are below the wire's rate in the paper."""


def _compared(*variants: str) -> Callable[[RunTables], Found | None]:
    def evidence(tables: RunTables) -> Found | None:
        by = tables.table1_throughput.by(lambda r: r.frame_bytes)
        found = {size: {r.variant: r for r in rows if not r.paper_capped} for size, rows in by.items()}
        return {size: of for size, of in found.items() if {BASE, *variants} <= set(of)} or None

    return evidence


def _gain(of: Variants, variant: str, base: str = BASE) -> float:
    """In per cent, the wire's limit lifted."""
    return 100 * (of[variant].free_mbps / of[base].free_mbps - 1)


def _between(gains: list[float]) -> str:
    least, most = (f"{gain:+.1f}" for gain in (min(gains), max(gains)))
    return f"{least} %" if least == most else f"{least} to {most} %"


def _gains(*variants: str) -> Callable[[Found], str]:
    """What each variant gains over all sizes. `variants`: none: all."""

    def told(found: Found) -> str:
        of = {v: [_gain(rows, v) for rows in found.values() if v in rows] for v in (*WITHOUT_NAPI[1:], *WITH_NAPI)}
        each = ", ".join(f"{v} {_between(gains)}" for v, gains in of.items() if gains and v in (variants or of))
        return f"over {BASE}, the wire's limit lifted, {min(found)} to {max(found)} bytes: {each}."

    return told


def _over_napi(found: Found) -> str:
    return f"by {_between([_gain(of, NAPI_128, NAPI) for of in found.values()])}, {min(found)} to {max(found)} bytes."


def _smallest(of: Variants) -> bool:
    return all(_gain(of, TX_128) < _gain(of, v) for v in of if v not in (BASE, TX_128))


def _improvement(
    text: str, variants: tuple[str, ...], holds: Callable[[dict[str, ThroughputRow]], bool]
) -> Claim[RunTables, Found]:
    told = _gains(*variants)
    return Claim(
        "Section 4.2.1",
        text,
        _compared(TX_128, *variants),
        holds=lambda found: all(map(holds, found.values())),
        yes=told,
        no=told,
    )


TABLE_1: tuple[Claim[RunTables, Any], ...] = (
    _improvement(
        "All modified drivers are faster than the original.", (), lambda of: all(_gain(of, v) > 0 for v in of if v != BASE)
    ),
    _improvement(f"{TX_128} provides the smallest improvement.", (), _smallest),
    _improvement(
        f"{NAPI} and {OFF} provide similar improvement.",
        (NAPI, OFF),
        lambda of: abs(of[NAPI].free_mbps / of[OFF].free_mbps - 1) <= SIMILAR,
    ),
    _improvement(
        f"Both perform much better than {TX_128}.",
        (NAPI, OFF, TX_128),
        lambda of: min(_gain(of, NAPI), _gain(of, OFF)) >= MUCH * _gain(of, TX_128) > 0,
    ),
    Claim(
        "Section 4.2.1",
        f"{NAPI_128} is slightly faster than {NAPI}.",
        _compared(NAPI, NAPI_128),
        holds=lambda found: all(0 < _gain(of, NAPI_128, NAPI) <= 100 * SLIGHTLY for of in found.values()),
        yes=_over_napi,
        no=_over_napi,
    ),
)


# Section 4.2.2: table 3 and figure 5.

Rows3 = tuple[InterruptRow, ...]


def _rows3(*variants: str) -> Callable[[RunTables], Rows3 | None]:
    return lambda tables: tables.table3_interrupts.where(lambda r: r.variant in variants) or None


def _shares(of: Callable[[InterruptRow], tuple[int, int]]) -> Callable[[Rows3], str]:
    return lambda rows: f"{', '.join(f'{r.variant} {of(r)[0]:,} of {of(r)[1]:,}' for r in rows)}."


def _received(row: InterruptRow) -> tuple[int, int]:
    return row.received_frames, row.offered_frames


def _forwarded(row: InterruptRow) -> tuple[int, int]:
    return row.transmitted_frames, row.received_frames


def _all(of: Callable[[InterruptRow], tuple[int, int]]) -> Callable[[Rows3], bool]:
    return lambda rows: all(of(r)[0] >= ALL * of(r)[1] for r in rows)


def _table_3(text: str, variants: tuple[str, ...], of: Callable[[InterruptRow], tuple[int, int]]) -> Claim[RunTables, Rows3]:
    return Claim("Section 4.2.2, table 3", text, _rows3(*variants), holds=_all(of), yes=_shares(of), no=_shares(of))


Ends = tuple[CollapseRow, ...]


def _ends(*variants: str) -> Callable[[RunTables], Ends | None]:
    return lambda tables: tables.figure5_collapse.where(lambda r: r.variant in variants) or None


def _plateaus(rows: Ends) -> str:
    told = ", ".join(f"{r.variant} {100 * r.plateau_ratio:.1f} % ({r.frame_bytes} bytes)" for r in rows)
    return f"at the wire's rate, of the most that is forwarded: {told}."


@dataclass(frozen=True)
class _LossFree:
    ours: dict[str, float]
    """Frames/s, both directions together, by variant."""
    theirs: dict[str, float]

    @property
    def told(self) -> str:
        return f"{' and '.join(f'{v} {kpps(pps)} kpps' for v, pps in self.ours.items())}."


def _loss_free(tables: RunTables) -> _LossFree | None:
    rows = {r.variant: r for r in tables.figure5_collapse if r.paper_loss_free_pps and r.variant in (BASE, FASTEST)}
    if set(rows) != {BASE, FASTEST}:
        return None
    return _LossFree({v: r.loss_free_pps for v, r in rows.items()}, {v: r.paper_loss_free_pps or 0.0 for v, r in rows.items()})


def _rates() -> str:
    said = {v: curves.paper_collapse(v).loss_free_pps or 0.0 for v in (BASE, FASTEST)}
    return " and ".join(f"{v} {pps / 1e3:g}" for v, pps in said.items())


LIVELOCK: tuple[Claim[RunTables, Any], ...] = (
    _table_3(
        "Drivers without NAPI receive all frames that arrive.",
        tuple(v for v in interrupts.VARIANTS if v in WITHOUT_NAPI),
        _received,
    ),
    _table_3("With NAPI all received frames are forwarded.", (NAPI, FASTEST), _forwarded),
    Claim(
        "Section 4.2.2",
        f"With {curves.SIZES[0]}-byte frames the highest rate without loss is, in kpps: {_rates()}.",
        _loss_free,
        holds=lambda found: all(abs(found.ours[v] / found.theirs[v] - 1) <= NEAR for v in found.ours),
        yes=lambda found: found.told,
        no=lambda found: found.told,
    ),
    Claim(
        "Section 4.2.2, figure 5",
        f"Above their throughput {listed(list(WITHOUT_NAPI))} forward less the more arrives, with {curves.SIZES[0]}- and "
        f"{curves.SIZES[1]}-byte frames.",
        _ends(*WITHOUT_NAPI),
        holds=lambda rows: all(r.plateau_ratio < 1 - FLAT for r in rows),
        yes=_plateaus,
        no=_plateaus,
    ),
    Claim(
        "Section 4.2.2, figure 5",
        f"{listed(list(WITH_NAPI))} keep their rate with frames of both sizes.",
        _ends(*WITH_NAPI),
        holds=lambda rows: all(r.plateau_ratio > 1 - FLAT for r in rows),
        yes=_plateaus,
        no=_plateaus,
    ),
)


# Section 5, table 5.

Rows5 = dict[str, PhaseRow]


def _rows5(tables: RunTables) -> Rows5 | None:
    found = {row.variant: row for row in tables.table5_phases}
    return found if {BASE, OFF, *WITH_NAPI} <= set(found) else None


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


def _freeing(found: Rows5) -> float:
    """What TX-OFF saves of T_SKB, as a share of a frame's instructions."""
    return (found[BASE].instructions.skb - found[OFF].instructions.skb) / found[BASE].sum_instructions


def _told_freeing(found: Rows5) -> str:
    base, off = (found[v].instructions.skb for v in (BASE, OFF))
    return (
        f"T_SKB takes {base:.0f} instructions with {BASE} and {off:.0f} with {OFF}: {100 * _freeing(found):.1f} % of a frame's."
    )


TABLE_5: tuple[Claim[RunTables, Rows5], ...] = (
    Claim(
        "Table 5",
        "The interrupt rate is, of the rate of frames: 2, 129/128, 1, 1, 1/128 and next to 0.",
        _rows5,
        holds=_rates_hold,
        yes=_told_rates,
        no=_told_rates,
    ),
    Claim(
        "Section 5",
        f"The time in which interrupts are enabled is greatest with {NAPI_128} and {FASTEST}.",
        _rows5,
        holds=_enabled,
        yes=_told_enabled,
        no=_told_enabled,
    ),
    Claim(
        "Section 3.2",
        "Freeing with dev_kfree_skb() in place of dev_kfree_skb_irq() changes performance greatly.",
        _rows5,
        holds=lambda found: _freeing(found) >= GREATLY,
        yes=_told_freeing,
        no=_told_freeing,
    ),
)
