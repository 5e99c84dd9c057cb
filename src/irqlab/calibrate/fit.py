# SPDX-License-Identifier: GPL-2.0-or-later
"""Selects and fits costs by non-negative least squares on the time per frame.

Measurements give the time per frame, T, and the events per frame, E. If costs change by d, the time per frame is T + E d, as
long as E does not change; the caller measures again to check that.

Every subset of the costs is tried: the non-negative optimum is the plain least-squares solution of some subset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from irqlab.config.costs import TERMS, Costs
from irqlab.errors import IrqlabError

WORTH = 0.9
"""An additional cost must lower the left-out error at least to this share."""
SPARE_CELLS = 2
"""Minimum number of cells in excess of the number of costs."""
MIN_CLUSTERS = 4
"""From this number of variants on, whole variants are left out instead of cells."""


@dataclass(frozen=True)
class Sample:
    """A cell as measured in the DUT and on the board."""

    board_ns: float
    """Time per frame on the board."""
    lab_ns: float
    """Time per frame in the DUT, with `costs` charged."""
    events: Mapping[str, float]
    """Per frame, by term."""
    costs: Costs
    group: str = ""
    """The variant."""

    def bare_ns(self) -> float:
        """The DUT's time per frame without the costs charged."""
        return self.lab_ns - sum(cost * self.events[term] for term, cost in self.costs.nonzero().items())

    def expected_ns(self, costs: Costs) -> float:
        """The time per frame with other costs, by the linear model."""
        return self.bare_ns() + sum(cost * self.events[term] for term, cost in costs.nonzero().items())

    def error(self, costs: Costs) -> float:
        """The relative error of the throughput that the linear model expects: lab / board - 1."""
        return self.board_ns / self.expected_ns(costs) - 1


@dataclass(frozen=True)
class Fit:
    """Costs, and how far to trust them. Errors are those of the throughput: the mean of abs(lab / board - 1)."""

    terms: tuple[str, ...]
    costs: Costs
    standard_errors_ns: dict[str, float]
    """By jackknife over the clusters (Efron and Stein 1981)."""
    mean_error: float
    """Of the cells fitted."""
    left_out_error: float
    """Of each cell, by a fit that saw no cell of its cluster."""


def clusters(samples: Sequence[Sample]) -> list[list[int]]:
    """The samples' indices by variant, as cells of one variant err together; by cell if there are too few variants."""
    groups = sorted({s.group for s in samples})
    if len(groups) < MIN_CLUSTERS:
        return [[n] for n in range(len(samples))]
    return [[n for n, s in enumerate(samples) if s.group == group] for group in groups]


def solve(samples: Sequence[Sample], terms: Sequence[str]) -> Fit | None:
    """Least squares of relative errors on exactly these terms; None if a cost would be negative, or is not determined."""
    if terms and len(samples) < len(terms) + SPARE_CELLS:
        return None
    found = least_squares(samples, terms)
    if found is None or (found <= 0).any():
        return None
    costs = _costs(terms, found)
    groups = clusters(samples)
    left_out, others = [], []
    for group in groups:
        rest = least_squares([s for n, s in enumerate(samples) if n not in group], terms)
        if rest is None:
            return None  # a term that one variant alone determines
        others.append(rest)
        left_out += [abs(samples[n].board_ns / (samples[n].bare_ns() + _charge(samples[n], terms, rest)) - 1) for n in group]
    spread = np.std(others, axis=0) * np.sqrt(len(groups) - 1)
    return Fit(
        tuple(terms),
        costs,
        {term: float(error) for term, error in zip(terms, spread, strict=True)},
        float(np.mean([abs(s.error(costs)) for s in samples])),
        float(np.mean(left_out)),
    )


def least_squares(samples: Sequence[Sample], terms: Sequence[str]) -> NDArray[np.float64] | None:
    """The costs in ns, of either sign, that minimise the squared relative errors of the time; None if not determined."""
    if not terms:
        return np.zeros(0)
    if len(samples) < len(terms):
        return None
    board = np.array([s.board_ns for s in samples])
    matrix = np.array([[s.events[term] for term in terms] for s in samples], dtype=np.float64) / board[:, None]
    scale = np.linalg.norm(matrix, axis=0)
    if not scale.all() or np.linalg.matrix_rank(matrix / scale, tol=1e-6) < len(terms):
        return None
    wanted = 1 - np.array([s.bare_ns() for s in samples]) / board
    found: NDArray[np.float64] = np.linalg.lstsq(matrix / scale, wanted, rcond=None)[0] / scale
    return found


def candidates(samples: Sequence[Sample], allowed: Sequence[str] = TERMS) -> list[Fit]:
    """Every admissible set of terms, by rising number of terms, then left-out error."""
    found = [solve(samples, terms) for n in range(len(allowed) + 1) for terms in combinations(allowed, n)]
    return sorted((fit for fit in found if fit is not None), key=lambda fit: (len(fit.terms), fit.left_out_error))


def select(samples: Sequence[Sample], allowed: Sequence[str] = TERMS) -> Fit:
    """The best set of costs: adds one only if it lowers the left-out error to WORTH of its value.

    Raises IrqlabError if there are too few cells.
    """
    if len(samples) < 1 + SPARE_CELLS:
        raise IrqlabError(f"{len(samples)} cells are too few to fit costs to; at least {1 + SPARE_CELLS} are needed")
    best, *others = candidates(samples, allowed)
    for fit in others:
        if fit.left_out_error < best.left_out_error * WORTH ** (len(fit.terms) - len(best.terms)):
            best = fit
    return best


def worth(samples: Sequence[Sample], fit: Fit) -> dict[str, float]:
    """The left-out error without each term, the others fitted again (non-negative)."""
    return {term: min(f.left_out_error for f in candidates(samples, [t for t in fit.terms if t != term])) for term in fit.terms}


def _costs(terms: Sequence[str], found: NDArray[np.float64]) -> Costs:
    return Costs(**{term: round(float(cost), 3) for term, cost in zip(terms, found, strict=True)})


def _charge(sample: Sample, terms: Sequence[str], found: NDArray[np.float64]) -> float:
    return sum(float(cost) * sample.events[term] for term, cost in zip(terms, found, strict=True))
