# SPDX-License-Identifier: GPL-2.0-or-later
"""Repeatedly fits costs and measures with them, since the events per frame depend on the costs (Gauss-Newton)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from irqlab.calibrate import fit as fitting
from irqlab.calibrate import skill
from irqlab.calibrate.cells import Board, Cell, Measured
from irqlab.calibrate.fit import Fit, Sample
from irqlab.calibrate.skill import Skill
from irqlab.config.costs import TERMS, Costs

ROUNDS = 3
"""Maximum number of fits."""
SETTLED = 0.01
"""Stop if another round would change no cell by more than this share."""


@dataclass(frozen=True)
class Row:
    """A cell on the board and in the DUT, in frames/s, all directions together."""

    cell: Cell
    board_pps: float
    lab_pps: float
    fitted: bool

    @property
    def ratio(self) -> float:
        """Lab / board."""
        return self.lab_pps / self.board_pps


@dataclass(frozen=True)
class Judgement:
    """Comparison of measured throughputs with a board's."""

    rows: list[Row]
    fitted_error: float | None
    """Mean absolute relative error of the throughput of the fitted cells; None: there is none."""
    predicted_error: float | None
    """The same for the other cells."""


@dataclass(frozen=True)
class Calibration:
    """The costs, the data they were fitted to, and the remaining errors."""

    fit: Fit
    worth: dict[str, float]
    """The left-out error without each term."""
    bare: Judgement
    """Without costs."""
    charged: Judgement
    """Measured with the costs charged."""
    rounds: int
    skills: list[Skill]
    """The lab's errors beside those of predictions that need no lab."""
    predictions: dict[Cell, float]
    """Cells that the board was not measured in: what the lab measures with the costs, in frames/s, all directions together."""

    def to_json(self) -> dict[str, Any]:
        """The `fitted` section of a hardware file."""
        bare = {row.cell: row.lab_pps for row in self.bare.rows}
        return {
            "standard_errors_ns": {name: round(error, 3) for name, error in self.fit.standard_errors_ns.items()},
            "left_out_error": round(self.fit.left_out_error, 5),
            "left_out_error_without": {name: round(error, 5) for name, error in self.worth.items()},
            "mean_error": round(self.charged.fitted_error or 0.0, 5),
            "mean_error_without_costs": round(self.bare.fitted_error or 0.0, 5),
            "rounds": self.rounds,
            "skill": [asdict(one) for one in self.skills],
            "cells": [
                {
                    "variant": row.cell.variant,
                    "frame_bytes": row.cell.frame_bytes,
                    "board_pps": round(row.board_pps, 1),
                    "lab_pps": round(row.lab_pps, 1),
                    "lab_pps_without_costs": round(bare[row.cell], 1),
                    "fitted": row.fitted,
                }
                for row in self.charged.rows
            ],
            "predicted": [
                {"variant": cell.variant, "frame_bytes": cell.frame_bytes, "lab_pps": round(pps, 1)}
                for cell, pps in self.predictions.items()
            ],
        }


def judge(board_pps: Mapping[Cell, float], lab_pps: Mapping[Cell, float], fitted: Sequence[Cell]) -> Judgement:
    """Compares the cells that both have; `fitted` are those that the costs were fitted to."""
    rows = [Row(cell, pps, lab_pps[cell], cell in fitted) for cell, pps in board_pps.items() if cell in lab_pps]

    def error(chosen: list[Row]) -> float | None:
        return sum(abs(row.ratio - 1) for row in chosen) / len(chosen) if chosen else None

    return Judgement(rows, error([r for r in rows if r.fitted]), error([r for r in rows if not r.fitted]))


def samples(board_pps: Mapping[Cell, float], measured: Sequence[Measured]) -> list[Sample]:
    """The input of the fit."""
    return [Sample(1e9 / board_pps[m.cell], m.frame_ns, m.events, m.costs, m.cell.variant) for m in measured]


def run(
    board: Board,
    board_pps: Mapping[Cell, float],
    fit_to: Sequence[Cell],
    allowed: Sequence[str] = TERMS,
    rounds: int = ROUNDS,
    unknown: Sequence[Cell] = (),
) -> Calibration:
    """Fits costs to the cells `fit_to` of a board's throughputs, and predicts the others, and `unknown` ones.

    The set of costs is chosen once, from the events without costs. Raises IrqlabError with too few cells.
    """
    cells, others = sorted(fit_to), sorted(set(board_pps) - set(fit_to))
    board.check([*cells, *others, *unknown])
    measured = board.measure([*cells, *others], Costs())
    bare = judge(board_pps, {m.cell: m.throughput_pps for m in measured}, cells)
    unseen = samples(board_pps, measured[len(cells) :])
    known = samples(board_pps, measured[: len(cells)])
    found = fitting.select(known, allowed)
    charged, done = found, 0
    measured = measured[: len(cells)]
    while found.costs and done < rounds:
        charged, done = found, done + 1
        measured = board.measure(cells, charged.costs, _guesses(cells, known, charged.costs))
        known = samples(board_pps, measured)
        found = fitting.solve(known, charged.terms) or fitting.select(known, charged.terms)
        if max(abs(s.expected_ns(found.costs) / s.lab_ns - 1) for s in known) < SETTLED:
            break
    measured = [*measured, *board.measure(others, charged.costs, _guesses(others, unseen, charged.costs))]
    # The costs are those charged last; their errors are from the last fit.
    final = replace(found, terms=charged.terms, costs=charged.costs)
    judged = judge(board_pps, {m.cell: m.throughput_pps for m in measured}, cells)
    every = dict(zip((m.cell for m in measured), samples(board_pps, measured), strict=True))
    skills = skill.judge(board_pps, cells, every, final.terms)
    predictions = {m.cell: m.throughput_pps for m in board.measure(unknown, charged.costs)} if unknown else {}
    return Calibration(final, fitting.worth(known, final), bare, judged, done, skills, predictions)


def _guesses(cells: Sequence[Cell], known: Sequence[Sample], costs: Costs) -> dict[Cell, float]:
    return {cell: 1e9 / s.expected_ns(costs) for cell, s in zip(cells, known, strict=True)}
