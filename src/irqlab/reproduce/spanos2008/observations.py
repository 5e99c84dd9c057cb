# SPDX-License-Identifier: GPL-2.0-or-later
"""What the paper says of its tables 1 and 3 and of figure 5; tested on each run, with costs and without."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from irqlab.present.rows import listed
from irqlab.reproduce.claims import Claim, Test, Told, judged, not_tried
from irqlab.reproduce.spanos2008 import curves, interrupts, precision, throughput
from irqlab.reproduce.spanos2008.curves import CollapseRow
from irqlab.reproduce.spanos2008.interrupts import InterruptRow
from irqlab.reproduce.spanos2008.measure import RunTables
from irqlab.reproduce.spanos2008.precision import (
    COMPARABLE,
    FASTEST,
    FEW,
    FITTED_SIZES,
    FLAT,
    GREATLY,
    MUCH,
    MUTUAL_US,
    NAPI,
    NAPI_128,
    NEAR,
    OFF,
    PAPER,
    PRECISION,
    SIMILAR,
    SLIGHTLY,
    STABLE,
    TX_128,
    WITH_NAPI,
    WITHOUT_NAPI,
)
from irqlab.reproduce.spanos2008.throughput import BASE, ThroughputRow
from irqlab.units import kpps

ORDERED_SIZES = throughput.SIZES[:6]
"""With larger frames every variant is at the wire's rate in the paper."""
GAIN_BYTES = throughput.SIZES[0]
REACHES = 107.0
"""What its abstract and section 6 say the improvement can reach, in per cent."""
OVER_NAPI = ((curves.SIZES[0], 55.0), (curves.SIZES[1], 53.0))
"""Frame bytes, and by how much NAPI-TX-OFF exceeds NAPI under overload, in per cent: the words behind figure 5."""
OVER_NAPI_512 = 48.0
"""The same by the words behind table 3, which has 48.55 %."""
PRINTED = 0.5
"""Per cents are printed without decimals."""


@dataclass(frozen=True)
class Fitted(Claim[RunTables]):
    """With the costs of the board it is tested on what these were fitted to: table 1's frames of 64 and 512 bytes."""


def near(ours: float, theirs: float) -> bool:
    """Whether a figure is the paper's, as precisely as the paper has it."""
    return abs(ours / theirs - 1) <= PRECISION


# Table 1: the order of the variants, and what they gain.

Variants = dict[str, ThroughputRow]
"""By variant, at a size at which they are below the wire's rate in the paper."""


def _order(size: int) -> Claim[RunTables]:
    rates = {v: mbps for (s, v), mbps in precision.BELOW_WIRE.items() if s == size}
    order = ", ".join(f"{v} ({rates[v]:g})" for v in sorted(rates, key=lambda v: rates[v]))

    def told(tables: RunTables) -> Told | None:
        rows = throughput.ordered(tables.table1_throughput, size)
        if len(rows) < 2:
            return None
        lifted = " Beyond the wire's rate, which limits here." if any(row.capped for row in rows) else ""
        pairs = throughput.order_differs(rows)
        if not pairs:
            return True, f"the same order, from {rows[0].free_mbps:.1f} to {rows[-1].free_mbps:.1f} Mbit/s.{lifted}"
        each = [f"{a.variant} ({a.free_mbps:.2f}) is not slower than {b.variant} ({b.free_mbps:.2f})" for a, b in pairs]
        return False, f"{listed(each)}.{lifted}"

    kind = Fitted if size in FITTED_SIZES else Claim
    return kind("Table 1", f"With {size}-byte frames the order of the variants is {order} Mbit/s.", told)


def _compared(tables: RunTables, *variants: str) -> dict[int, Variants]:
    """By frame bytes: sizes at which ORIGINAL and the variants compared are below the wire's rate in the paper."""
    by = tables.table1_throughput.by(lambda r: r.frame_bytes)
    found = {size: {r.variant: r for r in rows if not r.paper_capped} for size, rows in by.items()}
    return {size: of for size, of in found.items() if {BASE, *variants} <= set(of)}


def _gain(of: Variants, variant: str, base: str = BASE) -> float:
    """In per cent, the wire's limit lifted."""
    return 100 * (of[variant].free_mbps / of[base].free_mbps - 1)


def _between(gains: Iterable[float], unit: str = " %", sign: str = "+") -> str:
    every = list(gains)
    least, most = (f"{gain:{sign}.1f}" for gain in (min(every), max(every)))
    return f"{least}{unit}" if least == most else f"{least} to {most}{unit}"


def _gains(holds: Callable[[Variants], bool], *variants: str) -> Test[RunTables]:
    """Whether something holds at all sizes. What each variant gains over all of them is told; `variants`: none: of all."""

    def told(tables: RunTables) -> Told | None:
        found = _compared(tables, TX_128, *variants)
        if not found:
            return None
        of = {v: [_gain(rows, v) for rows in found.values() if v in rows] for v in (*WITHOUT_NAPI[1:], *WITH_NAPI)}
        each = ", ".join(f"{v} {_between(gains)}" for v, gains in of.items() if gains and v in (variants or of))
        return all(map(holds, found.values())), f"over {BASE}, {min(found)} to {max(found)} bytes: {each}."

    return told


def _times(tables: RunTables) -> float | None:
    """How many times as many of the smallest frames as ORIGINAL the fastest forwards."""
    found = _compared(tables, FASTEST).get(GAIN_BYTES)
    return found[FASTEST].free_mbps / found[BASE].free_mbps if found else None


_TIMES = PAPER[GAIN_BYTES, FASTEST] / PAPER[GAIN_BYTES, BASE]


def _slightly(tables: RunTables) -> Told | None:
    found = _compared(tables, NAPI, NAPI_128)
    gains = [_gain(of, NAPI_128, NAPI) for of in found.values()]
    if not gains:
        return None
    return all(0 < gain <= 100 * SLIGHTLY for gain in gains), f"by {_between(gains)}, {min(found)} to {max(found)} bytes."


def _mutual(tables: RunTables) -> Told | None:
    """What both save together beyond the sum of what they save by themselves, in time."""
    found = {size: of for size, of in _compared(tables, NAPI, OFF, FASTEST).items() if size in COMPARABLE}
    us = {size: precision.mutual_us({v: row.us_per_frame for v, row in of.items()}) for size, of in found.items()}
    if not us:
        return None
    shares = [100 * us[size] / of[BASE].us_per_frame for size, of in found.items()]
    held = all(min(MUTUAL_US) <= one <= max(MUTUAL_US) for one in us.values())
    return held, (
        f"{min(us.values()):.2f} to {max(us.values()):.2f} µs, {_between(shares, sign='')} of {BASE}'s time, "
        f"{min(us)} to {max(us)} bytes."
    )


def _freeing(tables: RunTables) -> Told | None:
    """What TX-OFF saves against TX-128 of ORIGINAL's time."""
    found = {size: of for size, of in _compared(tables, TX_128, OFF).items() if size in COMPARABLE}
    saved = [(of[TX_128].us_per_frame - of[OFF].us_per_frame) / of[BASE].us_per_frame for of in found.values()]
    if not saved:
        return None
    return min(saved) >= GREATLY, (
        f"{OFF} takes {_between((100 * one for one in saved), sign='')} of {BASE}'s time less than {TX_128}, "
        f"{min(found)} to {max(found)} bytes."
    )


# Table 3: interrupts under full load.

Rows3 = tuple[InterruptRow, ...]


def _lost(row: InterruptRow) -> bool:
    return row.transmitted_frames < precision.LOSES * row.offered_frames


def _overloaded(holds: Callable[[Rows3], bool], told: Callable[[Rows3], str], *variants: str) -> Test[RunTables]:
    """Whether something holds under overload; not to be judged if a variant forwards what is offered."""

    def tell(tables: RunTables) -> Told | None:
        rows = tables.table3_interrupts.where(lambda r: r.variant in variants)
        if not rows:
            return None
        idle = [row.variant for row in rows if not _lost(row)]
        if idle:
            return None, f"not overloaded here: all that is offered is forwarded by {listed(idle)}."
        return holds(rows), told(rows)

    return tell


def _shares(rows: Rows3) -> str:
    told = (f"{r.variant} {100 * r.forwarded_share:.1f} % ({100 * r.paper_forwarded_share:.1f} %)" for r in rows)
    return f"forwarded of what was offered (the paper): {', '.join(told)}."


def _all_lose(tables: RunTables) -> Told | None:
    rows = tables.table3_interrupts.rows
    return (all(map(_lost, rows)), f"{sum(map(_lost, rows))} of {len(rows)} lose frames; {_shares(rows)}") if rows else None


def _more(rows: Rows3) -> float:
    by = {row.variant: row.transmitted_frames for row in rows}
    return 100 * (by[FASTEST] / by[NAPI] - 1)


def _about(percent: float, gain: float) -> bool:
    """Whether a gain is what "more than so many per cent" says, which is rounded: no less, and no whole per cent more."""
    return percent - PRINTED <= gain <= percent + 1 + PRINTED


ABOUT = "from half a per cent below to one and a half above, as it is rounded"
_RARE = " and ".join(f"{interrupts.paper_counts(v).rx_interrupts} with {v}" for v in (NAPI, FASTEST))
TABLE_3: tuple[Claim[RunTables], ...] = (
    Fitted(
        "Table 3",
        "Frames of 512 bytes at 100 Mbit/s on both interfaces overload every variant.",
        _all_lose,
    ),
    Claim(
        "Table 3",
        "Under that load they forward what the paper's do.",
        _overloaded(
            lambda rows: all(near(r.forwarded_share, r.paper_forwarded_share) for r in rows), _shares, *interrupts.VARIANTS
        ),
        NEAR,
    ),
    Fitted(
        "Section 4.2.2, table 3",
        f"Under that load {FASTEST} forwards more than {OVER_NAPI_512:g} % more than {NAPI}.",
        _overloaded(lambda rows: _about(OVER_NAPI_512, _more(rows)), lambda rows: f"{_more(rows):.1f} % more.", NAPI, FASTEST),
        ABOUT,
    ),
    Claim(
        "Table 3",
        f"Under that load NAPI takes next to no receive interrupts: {_RARE}.",
        _overloaded(
            lambda rows: all((r.rx_interrupts or 0) <= FEW * r.received_frames for r in rows),
            lambda rows: f"{', '.join(f'{r.rx_interrupts} of {r.received_frames} frames with {r.variant}' for r in rows)}.",
            NAPI,
            FASTEST,
        ),
        f"at most {FEW:g} a frame",
    ),
    Claim(
        "Section 4.2.2, table 3",
        "Drivers without NAPI receive all frames that arrive.",
        _overloaded(
            lambda rows: all(r.received_frames >= precision.LOSES * r.offered_frames for r in rows),
            lambda rows: f"{', '.join(f'{r.variant} {r.received_frames:,} of {r.offered_frames:,}' for r in rows)}.",
            *(v for v in interrupts.VARIANTS if v in WITHOUT_NAPI),
        ),
    ),
    Claim(
        "Section 4.2.2, table 3",
        "With NAPI all received frames are forwarded.",
        _overloaded(
            lambda rows: all(r.transmitted_frames >= precision.LOSES * r.received_frames for r in rows),
            lambda rows: f"{', '.join(f'{r.variant} {r.transmitted_frames:,} of {r.received_frames:,}' for r in rows)}.",
            NAPI,
            FASTEST,
        ),
    ),
)


# Figure 5: receive livelock.


def _livelock(tables: RunTables, variant: str, size: int = curves.SIZES[0]) -> CollapseRow | None:
    rows = tables.figure5_collapse.where(lambda r: (r.frame_bytes, r.variant) == (size, variant))
    return rows[0] if rows else None


_AT = curves.paper_collapse(BASE)


def _collapse(holds: Callable[[CollapseRow], bool]) -> Test[RunTables]:
    def told(tables: RunTables) -> Told | None:
        row = _livelock(tables, BASE)
        if row is None:
            return None
        if row.collapse_pps is None or row.collapse_ratio is None:
            return False, f"no collapse up to the wire's rate, where it forwards {100 * row.plateau_ratio:.1f} % of its maximum."
        others = tables.figure5_collapse.where(lambda r: r.frame_bytes == curves.SIZES[0] and r.variant != BASE)
        fallen = [f"{r.variant} at {r.collapse_pps / 1e3:.1f} kpps" for r in others if r.collapse_pps is not None]
        besides = f" So do others: {listed(fallen)}." if fallen else ""
        return holds(row), f"at {row.collapse_pps / 1e3:.1f} kpps, {row.collapse_ratio:.2f} times its loss-free rate.{besides}"

    return told


def _plateaus(flat: bool, *variants: str) -> Test[RunTables]:
    """Whether the variants keep their rate, or do not."""

    def told(tables: RunTables) -> Told | None:
        rows = tables.figure5_collapse.where(lambda r: r.variant in variants)
        each = ", ".join(f"{r.variant} {100 * r.plateau_ratio:.1f} % ({r.frame_bytes} bytes)" for r in rows)
        held = all((r.plateau_ratio >= FLAT) == flat for r in rows)
        return (held, f"at the wire's rate, of the most that is forwarded: {each}.") if rows else None

    return told


def _loss_free(tables: RunTables) -> Told | None:
    """In frames/s, both directions together."""
    rows = {r.variant: r for r in tables.figure5_collapse if r.paper_loss_free_pps and r.variant in (BASE, FASTEST)}
    if set(rows) != {BASE, FASTEST}:
        return None
    held = all(near(row.loss_free_pps, row.paper_loss_free_pps or 0.0) for row in rows.values())
    return held, f"{' and '.join(f'{v} {kpps(row.loss_free_pps)} kpps' for v, row in rows.items())}."


def _over_napi(size: int, percent: float) -> Claim[RunTables]:
    """On what is forwarded at the wire's rate, behind whose figure it stands."""

    def told(tables: RunTables) -> Told | None:
        fast, napi = (_livelock(tables, variant, size) for variant in (FASTEST, NAPI))
        if fast is None or napi is None:
            return None
        fast_pps, napi_pps = (row.max_forwarded_pps * row.plateau_ratio for row in (fast, napi))
        if not napi_pps:
            return False, f"at the wire's rate {NAPI} forwards nothing, and {FASTEST} {kpps(fast_pps)} kpps."
        gain = 100 * (fast_pps / napi_pps - 1)
        return _about(percent, gain), f"at the wire's rate by {gain:.1f} %."

    kind = Fitted if size in FITTED_SIZES else Claim
    text = f"Under overload with {size}-byte frames {FASTEST} forwards over {percent:g} % more than {NAPI}."
    return kind("Section 4.2.2, figure 5", text, told, ABOUT)


FIGURE_5: tuple[Claim[RunTables], ...] = (
    Claim(
        "Section 4.2.2, figure 5",
        f"With {curves.SIZES[0]}-byte frames {BASE} collapses at {(_AT.at_pps or 0) / 1e3:g} kpps offered.",
        _collapse(lambda row: near(row.collapse_pps or 0.0, _AT.at_pps or 0.0)),
        f"{NEAR}; less than {100 * curves.COLLAPSED:g} % of the maximum is a collapse",
    ),
    Claim(
        "Section 4.2.2, figure 5",
        f"That is {_AT.ratio:.2f} times its loss-free rate (computed from the paper's figures).",
        _collapse(lambda row: near(row.collapse_ratio or 0.0, _AT.ratio or 0.0)),
        NEAR,
    ),
    Claim(
        "Section 4.2.2, figure 5",
        f"Above their throughput {listed(list(WITHOUT_NAPI))} forward less the more arrives, with {curves.SIZES[0]}- and "
        f"{curves.SIZES[1]}-byte frames.",
        _plateaus(False, *WITHOUT_NAPI),
        f"less than {100 * FLAT:.1f} % at the wire's rate",
    ),
    Claim(
        "Section 4.2.2, figure 5",
        f"{listed(list(WITH_NAPI))} retain their rate with frames of both sizes.",
        _plateaus(True, *WITH_NAPI),
        STABLE,
    ),
    *(_over_napi(size, percent) for size, percent in OVER_NAPI),
    Fitted(
        "Section 4.2.2",
        f"With {curves.SIZES[0]}-byte frames the highest rate without loss is, in kpps: "
        f"{' and '.join(f'{v} {(curves.paper_collapse(v).loss_free_pps or 0.0) / 1e3:g}' for v in (BASE, FASTEST))}.",
        _loss_free,
        NEAR,
    ),
)
TABLE_1: tuple[Claim[RunTables], ...] = (
    *(_order(size) for size in ORDERED_SIZES),
    Fitted(
        "Table 1",
        f"With {GAIN_BYTES}-byte frames {FASTEST} forwards {_TIMES:.2f} times what {BASE} does.",
        judged(_times, lambda times: near(times, _TIMES), lambda times: f"{times:.2f} times."),
        NEAR,
    ),
    Fitted(
        "Abstract",
        f"The improvement can reach {REACHES:g} %.",
        judged(
            _times,
            lambda times: abs(100 * (times - 1) - REACHES) <= PRECISION * 100 * _TIMES,
            lambda times: f"{100 * (times - 1):.0f} %, with {GAIN_BYTES}-byte frames.",
        ),
        f"throughput {NEAR}",
    ),
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
        f"throughputs no more than {100 * SIMILAR:.1f} % apart, as in table 1",
    ),
    Claim(
        "Section 4.2.1",
        f"Both perform much better than {TX_128}.",
        _gains(lambda of: min(_gain(of, NAPI), _gain(of, OFF)) >= MUCH * _gain(of, TX_128) > 0, NAPI, OFF, TX_128),
        f"at least {MUCH:.1f} times the gain, the least in table 1",
    ),
    Claim(
        "Section 4.2.1",
        f"{NAPI_128} is slightly faster than {NAPI}.",
        _slightly,
        f"by no more than {100 * SLIGHTLY:.1f} %, the most in table 1",
    ),
    not_tried(
        "Section 4.2.1",
        f"While {TX_128} frees 128 packets the system cannot receive.",
        "no run looks for frames that arrive meanwhile.",
    ),
    Claim(
        "Section 5",
        f"{FASTEST} saves more than {NAPI} and {OFF} together: {min(MUTUAL_US):.1f} to {max(MUTUAL_US):.1f} µs a frame more (by "
        "table 1).",
        _mutual,
        f"{min(MUTUAL_US):.1f} to {max(MUTUAL_US):.1f} µs at {COMPARABLE[0]} to {COMPARABLE[-1]} bytes",
    ),
    Claim(
        "Section 3.2",
        "Freeing with dev_kfree_skb() in place of dev_kfree_skb_irq() changes performance greatly.",
        _freeing,
        f"at least {100 * GREATLY:.1f} % of {BASE}'s time, the least by table 1",
    ),
    not_tried(
        "Section 3.2",
        "dev_kfree_skb_irq() tends to overload the softirqs.",
        "the paper has no figure of it.",
    ),
)
