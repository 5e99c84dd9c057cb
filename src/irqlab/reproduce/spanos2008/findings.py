# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from irqlab.config.schemes import VARIANTS
from irqlab.present.rows import listed
from irqlab.reproduce import reference
from irqlab.reproduce.claims import AIM, WITH_COSTS, Claim, Finding, Test, Told, findings_of, judged
from irqlab.reproduce.spanos2008 import curves, hardware, interrupts, observations, phases, throughput
from irqlab.reproduce.spanos2008.curves import CollapseRow
from irqlab.reproduce.spanos2008.interrupts import InterruptRow
from irqlab.reproduce.spanos2008.measure import RunTables, Tables
from irqlab.reproduce.spanos2008.model import ModelRow
from irqlab.reproduce.spanos2008.observations import CLOSE, FASTEST, FEW, FLAT, NAPI, OFF
from irqlab.reproduce.spanos2008.phases import PhaseRow
from irqlab.reproduce.spanos2008.throughput import BASE

FORMULA_PERCENT = 2.0
"""How close the paper's formula, and the sum of all that is executed, are to come to 1/rate."""
R2_WANTED = 0.99
ALL_OF_IT = 0.9
"""A part of at least this share is taken for the whole."""
OVER_NAPI = ((64, 48.0), (64, 55.0), (256, 53.0))
"""Frame bytes, and what NAPI-TX-OFF gains over NAPI in per cent, by the paper's text."""
MODEL_PERCENT = 6.0
"""The model agrees with a throughput that is within this."""
MODEL_BYTES = throughput.SIZES[-1]
ORDERED_SIZES = throughput.SIZES[:6]
"""With larger frames every variant is at the wire's rate in the paper."""
LIVELOCK_BYTES = curves.SIZES[0]
GAIN_BYTES = throughput.SIZES[0]
PAPER = throughput.paper_mbps()
MODEL = reference.by("spanos2008_table4_model", "driver")


def with_costs(tables: Tables) -> list[Finding]:
    """The claims tested once more, with the costs of hardware, and how good these are."""
    charged = findings_of(CLAIMS, tables.hardware) if tables.hardware else []
    again = [replace(finding, found=f"{WITH_COSTS}{finding.found}") for finding in charged]
    return again + findings_of(HARDWARE_CLAIMS, tables)


# Table 1: the order of the variants, and what they gain.


def _order(size: int) -> Claim[RunTables]:
    rates = {v: mbps for (s, v), mbps in PAPER.items() if s == size and mbps < throughput.WIRE_MBPS}
    order = ", ".join(f"{v} ({rates[v]:g})" for v in sorted(rates, key=lambda v: rates[v]))

    def told(tables: RunTables) -> Told | None:
        rows = throughput.ordered(tables.table1_throughput, size)
        if len(rows) < 2:
            return None
        lifted = any(row.capped for row in rows)
        here = " The wire is the limit here, where it was not in the paper: compared with that limit lifted." if lifted else ""
        pairs = throughput.order_differs(rows)
        if not pairs:
            return True, f"the same order, from {rows[0].free_mbps:.1f} to {rows[-1].free_mbps:.1f} Mbit/s.{here}"
        each = [f"{a.variant} ({a.free_mbps:.2f}) is not slower than {b.variant} ({b.free_mbps:.2f})" for a, b in pairs]
        slow, fast = pairs[0]
        return False, f"{listed(each)}.{here}{_why(tables.table5_phases.rows, slow.variant, fast.variant)}"

    return Claim("Table 1", f"With {size}-byte frames the order of the variants is {order} Mbit/s.", told)


def _why(profile: Sequence[PhaseRow], slow: str, fast: str) -> str:
    """Where one variant spends more than another, from the profile of the smallest frames."""
    by = {row.variant: row for row in profile}
    more = _saved(by[fast], by[slow]) if {slow, fast} <= set(by) else {}
    dear = sorted((phase for phase in more if more[phase] > 0), key=lambda phase: -more[phase])[:2]
    if not dear:
        return ""
    parts = listed([f"{more[phase]:.0f} instructions more in {phases.NAMES[phase]}" for phase in dear])
    return f" The profile with {by[slow].frame_bytes}-byte frames: {fast} executes {parts}."


def _saved(one: PhaseRow, other: PhaseRow) -> dict[str, float]:
    """Instructions a frame that the one executes more than the other, by phase."""
    return {p: one.instructions.of(p) - other.instructions.of(p) for p in (*phases.PHASES, phases.REST)}


Gains = dict[str, float]
"""Throughput with GAIN_BYTES as a multiple of ORIGINAL's, by variant."""


def _gains(tables: RunTables) -> Gains | None:
    rows = tables.table1_throughput.only(lambda r: r.frame_bytes == GAIN_BYTES).keyed(lambda r: r.variant, BASE)
    return {variant: row.throughput_mbps / rows[BASE].throughput_mbps for variant, row in rows.items()} or None


def _paper_gain(variant: str) -> float:
    return PAPER[GAIN_BYTES, variant] / PAPER[GAIN_BYTES, BASE]


def _told_gains(gains: Gains) -> str:
    each = ", ".join(f"{v} {gain:.2f} ({_paper_gain(v):.2f})" for v, gain in gains.items() if v != BASE)
    return f"times as fast as {BASE} (the paper): {each}."


def _over_napi(size: int, percent: float) -> Claim[RunTables]:
    printed = 100 * (PAPER[size, FASTEST] / PAPER[size, NAPI] - 1)

    def told(tables: RunTables) -> Told | None:
        rows = tables.table1_throughput.only(lambda r: r.frame_bytes == size).keyed(lambda r: r.variant, NAPI, FASTEST)
        if not rows:
            return None
        mbps, base = rows[FASTEST].free_mbps, rows[NAPI].free_mbps
        text = f"by {100 * (mbps / base - 1):.1f} %; the paper's table 1 says {printed:.1f} %."
        return mbps > (1 + percent / 100) * base, text

    text = f"With {size}-byte frames {FASTEST} is faster than {NAPI} by more than {percent:g} %."
    return Claim("Section 4.2.2", text, told)


def _together(tables: RunTables) -> Told | None:
    """What both gain together over ORIGINAL, and the sum of what each gains, in per cent."""
    gains = _gains(tables)
    if gains is None:
        return None
    both, napi, off = (100 * (gains[variant] - 1) for variant in (FASTEST, NAPI, OFF))
    text = f"{FASTEST} gains {both:.0f} %, {NAPI} and {OFF} by themselves {napi + off:.0f} % in all."
    return both > max(0.0, napi + off), text


# Figure 5: receive livelock.


def _livelock(tables: RunTables, variant: str) -> CollapseRow | None:
    rows = tables.figure5_collapse.where(lambda r: (r.frame_bytes, r.variant) == (LIVELOCK_BYTES, variant))
    return rows[0] if rows else None


def _collapse(row: CollapseRow) -> str:
    return (
        f"at {(row.collapse_pps or 0) / 1e3:.1f} kpps, {row.collapse_ratio:.2f} times its loss-free rate; from there on it "
        f"forwards less than {100 * curves.COLLAPSED:g} % of its maximum."
    )


def _collapse_of(variant: str) -> Claim[RunTables]:
    said = curves.paper_collapse(variant)
    at, ratio = said.at_pps or 0.0, said.ratio or 0.0

    def told(tables: RunTables) -> Told | None:
        row = _livelock(tables, variant)
        if row is None:
            return None
        if row.collapse_pps is None or row.collapse_ratio is None:
            most = f"{100 * row.plateau_ratio:.1f} % of its maximum"
            return False, f"no collapse up to the wire's rate, where it forwards {most}."
        others = tables.figure5_collapse.where(lambda r: r.frame_bytes == LIVELOCK_BYTES and r.variant != variant)
        fallen = [f"{r.variant} at {r.collapse_pps / 1e3:.1f} kpps" for r in others if r.collapse_pps is not None]
        besides = f" So do others: {listed(fallen)}." if fallen else ""
        return abs(row.collapse_ratio / ratio - 1) <= CLOSE, f"{_collapse(row)}{besides}"

    return Claim(
        "Section 4.2.2, figure 5",
        f"With {LIVELOCK_BYTES}-byte frames {variant} collapses at {at / 1e3:g} kpps offered, {ratio:.2f} times its loss-free "
        "rate.",
        told,
    )


def _no_collapse_of(variant: str) -> Claim[RunTables]:
    def told(tables: RunTables) -> Told | None:
        row = _livelock(tables, variant)
        if row is None:
            return None
        if row.collapse_pps is not None:
            return False, _collapse(row)
        keeps = row.plateau_ratio > 1 - FLAT
        only = "" if keeps else "only "
        return keeps, f"at the wire's rate it forwards {only}{100 * row.plateau_ratio:.1f} % of its maximum."

    text = f"With {LIVELOCK_BYTES}-byte frames {variant} keeps its rate under overload."
    return Claim("Section 4.2.2, figure 5", text, told)


# Table 3: interrupts under full load.

Rows3 = tuple[InterruptRow, ...]


def _rows3(*variants: str) -> Callable[[RunTables], Rows3 | None]:
    return lambda tables: tables.table3_interrupts.where(lambda r: r.variant in variants) or None


def _shares(rows: Rows3) -> str:
    told = (f"{r.variant} {100 * r.forwarded_share:.1f} % ({100 * r.paper_forwarded_share:.1f} %)" for r in rows)
    return f"forwarded of what was offered (the paper): {', '.join(told)}."


def _not_all(rows: Rows3) -> str:
    least, most = (100 * choose(r.idle_ratio for r in rows) for choose in (min, max))
    lose = sum(r.transmitted_frames < r.offered_frames for r in rows)
    return f"{lose} of {len(rows)} lose frames; {_shares(rows)} The CPU is idle for {least:.0f} to {most:.0f} %."


def _received(rows: Rows3) -> str:
    return ", ".join(f"{r.rx_interrupts} of {r.received_frames} frames with {r.variant}" for r in rows) + "."


_RARE = " and ".join(f"{interrupts.paper_counts(v).rx_interrupts} with {v}" for v in (NAPI, FASTEST))
_INTERRUPTS: tuple[Claim[RunTables], ...] = (
    Claim(
        "Table 3",
        "Frames of 512 bytes at 100 Mbit/s on both interfaces overload every variant.",
        judged(
            _rows3(*interrupts.VARIANTS),
            lambda rows: all(r.transmitted_frames < r.offered_frames for r in rows),
            _shares,
            _not_all,
        ),
    ),
    Claim(
        "Table 3",
        f"Under that load NAPI takes next to no receive interrupts: {_RARE}.",
        judged(
            _rows3(NAPI, FASTEST),
            lambda rows: all((r.rx_interrupts or 0) <= FEW * r.received_frames for r in rows),
            _received,
            lambda rows: f"{_received(rows)} NAPI saves receive interrupts only when polls find frames waiting.",
        ),
    ),
    Claim(
        "Table 3",
        f"{listed([OFF, FASTEST])} take no transmit interrupts.",
        judged(
            _rows3(OFF, FASTEST),
            lambda rows: not any(r.tx_interrupts for r in rows),
            lambda rows: ", ".join(f"{r.tx_interrupts} with {r.variant}" for r in rows) + ".",
        ),
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


def _formula(found: list[_Errors]) -> Told:
    within = all(abs(e.formula) <= FORMULA_PERCENT for e in found)
    each = ", ".join(f"{e.formula:+.2f} % ({e.variant})" for e in found)
    how = "within" if within else "not within"
    return within, f"with the phases measured, {how} {FORMULA_PERCENT:g} % of 1/rate; off by {each}."


def _sums(found: list[_Errors]) -> Told:
    worst, rest = max(found, key=lambda e: abs(e.executed)), max(e.rest for e in found)
    return abs(worst.executed) <= FORMULA_PERCENT, (
        f"off by {abs(worst.executed):.2f} % at most ({worst.variant}); {100 * rest:.1f} % at most is in none of the "
        "paper's phases."
    )


def _switches_alone(tables: RunTables) -> Told | None:
    by = tables.table5_phases.keyed(lambda row: row.variant, BASE, FASTEST)
    total = by[BASE].sum_instructions - by[FASTEST].sum_instructions if by else 0.0
    if total <= 0:
        return None
    saved = _saved(by[BASE], by[FASTEST])
    switches = (saved.pop(phases.CS_IN) + saved.pop(phases.CS_OUT)) / total
    most = sorted(saved, key=lambda p: -saved[p])[:3]
    rest = listed([f"{100 * saved[p] / total:.0f} % is {phases.NAMES[p]}" for p in most])
    text = f"of {total:.0f} instructions a frame that are saved, {100 * switches:.0f} % is that; {rest}."
    return switches >= ALL_OF_IT, text


# Table 4: the linear model.

Rows4 = tuple[ModelRow, ...]


def _linear(tables: RunTables) -> Told | None:
    """Of fits to more than two sizes."""
    rows = tables.table4_model.where(lambda r: r.r2 is not None)
    if not rows:
        return None
    each = ", ".join(f"{r.variant} {r.r2:.4f}" for r in rows)
    off = max(r.max_residual_us / r.t_constant_us for r in rows)
    low = [r.variant for r in rows if not (r.r2 or 0) >= R2_WANTED]
    below = f"below {R2_WANTED}: {listed(low)}. " if low else ""
    return not low, f"{below}R² is {each}. The largest residual is {100 * off:.2f} % of T_constant."


def _constants(name: str, of: Callable[[ModelRow], tuple[float, float]], digits: int) -> Test[RunTables]:
    """Whether a constant of the model is the paper's, with every variant. `of`: ours and the paper's."""

    def told(tables: RunTables) -> Told | None:
        found = {row.variant: of(row) for row in tables.table4_model}
        near = all(abs(ours / theirs - 1) <= CLOSE for ours, theirs in found.values())
        each = ", ".join(f"{variant} {ours:.{digits}f} ({theirs:g})" for variant, (ours, theirs) in found.items())
        return (near, f"{name} (the paper): {each}.") if found else None

    return told


_T = {variant: float(row["t_constant_us"]) for variant, row in MODEL.items()}
_K = sorted({float(row["k_us_per_byte"]) for row in MODEL.values()})
_MODEL: tuple[Claim[RunTables], ...] = (
    Claim("Table 4", "The time a frame takes is linear in its size.", _linear),
    Claim(
        "Table 4",
        f"A byte takes {' or '.join(f'{one:g}' for one in _K)} µs with every variant.",
        _constants("k in µs a byte", lambda r: (r.k_us_per_byte, r.paper_k_us_per_byte), 5),
    ),
    Claim(
        "Table 4",
        f"The constant part takes, in µs: {', '.join(f'{v} {_T[v]:g}' for v in VARIANTS)}.",
        _constants("T_constant in µs", lambda r: (r.t_constant_us, r.paper_t_constant_us), 2),
    ),
)


# Figures 6 and 7: the model's throughput.


def _as_measured(tables: RunTables) -> Told | None:
    rows = tables.figure6_model.where(lambda r: (r.throughput_mbps or throughput.WIRE_MBPS) < throughput.WIRE_MBPS)
    if not rows:
        return None
    row = max(rows, key=lambda r: abs(r.error_percent or 0.0))
    text = f"off by {row.error_percent:+.2f} % at most ({row.variant}, {row.frame_bytes} bytes), of {len(rows)} throughputs."
    return abs(row.error_percent or 0.0) <= MODEL_PERCENT, text


def _model_gain() -> Claim[RunTables]:
    us = {v: float(MODEL[v]["t_constant_us"]) + float(MODEL[v]["k_us_per_byte"]) * MODEL_BYTES for v in (BASE, FASTEST)}
    said = us[BASE] / us[FASTEST]

    def told(tables: RunTables) -> Told | None:
        rows = tables.figure6_model.only(lambda r: r.frame_bytes == MODEL_BYTES).keyed(lambda r: r.variant, BASE, FASTEST)
        if not rows:
            return None
        fast, slow = rows[FASTEST].model_mbps, rows[BASE].model_mbps
        text = f"{fast:.0f} and {slow:.0f} Mbit/s per interface: {fast / slow:.2f} times."
        return abs(fast / slow / said - 1) <= CLOSE, text

    return Claim(
        "Figure 7",
        f"By the model {FASTEST} is faster with large frames, too: with {MODEL_BYTES} bytes {said:.2f} times as fast as "
        f"{BASE} (computed from the paper's table 4).",
        told,
    )


CLAIMS: tuple[Claim[RunTables], ...] = (
    *(_order(size) for size in ORDERED_SIZES),
    Claim(
        "Table 1",
        f"With {GAIN_BYTES}-byte frames {FASTEST} forwards {_paper_gain(FASTEST):.2f} times what {BASE} does.",
        judged(
            _gains,
            lambda gains: abs(gains[FASTEST] / _paper_gain(FASTEST) - 1) <= CLOSE,
            lambda gains: f"within {100 * CLOSE:g} % of that; {_told_gains(gains)}",
            lambda gains: f"more than {100 * CLOSE:g} % from that; {_told_gains(gains)}",
        ),
    ),
    *observations.TABLE_1,
    *(_over_napi(size, percent) for size, percent in OVER_NAPI),
    Claim("Section 5", f"With {GAIN_BYTES}-byte frames {FASTEST} gains more than {NAPI} and {OFF} together.", _together),
    _collapse_of(BASE),
    *(_no_collapse_of(variant) for variant in (NAPI, "NAPI-TX-128", FASTEST)),
    *_INTERRUPTS,
    *observations.LIVELOCK,
    *observations.TABLE_5,
    Claim(
        "Table 5",
        "The formulas of the total packet process time tell how long a frame takes with each variant.",
        lambda tables: _formula(found) if (found := _errors(tables)) else None,
    ),
    Claim(
        "Table 5",
        f"By the formulas {BASE} and {FASTEST} differ in entering and leaving interrupts alone.",
        _switches_alone,
    ),
    Claim(
        AIM,
        f"What is executed for a frame adds up to 1/rate within {FORMULA_PERCENT:g} %.",
        lambda tables: _sums(found) if (found := _errors(tables)) else None,
    ),
    *_MODEL,
    Claim("Figure 6", "Where the wire is not the limit the model's throughput is the measured one.", _as_measured),
    _model_gain(),
)
"""Tested on each run."""


# The costs of hardware.


def _predicts(tables: Tables) -> Told | None:
    rows = {row.cells: row for row in tables.hardware_errors or ()}
    row = rows.get(hardware.PREDICTED)
    if row is None or row.error_percent is None:
        return None
    text = f"{row.error_percent:.1f} % over {row.count} cells; with instructions alone {row.raw_error_percent:.1f} %."
    return row.error_percent <= hardware.TARGET_PERCENT, text


def _every_term(tables: Tables) -> Told | None:
    """All charged, and each left out."""
    rows = {row.term: row for row in tables.hardware_terms or ()}
    every = rows[hardware.ALL_CHARGED].predicted_error_percent if rows else None
    without = [row for row in rows.values() if row.cost_ns is not None]
    if every is None or not without:
        return None
    useless = [r.term.removeprefix("without ") for r in without if (r.predicted_error_percent or 0.0) < every]
    each = ", ".join(f"{r.predicted_error_percent:.1f} % {r.term}" for r in without)
    text = f"the error is {every:.1f} % with all terms; {each}."
    return not useless, f"not {listed(useless)}: {text}" if useless else text


HARDWARE_CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(
        AIM,
        f"The costs of hardware predict the cells of table 1 that they were not fitted to within {hardware.TARGET_PERCENT:g} %.",
        _predicts,
    ),
    Claim(AIM, "Every term of the costs makes those predictions better.", _every_term),
)
