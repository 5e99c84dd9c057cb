# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from irqlab.config.schemes import VARIANTS
from irqlab.present.rows import listed
from irqlab.reproduce import reference
from irqlab.reproduce.claims import AIM, WITH_COSTS, Claim, Finding, findings_of
from irqlab.reproduce.spanos2008 import because, curves, hardware, interrupts, observations, phases, throughput
from irqlab.reproduce.spanos2008.curves import CollapseRow
from irqlab.reproduce.spanos2008.hardware import ErrorRow, TermRow
from irqlab.reproduce.spanos2008.interrupts import InterruptRow
from irqlab.reproduce.spanos2008.model import ModelRow, ModelSizeRow
from irqlab.reproduce.spanos2008.phases import PhaseRow
from irqlab.reproduce.spanos2008.tables import RunTables, Tables
from irqlab.reproduce.spanos2008.throughput import BASE, ThroughputRow

CLOSE = 0.15
"""A ratio agrees with the paper's if it is within this share of it."""
FLAT = 0.02
"""A plateau this near to the maximum is flat."""
FORMULA_PERCENT = 2.0
"""How close the paper's formula, and the sum of all that is executed, are to come to 1/rate."""
R2_WANTED = 0.99
ALL_OF_IT = 0.9
"""A part of at least this share is taken for the whole."""
FEW = 0.01
"""Interrupts a frame that count as next to none."""
FASTEST = "NAPI-TX-OFF"
NAPI, OFF = "NAPI", "TX-OFF"
OVER_NAPI = ((64, 48.0), (64, 55.0), (256, 53.0))
"""Frame bytes, and what NAPI-TX-OFF gains over NAPI in per cent, by the paper's text."""
MODEL_PERCENT = 6.0
"""The model agrees with a throughput that is within this."""
MODEL_BYTES = throughput.SIZES[-1]
ORDERED_SIZES = throughput.SIZES[:6]
"""With larger frames every variant is at the wire's rate in the paper."""
LIVELOCK_BYTES = curves.SIZES[0]


def findings(tables: Tables) -> list[Finding]:
    """On the instruction clock alone, then with the costs of hardware."""
    found = findings_of(CLAIMS, tables) + findings_of(because.CLAIMS, tables)
    if tables.hardware is not None:
        charged = findings_of(CLAIMS, tables.hardware)
        found += [replace(finding, found=f"{WITH_COSTS}{finding.found}") for finding in charged]
    return found + findings_of(HARDWARE_CLAIMS, tables)


# Table 1: the order of the variants, and what they gain.


@dataclass(frozen=True)
class _Order:
    rows: list[ThroughputRow]
    profile: tuple[PhaseRow, ...]

    @property
    def capped_here(self) -> str:
        lifted = any(row.capped for row in self.rows)
        return " The wire is the limit here, where it was not in the paper: compared with that limit lifted." if lifted else ""


def _order(size: int) -> Claim[RunTables, _Order]:
    rates = {v: mbps for (s, v), mbps in throughput.paper_mbps().items() if s == size and mbps < throughput.WIRE_MBPS}
    order = ", ".join(f"{v} ({rates[v]:g})" for v in sorted(rates, key=lambda v: rates[v]))

    def evidence(tables: RunTables) -> _Order | None:
        rows = throughput.ordered(tables.table1_throughput, size)
        return _Order(rows, tables.table5_phases.rows) if len(rows) > 1 else None

    return Claim(
        "Table 1",
        f"With {size}-byte frames the order of the variants is {order} Mbit/s.",
        evidence,
        holds=lambda found: not throughput.order_differs(found.rows),
        yes=_same_order,
        no=_other_order,
    )


def _same_order(found: _Order) -> str:
    least, most = found.rows[0].free_mbps, found.rows[-1].free_mbps
    return f"the same order, from {least:.1f} to {most:.1f} Mbit/s.{found.capped_here}"


def _other_order(found: _Order) -> str:
    pairs = throughput.order_differs(found.rows)
    told = [f"{a.variant} ({a.free_mbps:.2f}) is not slower than {b.variant} ({b.free_mbps:.2f})" for a, b in pairs]
    return f"{listed(told)}.{found.capped_here}{_why(found.profile, pairs[0][0].variant, pairs[0][1].variant)}"


def _why(profile: Sequence[PhaseRow], slow: str, fast: str) -> str:
    """Where one variant spends more than another, from the profile of the smallest frames."""
    by = {row.variant: row for row in profile}
    if slow not in by or fast not in by:
        return ""
    more = _saved(by[fast], by[slow])
    dear = sorted((phase for phase in more if more[phase] > 0), key=lambda phase: -more[phase])[:2]
    if not dear:
        return ""
    parts = listed([f"{more[phase]:.0f} instructions more in {phases.NAMES[phase]}" for phase in dear])
    return f" The profile with {by[slow].frame_bytes}-byte frames: {fast} executes {parts}."


def _saved(one: PhaseRow, other: PhaseRow) -> dict[str, float]:
    """Instructions a frame that the one executes more than the other, by phase."""
    return {p: one.instructions.of(p) - other.instructions.of(p) for p in (*phases.PHASES, phases.REST)}


@dataclass(frozen=True)
class _Gain:
    ours: dict[str, float]
    theirs: dict[str, float]

    @property
    def told(self) -> str:
        each = ", ".join(f"{v} {self.ours[v]:.2f} ({self.theirs[v]:.2f})" for v in self.ours if v != BASE)
        return f"times as fast as {BASE} (the paper): {each}."


GAIN_BYTES = throughput.SIZES[0]


def _gains(tables: RunTables) -> _Gain | None:
    rows = tables.table1_throughput.where(lambda r: r.frame_bytes == GAIN_BYTES)
    base = next((row for row in rows if row.variant == BASE), None)
    if base is None:
        return None
    return _Gain(
        {row.variant: row.throughput_mbps / base.throughput_mbps for row in rows},
        {row.variant: row.paper_mbps / base.paper_mbps for row in rows},
    )


def _gain_claim() -> Claim[RunTables, _Gain]:
    paper = throughput.paper_mbps()
    gain = paper[GAIN_BYTES, FASTEST] / paper[GAIN_BYTES, BASE]
    return Claim(
        "Table 1",
        f"With {GAIN_BYTES}-byte frames {FASTEST} forwards {gain:.2f} times what {BASE} does.",
        _gains,
        holds=lambda found: abs(found.ours[FASTEST] / found.theirs[FASTEST] - 1) <= CLOSE,
        yes=lambda found: f"within {100 * CLOSE:g} % of that; {found.told}",
        no=lambda found: f"more than {100 * CLOSE:g} % from that; {found.told}",
    )


def _over_napi(size: int, percent: float) -> Claim[RunTables, _Gain]:
    paper = throughput.paper_mbps()
    printed = 100 * (paper[size, FASTEST] / paper[size, NAPI] - 1)

    def evidence(tables: RunTables) -> _Gain | None:
        rows = {r.variant: r for r in tables.table1_throughput if r.frame_bytes == size and r.variant in (NAPI, FASTEST)}
        if len(rows) < 2:
            return None
        return _Gain({v: row.free_mbps for v, row in rows.items()}, {v: row.paper_mbps for v, row in rows.items()})

    def told(found: _Gain) -> str:
        return f"by {100 * (found.ours[FASTEST] / found.ours[NAPI] - 1):.1f} %; the paper's table 1 says {printed:.1f} %."

    return Claim(
        "Section 4.2.2",
        f"With {size}-byte frames {FASTEST} is faster than {NAPI} by more than {percent:g} %.",
        evidence,
        holds=lambda found: found.ours[FASTEST] > (1 + percent / 100) * found.ours[NAPI],
        yes=told,
        no=told,
    )


def _together(found: _Gain) -> tuple[float, float]:
    """What both gain together over ORIGINAL, and the sum of what each gains, in per cent."""
    gain = {v: 100 * (found.ours[v] / found.ours[BASE] - 1) for v in (FASTEST, NAPI, OFF)}
    return gain[FASTEST], gain[NAPI] + gain[OFF]


def _told_together(found: _Gain) -> str:
    both, each = _together(found)
    return f"{FASTEST} gains {both:.0f} %, {NAPI} and {OFF} by themselves {each:.0f} % in all."


_TOGETHER: Claim[RunTables, _Gain] = Claim(
    "Section 5",
    f"With {GAIN_BYTES}-byte frames {FASTEST} gains more than {NAPI} and {OFF} together.",
    _gains,
    holds=lambda found: _together(found)[0] > max(0.0, _together(found)[1]),
    yes=_told_together,
    no=_told_together,
)


# Figure 5: receive livelock.


@dataclass(frozen=True)
class _Livelock:
    row: CollapseRow
    others: tuple[CollapseRow, ...]
    """Of the same frame size."""

    @property
    def fallen(self) -> str:
        told = [f"{r.variant} at {(r.collapse_pps or 0) / 1e3:.1f} kpps" for r in self.others if r.collapse_pps is not None]
        return f" So do others: {listed(told)}." if told else ""


def _collapse_of(variant: str) -> Claim[RunTables, _Livelock]:
    said = curves.paper_collapse(variant)
    at, ratio = said.at_pps or 0.0, said.ratio or 0.0

    def no(found: _Livelock) -> str:
        if found.row.collapse_pps is None:
            return f"no collapse up to the wire's rate, where it forwards {100 * found.row.plateau_ratio:.1f} % of its maximum."
        return f"{_collapse(found.row)}{found.fallen}"

    return Claim(
        "Section 4.2.2, figure 5",
        f"With {LIVELOCK_BYTES}-byte frames {variant} collapses at {at / 1e3:g} kpps offered, {ratio:.2f} times its loss-free "
        "rate.",
        lambda tables: _livelock(tables, variant),
        holds=lambda found: found.row.collapse_ratio is not None and abs(found.row.collapse_ratio / ratio - 1) <= CLOSE,
        yes=lambda found: f"{_collapse(found.row)}{found.fallen}",
        no=no,
    )


def _collapse(row: CollapseRow) -> str:
    return (
        f"at {(row.collapse_pps or 0) / 1e3:.1f} kpps, {row.collapse_ratio:.2f} times its loss-free rate; from there on it "
        f"forwards less than {100 * curves.COLLAPSED:g} % of its maximum."
    )


def _livelock(tables: RunTables, variant: str) -> _Livelock | None:
    rows = tables.figure5_collapse.where(lambda r: r.frame_bytes == LIVELOCK_BYTES)
    mine = next((row for row in rows if row.variant == variant), None)
    return _Livelock(mine, tuple(row for row in rows if row is not mine)) if mine else None


def _no_collapse_of(variant: str) -> Claim[RunTables, _Livelock]:
    return Claim(
        "Section 4.2.2, figure 5",
        f"With {LIVELOCK_BYTES}-byte frames {variant} keeps its rate under overload.",
        lambda tables: _livelock(tables, variant),
        holds=lambda found: found.row.collapse_pps is None and found.row.plateau_ratio > 1 - FLAT,
        yes=lambda found: f"at the wire's rate it forwards {100 * found.row.plateau_ratio:.1f} % of its maximum.",
        no=lambda found: (
            f"at the wire's rate it forwards only {100 * found.row.plateau_ratio:.1f} % of its maximum."
            if found.row.collapse_pps is None
            else _collapse(found.row)
        ),
    )


# Table 3: interrupts under full load.

Rows3 = tuple[InterruptRow, ...]


def _rows3(tables: RunTables, *variants: str) -> Rows3 | None:
    return tables.table3_interrupts.where(lambda r: r.variant in variants) or None


def _shares(rows: Rows3) -> str:
    told = (f"{r.variant} {100 * r.forwarded_share:.1f} % ({100 * r.paper_forwarded_share:.1f} %)" for r in rows)
    return f"forwarded of what was offered (the paper): {', '.join(told)}."


def _idle(rows: Rows3) -> str:
    least, most = (100 * choose(r.idle_ratio for r in rows) for choose in (min, max))
    return f"The CPU is idle for {least:.0f} to {most:.0f} %."


def _overloaded(rows: Rows3) -> bool:
    return all(r.transmitted_frames < r.offered_frames for r in rows)


def _rare(row: InterruptRow) -> bool:
    return (row.rx_interrupts or 0) <= FEW * row.received_frames


def _interrupt_claims() -> tuple[Claim[RunTables, Rows3], ...]:
    paper = {variant: interrupts.paper_counts(variant) for variant in interrupts.VARIANTS}
    napi, off = ("NAPI", FASTEST), ("TX-OFF", FASTEST)
    rare = " and ".join(f"{paper[v].rx_interrupts} with {v}" for v in napi)

    def received(rows: Rows3) -> str:
        return ", ".join(f"{r.rx_interrupts} of {r.received_frames} frames with {r.variant}" for r in rows) + "."

    def sent(rows: Rows3) -> str:
        return ", ".join(f"{r.tx_interrupts} with {r.variant}" for r in rows) + "."

    return (
        Claim(
            "Table 3",
            "Frames of 512 bytes at 100 Mbit/s on both interfaces overload every variant.",
            lambda tables: _rows3(tables, *interrupts.VARIANTS),
            holds=_overloaded,
            yes=_shares,
            no=lambda rows: (
                f"{sum(r.transmitted_frames < r.offered_frames for r in rows)} of {len(rows)} lose frames; "
                f"{_shares(rows)} {_idle(rows)}"
            ),
        ),
        Claim(
            "Table 3",
            f"Under that load NAPI takes next to no receive interrupts: {rare}.",
            lambda tables: _rows3(tables, *napi),
            holds=lambda rows: all(map(_rare, rows)),
            yes=received,
            no=lambda rows: f"{received(rows)} NAPI saves receive interrupts only when polls find frames waiting.",
        ),
        Claim(
            "Table 3",
            f"{listed(off)} take no transmit interrupts.",
            lambda tables: _rows3(tables, *off),
            holds=lambda rows: not any(r.tx_interrupts for r in rows),
            yes=sent,
            no=sent,
        ),
    )


# Table 5: what a frame costs.


@dataclass(frozen=True)
class _Errors:
    """Against 1/rate, in per cent: of the paper's formula, and of all that was executed."""

    variant: str
    formula: float
    executed: float
    rest: float
    """The share that is in none of the paper's phases."""


def _errors(tables: RunTables) -> list[_Errors] | None:
    """None if the rates are not exact enough to compare with (`--quick`)."""
    return [
        _Errors(
            row.variant,
            100 * (row.paper_total_us / row.per_frame_us - 1),
            row.sum_error_percent,
            row.instructions.rest / row.sum_instructions,
        )
        for row in tables.table5_phases
        if row.per_frame_us is not None and row.sum_error_percent is not None
    ] or None


def _formula(found: list[_Errors]) -> str:
    return f"off by {', '.join(f'{e.formula:+.2f} % ({e.variant})' for e in found)}."


@dataclass(frozen=True)
class _Saving:
    total: float
    by_phase: dict[str, float]

    @property
    def switches(self) -> float:
        return (self.by_phase[phases.CS_IN] + self.by_phase[phases.CS_OUT]) / self.total

    @property
    def told(self) -> str:
        others = {p: saved for p, saved in self.by_phase.items() if p not in (phases.CS_IN, phases.CS_OUT)}
        most = sorted(others, key=lambda p: -others[p])[:3]
        rest = listed([f"{100 * others[p] / self.total:.0f} % is {phases.NAMES[p]}" for p in most])
        return f"of {self.total:.0f} instructions a frame that are saved, {100 * self.switches:.0f} % is that; {rest}."


def _saving(tables: RunTables) -> _Saving | None:
    by = {row.variant: row for row in tables.table5_phases}
    if BASE not in by or FASTEST not in by:
        return None
    total = by[BASE].sum_instructions - by[FASTEST].sum_instructions
    return _Saving(total, _saved(by[BASE], by[FASTEST])) if total > 0 else None


def _sums(found: list[_Errors]) -> str:
    worst, rest = max(found, key=lambda e: abs(e.executed)), max(e.rest for e in found)
    return (
        f"off by {abs(worst.executed):.2f} % at most ({worst.variant}); {100 * rest:.1f} % at most is in none of the "
        "paper's phases."
    )


_PHASE_CLAIMS: tuple[Claim[RunTables, Any], ...] = (
    Claim(
        "Table 5",
        "The formulas of the total packet process time tell how long a frame takes with each variant.",
        _errors,
        holds=lambda found: all(abs(e.formula) <= FORMULA_PERCENT for e in found),
        yes=lambda found: f"with the phases measured, within {FORMULA_PERCENT:g} % of 1/rate; {_formula(found)}",
        no=lambda found: f"with the phases measured, not within {FORMULA_PERCENT:g} % of 1/rate; {_formula(found)}",
    ),
    Claim(
        "Table 5",
        f"By the formulas {BASE} and {FASTEST} differ in entering and leaving interrupts alone.",
        _saving,
        holds=lambda found: found.switches >= ALL_OF_IT,
        yes=lambda found: found.told,
        no=lambda found: found.told,
    ),
    Claim(
        AIM,
        f"What is executed for a frame adds up to 1/rate within {FORMULA_PERCENT:g} %.",
        _errors,
        holds=lambda found: all(abs(e.executed) <= FORMULA_PERCENT for e in found),
        yes=_sums,
        no=_sums,
    ),
)


# Table 4: the linear model.

Rows4 = tuple[ModelRow, ...]


def _fitted(tables: RunTables) -> Rows4 | None:
    """Fits to more than two sizes."""
    return tables.table4_model.where(lambda r: r.r2 is not None) or None


def _r2(rows: Rows4) -> str:
    told = ", ".join(f"{r.variant} {r.r2:.4f}" for r in rows)
    off = max(r.max_residual_us / r.t_constant_us for r in rows)
    return f"R² is {told}. The largest residual is {100 * off:.2f} % of T_constant."


def _model_claims() -> tuple[Claim[RunTables, Rows4], ...]:
    paper = reference.by("spanos2008_table4_model", "driver")
    k = {float(row["k_us_per_byte"]) for row in paper.values()}
    t = ", ".join(f"{v} {float(paper[v]['t_constant_us']):g}" for v in VARIANTS)

    def near(ours: float, theirs: float) -> bool:
        return abs(ours / theirs - 1) <= CLOSE

    def told_k(rows: Rows4) -> str:
        return "k in µs a byte (the paper): " + ", ".join(
            f"{r.variant} {r.k_us_per_byte:.5f} ({r.paper_k_us_per_byte:g})" for r in rows
        )

    def told_t(rows: Rows4) -> str:
        return "T_constant in µs (the paper): " + ", ".join(
            f"{r.variant} {r.t_constant_us:.2f} ({r.paper_t_constant_us:g})" for r in rows
        )

    return (
        Claim(
            "Table 4",
            "The time a frame takes is linear in its size.",
            _fitted,
            holds=lambda rows: all((r.r2 or 0) >= R2_WANTED for r in rows),
            yes=_r2,
            no=lambda rows: f"below {R2_WANTED}: {listed([r.variant for r in rows if (r.r2 or 0) < R2_WANTED])}. {_r2(rows)}",
        ),
        Claim(
            "Table 4",
            f"A byte takes {' or '.join(f'{one:g}' for one in sorted(k))} µs with every variant.",
            lambda tables: tables.table4_model.rows or None,
            holds=lambda rows: all(near(r.k_us_per_byte, r.paper_k_us_per_byte) for r in rows),
            yes=lambda rows: f"{told_k(rows)}.",
            no=lambda rows: f"{told_k(rows)}.",
        ),
        Claim(
            "Table 4",
            f"The constant part takes, in µs: {t}.",
            lambda tables: tables.table4_model.rows or None,
            holds=lambda rows: all(near(r.t_constant_us, r.paper_t_constant_us) for r in rows),
            yes=lambda rows: f"{told_t(rows)}.",
            no=lambda rows: f"{told_t(rows)}.",
        ),
    )


# Figures 6 and 7: the model's throughput.

Sizes = tuple[ModelSizeRow, ...]


def _below_the_wire(tables: RunTables) -> Sizes | None:
    return tables.figure6_model.where(lambda r: (r.throughput_mbps or throughput.WIRE_MBPS) < throughput.WIRE_MBPS) or None


def _worst(rows: Sizes) -> str:
    row = max(rows, key=lambda r: abs(r.error_percent or 0.0))
    return f"off by {row.error_percent:+.2f} % at most ({row.variant}, {row.frame_bytes} bytes), of {len(rows)} throughputs."


def _model_gain(tables: RunTables) -> tuple[float, float] | None:
    found = {r.variant: r.model_mbps for r in tables.figure6_model if r.frame_bytes == MODEL_BYTES}
    return (found[FASTEST], found[BASE]) if {FASTEST, BASE} <= set(found) else None


def _model_figures() -> tuple[Claim[RunTables, Any], ...]:
    paper = reference.by("spanos2008_table4_model", "driver")
    us = {v: float(paper[v]["t_constant_us"]) + float(paper[v]["k_us_per_byte"]) * MODEL_BYTES for v in (BASE, FASTEST)}
    said = us[BASE] / us[FASTEST]

    def told(found: tuple[float, float]) -> str:
        return f"{found[0]:.0f} and {found[1]:.0f} Mbit/s per interface: {found[0] / found[1]:.2f} times."

    return (
        Claim(
            "Figure 6",
            "Where the wire is not the limit the model's throughput is the measured one.",
            _below_the_wire,
            holds=lambda rows: all(abs(r.error_percent or 0.0) <= MODEL_PERCENT for r in rows),
            yes=_worst,
            no=_worst,
        ),
        Claim(
            "Figure 7",
            f"By the model {FASTEST} is faster with large frames, too: with {MODEL_BYTES} bytes {said:.2f} times as fast as "
            f"{BASE} (computed from the paper's table 4).",
            _model_gain,
            holds=lambda found: abs(found[0] / found[1] / said - 1) <= CLOSE,
            yes=told,
            no=told,
        ),
    )


CLAIMS: tuple[Claim[RunTables, Any], ...] = (
    *(_order(size) for size in ORDERED_SIZES),
    _gain_claim(),
    *observations.TABLE_1,
    *(_over_napi(size, percent) for size, percent in OVER_NAPI),
    _TOGETHER,
    _collapse_of(BASE),
    *(_no_collapse_of(variant) for variant in (NAPI, "NAPI-TX-128", FASTEST)),
    *_interrupt_claims(),
    *observations.LIVELOCK,
    *observations.TABLE_5,
    *_PHASE_CLAIMS,
    *_model_claims(),
    *_model_figures(),
)
"""Tested on each run."""


# The costs of hardware.


def _predicted(tables: Tables) -> ErrorRow | None:
    if tables.hardware_errors is None:
        return None
    row = tables.hardware_errors.one(lambda r: r.cells == hardware.PREDICTED)
    return None if row.error_percent is None else row


def _predictions(row: ErrorRow) -> str:
    return f"{row.error_percent:.1f} % over {row.count} cells; with instructions alone {row.raw_error_percent:.1f} %."


Terms = tuple[TermRow, tuple[TermRow, ...]]
"""All charged, and each left out."""


def _terms(tables: Tables) -> Terms | None:
    if tables.hardware_terms is None:
        return None
    every = tables.hardware_terms.one(lambda r: r.term == hardware.ALL_CHARGED)
    without = tables.hardware_terms.where(lambda r: r.cost_ns is not None)
    return (every, without) if without and every.predicted_error_percent is not None else None


def _useless(found: Terms) -> list[TermRow]:
    return [r for r in found[1] if (r.predicted_error_percent or 0.0) < (found[0].predicted_error_percent or 0.0)]


def _errors_without(found: Terms) -> str:
    told = ", ".join(f"{r.predicted_error_percent:.1f} % {r.term}" for r in found[1])
    return f"the error is {found[0].predicted_error_percent:.1f} % with all terms; {told}."


HARDWARE_CLAIMS: tuple[Claim[Tables, Any], ...] = (
    Claim(
        AIM,
        f"The costs of hardware predict the cells of table 1 that they were not fitted to within {hardware.TARGET_PERCENT:g} %.",
        _predicted,
        holds=lambda row: (row.error_percent or 0.0) <= hardware.TARGET_PERCENT,
        yes=_predictions,
        no=_predictions,
    ),
    Claim(
        AIM,
        "Every term of the costs makes those predictions better.",
        _terms,
        holds=lambda found: not _useless(found),
        yes=_errors_without,
        no=lambda found: f"not {listed([r.term.removeprefix('without ') for r in _useless(found)])}: {_errors_without(found)}",
    ),
)
