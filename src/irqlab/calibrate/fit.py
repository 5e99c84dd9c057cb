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
"""An additional cost must lower the leave-one-out error at least to this share."""
SPARE_CELLS = 2
"""Minimum number of cells in excess of the number of costs."""


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

    def bare_ns(self) -> float:
        """The DUT's time per frame without the costs charged."""
        return self.lab_ns - sum(cost * self.events[term] for term, cost in self.costs.nonzero().items())

    def expected_ns(self, costs: Costs) -> float:
        """The time per frame with other costs, by the linear model."""
        return self.bare_ns() + sum(cost * self.events[term] for term, cost in costs.nonzero().items())


@dataclass(frozen=True)
class Fit:
    """Costs, and how far to trust them. Errors are relative: (model - board) / board."""

    terms: tuple[str, ...]
    costs: Costs
    standard_errors_ns: dict[str, float]
    mean_error: float
    """Mean absolute error of the cells fitted."""
    left_out_error: float
    """Root mean square of the errors of cells that the fit did not see (leave-one-out)."""


def solve(samples: Sequence[Sample], terms: Sequence[str]) -> Fit | None:
    """Least squares of relative errors on exactly these terms; None if a cost would be negative, or is not determined."""
    count = len(samples)
    board = np.array([s.board_ns for s in samples])
    wanted = 1 - np.array([s.bare_ns() for s in samples]) / board
    if not terms:
        error = float(np.sqrt(np.mean(wanted**2)))
        return Fit((), Costs(), {}, float(np.mean(np.abs(wanted))), error)
    if count < len(terms) + SPARE_CELLS:
        return None
    matrix = _matrix(samples, terms) / board[:, None]
    scale = np.linalg.norm(matrix, axis=0)
    if not scale.all() or np.linalg.matrix_rank(matrix / scale, tol=1e-6) < len(terms):
        return None
    inverse = np.linalg.inv((matrix / scale).T @ (matrix / scale)) / np.outer(scale, scale)
    found = inverse @ matrix.T @ wanted
    if (found <= 0).any():
        return None
    residual = matrix @ found - wanted
    leverage = np.einsum("ij,jk,ik->i", matrix, inverse, matrix)
    left_out = residual / np.maximum(1 - leverage, 1e-9)  # the residual of a cell if it is left out, exactly
    spread = np.sqrt(np.diag(inverse) * (residual @ residual) / (count - len(terms)))
    return Fit(
        tuple(terms),
        Costs(**{term: round(float(cost), 3) for term, cost in zip(terms, found, strict=True)}),
        {term: float(error) for term, error in zip(terms, spread, strict=True)},
        float(np.mean(np.abs(residual))),
        float(np.sqrt(np.mean(left_out**2))),
    )


def candidates(samples: Sequence[Sample], allowed: Sequence[str] = TERMS) -> list[Fit]:
    """Every admissible set of terms, by rising number of terms, then leave-one-out error."""
    found = [solve(samples, terms) for n in range(len(allowed) + 1) for terms in combinations(allowed, n)]
    return sorted((fit for fit in found if fit is not None), key=lambda fit: (len(fit.terms), fit.left_out_error))


def select(samples: Sequence[Sample], allowed: Sequence[str] = TERMS) -> Fit:
    """The best set of costs: adds one only if it lowers the leave-one-out error to WORTH of its value.

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
    """The leave-one-out error without each term, the others fitted again (non-negative)."""
    return {term: min(f.left_out_error for f in candidates(samples, [t for t in fit.terms if t != term])) for term in fit.terms}


def _matrix(samples: Sequence[Sample], terms: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[s.events[term] for term in terms] for s in samples], dtype=np.float64)
