# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them: tables 4 and 5, figures 6 and 7; all of them with the board's costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from irqlab.config.schemes import VARIANTS
from irqlab.present.rows import listed
from irqlab.reproduce.claims import AIM, IN_SAMPLE, WITH_COSTS, Claim, Finding, Test, Told, findings_of, judged, not_tried
from irqlab.reproduce.spanos2008 import hardware, model, observations, phases, throughput
from irqlab.reproduce.spanos2008.measure import RunTables, Tables
from irqlab.reproduce.spanos2008.model import ModelRow
from irqlab.reproduce.spanos2008.observations import Fitted, near
from irqlab.reproduce.spanos2008.phases import PhaseRow
from irqlab.reproduce.spanos2008.precision import (
    FASTEST,
    FEW,
    FITTED_SIZES,
    MODEL,
    NAPI_128,
    NEAR,
    ONE_EACH,
    PRECISION,
    model_us,
)
from irqlab.reproduce.spanos2008.throughput import BASE

SUM_PERCENT = 2.0
"""How close the sum of all that is executed is to come to 1/rate."""
MAINLY = 0.5
"""More than this share of a difference is what two mainly differ in."""
MODEL_BYTES = throughput.SIZES[-1]
_K = sorted({float(row["k_us_per_byte"]) for row in MODEL.values()})
K_ROUNDED_US = 0.005
"""Table 4 prints two decimals."""


def with_costs(tables: Tables) -> list[Finding]:
    """The claims tested once more, with the costs of hardware, and how good these are.

    Agreement with what the costs were fitted to is in sample. Of table 1 the other claims have the sizes that were not fitted to.
    """
    run, again = tables.hardware, []
    if run is not None:
        predicted = replace(run, table1_throughput=run.table1_throughput.only(lambda r: r.frame_bytes not in FITTED_SIZES))
        for claim in CLAIMS:
            finding = claim.test(run if isinstance(claim, Fitted) else predicted)
            if finding is not None and finding.agrees is not None:
                instead = IN_SAMPLE if isinstance(claim, Fitted) else finding.instead
                again.append(replace(finding, found=f"{WITH_COSTS}{finding.found}", instead=instead))
    return again + findings_of(HARDWARE_CLAIMS, tables)


# Table 5: what a frame costs.

Rows5 = dict[str, PhaseRow]


def _rows5(tables: RunTables) -> Rows5 | None:
    return tables.table5_phases.keyed(lambda row: row.variant, *VARIANTS) or None


def _rates_hold(found: Rows5) -> bool:
    return all(
        r.interrupts_per_frame <= FEW
        if not r.paper_interrupts_per_frame
        else abs(r.interrupts_per_frame / r.paper_interrupts_per_frame - 1) <= ONE_EACH
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


def _formulas(tables: RunTables) -> Told | None:
    """Off by how much, against 1/rate, with ORIGINAL's times in the place of every variant's."""
    found = _rows5(tables)
    if found is None or any(row.per_frame_us is None for row in found.values()):
        return None
    us, per_frame = found[BASE].us, found[BASE].interrupts_per_frame
    switch_us = (us.of(phases.CS_IN) + us.of(phases.CS_OUT)) / per_frame if per_frame else 0.0
    rest_us = sum(us.of(phase) for phase in (phases.RX, phases.COPY, phases.IP, phases.TX, phases.SKB))
    off = {
        v: (switch_us * row.paper_interrupts_per_frame + rest_us) / (row.per_frame_us or 1.0) - 1
        for v, row in found.items()
        if v != BASE
    }
    each = ", ".join(f"{v} {100 * one:+.1f} %" for v, one in off.items())
    return all(abs(one) <= PRECISION for one in off.values()), f"with {BASE}'s times for all, against 1/rate: {each}."


def _mainly(tables: RunTables) -> Told | None:
    """Of what each variant saves against ORIGINAL, the share that is entering and leaving interrupts."""
    found = _rows5(tables)
    if found is None:
        return None
    base = found[BASE]
    both = (phases.CS_IN, phases.CS_OUT)
    shares = {}
    for v, row in found.items():
        saved = base.sum_instructions - row.sum_instructions
        switches = sum(base.instructions.of(phase) - row.instructions.of(phase) for phase in both)
        if v != BASE:
            shares[v] = switches / saved if saved > 0 else 0.0
    each = ", ".join(f"{v} {100 * one:.0f} %" for v, one in shares.items())
    return min(shares.values()) > MAINLY, f"of the instructions a frame that each saves, that is: {each}."


def _sums(tables: RunTables) -> Told | None:
    """None if the rates are not exact enough to compare with (`--quick`)."""
    rows = tables.table5_phases.where(lambda row: row.sum_error_percent is not None)
    if not rows:
        return None
    rest = max(row.instructions.rest / row.sum_instructions for row in rows)
    off, variant = max((abs(row.sum_error_percent or 0.0), row.variant) for row in rows)
    text = f"off by {off:.2f} % at most ({variant}); {100 * rest:.1f} % at most is in none of the paper's phases."
    return off <= SUM_PERCENT, text


TABLE_5: tuple[Claim[RunTables], ...] = (
    Claim(
        "Table 5",
        "The interrupt rate is, of the rate of frames: 2, 129/128, 1, 1, 1/128 and next to 0.",
        judged(_rows5, _rates_hold, _told_rates),
        f"within {100 * ONE_EACH:.1f} %, as far as table 3's receive interrupts are from one a frame",
    ),
    Claim(
        "Section 5",
        f"The time in which interrupts are enabled is greatest with {NAPI_128} and {FASTEST}.",
        judged(_rows5, _enabled, _told_enabled),
    ),
    Claim(
        "Table 5",
        "The formulas, in which the variants have the same times and other numbers of interrupts, tell how long a frame takes.",
        _formulas,
        NEAR,
    ),
    Claim(
        "Section 5",
        "The variants mainly differ in the time for entering and leaving interrupts.",
        _mainly,
        f"more than {100 * MAINLY:g} % of what each saves against {BASE}",
    ),
    Claim(AIM, f"What is executed for a frame adds up to 1/rate within {SUM_PERCENT:g} %.", _sums),
)


# Table 4, figures 6 and 7: the linear model.


def _left_out(tables: RunTables) -> Told | None:
    """How far the line and the mean of the other sizes are from each size's time, with every variant."""
    line, level = [(0.0, "", 0)], [0.0]
    for variant, rows in tables.table1_throughput.by(lambda r: r.variant).items():
        points = [(r.frame_bytes, r.us_per_frame) for r in rows]
        for size, us in points:
            others = [point for point in points if point[0] != size]
            fit = model.fit(others) if len(others) > 2 else None
            if fit is not None:
                line.append((100 * abs(fit.us(size) / us - 1), variant, size))
                level.append(100 * abs(sum(time for _, time in others) / len(others) / us - 1))
    if len(line) == 1:
        return None
    off, variant, size = max(line)
    return off <= 100 * PRECISION and off < max(level) / 2, (
        f"a size left out of the fit is met within {off:.2f} % ({variant}, {size} bytes); without regard to size within "
        f"{max(level):.1f} %."
    )


def _constants(
    name: str, of: Callable[[ModelRow], tuple[float, float]], digits: int, holds: Callable[[float, float], bool]
) -> Test[RunTables]:
    """Whether a constant of the model is the paper's, with every variant. `of`: ours and the paper's."""

    def told(tables: RunTables) -> Told | None:
        found = {row.variant: of(row) for row in tables.table4_model}
        each = ", ".join(f"{variant} {ours:.{digits}f} ({theirs:g})" for variant, (ours, theirs) in found.items())
        return (all(holds(*both) for both in found.values()), f"{name} (the paper): {each}.") if found else None

    return told


def _model_gain() -> Claim[RunTables]:
    said = model_us(BASE, MODEL_BYTES) / model_us(FASTEST, MODEL_BYTES)

    def told(tables: RunTables) -> Told | None:
        rows = tables.figure6_model.only(lambda r: r.frame_bytes == MODEL_BYTES).keyed(lambda r: r.variant, BASE, FASTEST)
        if not rows:
            return None
        fast, slow = rows[FASTEST].model_mbps, rows[BASE].model_mbps
        return near(fast / slow, said), f"{fast:.0f} and {slow:.0f} Mbit/s per interface: {fast / slow:.2f} times."

    return Fitted(
        "Figure 7",
        f"By the model {FASTEST} is faster with large frames, too: with {MODEL_BYTES} bytes {said:.2f} times as fast as "
        f"{BASE} (computed from the paper's table 4).",
        told,
        NEAR,
    )


MODELS: tuple[Claim[RunTables], ...] = (
    Fitted(
        "Table 4, figure 6",
        "The time a frame takes is linear in its size, so that the model tells the throughput.",
        _left_out,
        f"{NEAR}, and less than half of what is left without regard to size",
    ),
    Fitted(
        "Table 4",
        f"A byte takes {' or '.join(f'{one:g}' for one in _K)} µs with every variant.",
        _constants(
            "k in µs a byte",
            lambda r: (r.k_us_per_byte, r.paper_k_us_per_byte),
            5,
            lambda ours, theirs: abs(ours - theirs) <= K_ROUNDED_US,
        ),
        f"within {K_ROUNDED_US:g} µs, since it is printed with two decimals",
    ),
    Fitted(
        "Table 4",
        f"The constant part takes, in µs: {', '.join(f'{v} {model_us(v, 0):g}' for v in VARIANTS)}.",
        _constants("T_constant in µs", lambda r: (r.t_constant_us, r.paper_t_constant_us), 2, near),
        NEAR,
    ),
    _model_gain(),
)
CLAIMS: tuple[Claim[RunTables], ...] = (
    *observations.TABLE_1,
    *observations.TABLE_3,
    *observations.FIGURE_5,
    *TABLE_5,
    *MODELS,
    not_tried(
        "Section 4.1",
        "The results are the average of 5 trials, each lasting 60 s.",
        "the lab's trials are repeatable, and their variation is that of an ensemble; one trial of 60 s is made (`--long`).",
    ),
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
