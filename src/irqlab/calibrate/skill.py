# SPDX-License-Identifier: GPL-2.0-or-later
"""What a calibration is worth: its errors beside those of predictions that need no lab.

A prediction counts only for cells that the fit did not see: other frame sizes of the same variants, and all frame sizes of a
variant that was left out. Every error is the mean of abs(predicted throughput / the board's - 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from irqlab.calibrate import fit as fitting
from irqlab.calibrate.cells import Cell
from irqlab.calibrate.fit import Sample

MIN_SIZES = 2
"""Frame sizes of a variant that a line needs."""


@dataclass(frozen=True)
class Skill:
    """A way to predict and its errors; None where it cannot predict."""

    name: str
    needs_lab: bool
    numbers: int
    """How many numbers are fitted to the board."""
    fitted: float | None
    """Error of the cells fitted."""
    sizes: float | None
    """Error of the other cells of the same variants."""
    variants: float | None
    """Error of all cells of a variant, fitted to the other variants; mean over the variants."""


Predict = Callable[[Mapping[Cell, float], Cell], float | None]
"""Cells fitted, with the board's time per frame in ns, and a cell: its predicted time in ns; None: no prediction."""


def judge(
    board_pps: Mapping[Cell, float], fitted: Sequence[Cell], samples: Mapping[Cell, Sample], terms: Sequence[str]
) -> list[Skill]:
    """The lab with and without costs, and the baselines.

    `samples`: all cells as measured with the final costs. With a variant left out, the lab's times follow from the linear model.
    """
    board_ns = {cell: 1e9 / pps for cell, pps in board_pps.items()}
    known = {cell: board_ns[cell] for cell in fitted}
    others = [cell for cell in board_ns if cell not in known]
    variants = sorted({cell.variant for cell in fitted})

    def lab(terms: Sequence[str]) -> Predict:
        def predict(given: Mapping[Cell, float], cell: Cell) -> float | None:
            found = fitting.least_squares([samples[c] for c in given], terms)
            if found is None:
                return None
            return samples[cell].bare_ns() + sum(float(x) * samples[cell].events[t] for t, x in zip(terms, found, strict=True))

        return predict

    def skill(name: str, numbers: int, predict: Predict, needs_lab: bool = False) -> Skill:
        def error(cells: Iterable[Cell], given: Callable[[Cell], Mapping[Cell, float]]) -> float | None:
            times = [(board_ns[cell], predict(given(cell), cell)) for cell in cells]
            errors = [abs(board / time - 1) for board, time in times if time]
            return float(np.mean(errors)) if errors and len(errors) == len(times) else None

        def without(cell: Cell) -> Mapping[Cell, float]:
            return {c: ns for c, ns in known.items() if c.variant != cell.variant}

        left_out = error(board_ns, without) if len(variants) >= fitting.MIN_CLUSTERS else None
        return Skill(name, needs_lab, numbers, error(known, lambda _: known), error(others, lambda _: known), left_out)

    sizes = {cell.frame_bytes for cell in fitted}
    return [
        skill("lab with the costs", len(terms), lab(terms), needs_lab=True),
        skill("lab without costs", 0, lab(()), needs_lab=True),
        skill("a line for each variant", 2 * len(variants), line),
        skill("a constant for each variant, one slope", len(variants) + 1, common_slope),
        skill("mean of the other variants", len(sizes), mean_of_others),
    ]


def claims(skills: Sequence[Skill]) -> list[str]:
    """What may be said: whether the lab's errors are below those of every prediction that needs no lab."""
    lab = next(s for s in skills if s.needs_lab)
    said = []
    rivals_of = [s for s in skills if not s.needs_lab]
    for what, error, others in (
        ("other frame sizes", lab.sizes, [(s.sizes, s.name) for s in rivals_of]),
        ("a variant that was not fitted", lab.variants, [(s.variants, s.name) for s in rivals_of]),
    ):
        rivals = [(rival, name) for rival, name in others if rival is not None]
        if error is None or not rivals:
            continue
        least, name = min(rivals)
        verdict = "The lab predicts" if error < least else "The lab has no skill for"
        said.append(f"{verdict} {what}: error {error:.1%}; without a lab {least:.1%} ({name}).")
    return said


def line(given: Mapping[Cell, float], cell: Cell) -> float | None:
    """Straight line through the times of the same variant."""
    same = [(c.frame_bytes, ns) for c, ns in given.items() if c.variant == cell.variant]
    if len({size for size, _ in same}) < MIN_SIZES:
        return None
    return _straight(same, cell.frame_bytes)


def common_slope(given: Mapping[Cell, float], cell: Cell) -> float | None:
    """A constant for each variant and one time per byte, least squares of relative errors."""
    variants = sorted({c.variant for c in given})
    if cell.variant not in variants or len({c.frame_bytes for c in given}) < MIN_SIZES:
        return None
    times = np.array(list(given.values()))
    rows = np.array([[float(c.variant == v) for v in variants] + [c.frame_bytes] for c in given])
    found = np.linalg.lstsq(rows / times[:, None], np.ones(len(times)), rcond=None)[0]
    return float(found[variants.index(cell.variant)] + found[-1] * cell.frame_bytes)


def mean_of_others(given: Mapping[Cell, float], cell: Cell) -> float | None:
    """Mean time of all other variants at this frame size, interpolated between their sizes."""
    others: dict[int, list[float]] = {}
    for c, ns in given.items():
        if c.variant != cell.variant:
            others.setdefault(c.frame_bytes, []).append(ns)
    if len(others) < MIN_SIZES:
        return float(np.mean(others[cell.frame_bytes])) if cell.frame_bytes in others else None
    return _straight([(size, float(np.mean(times))) for size, times in others.items()], cell.frame_bytes)


def _straight(points: Sequence[tuple[int, float]], size: int) -> float:
    slope, constant = np.polyfit([x for x, _ in points], [y for _, y in points], 1)
    return float(constant + slope * size)
