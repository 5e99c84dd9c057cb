# SPDX-License-Identifier: GPL-2.0-or-later
"""Table 1 with the costs of hardware: which cells the costs were fitted to, how good the others are, what each term is worth.

Everywhere the wire's limit is lifted, with costs and without, and cells at the wire's rate in the paper are left out: both as
`irqlab calibrate` has it (docs/use/costs.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from irqlab.calibrate.cells import AT_WIRE
from irqlab.config.hardware import Hardware
from irqlab.present.columns import Col, figures
from irqlab.reproduce.spanos2008.throughput import WIRE_MBPS, Results, ThroughputRow, best_trial, mbps_of
from irqlab.reproduce.table import Table

TARGET_PERCENT = 8.0
"""Mean absolute error of the predicted cells that the project asks for."""
FITTED, PREDICTED, ALL = "fitted", "predicted", "all"
ALL_CHARGED = "(all charged)"
_DIGITS = figures(4)


@dataclass(frozen=True)
class CellRow:
    """A cell of table 1, Mbit/s per interface."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    cell: Annotated[str, Col("Cell")]
    paper_mbps: Annotated[float, Col("The paper", "Mbit/s", _DIGITS)]
    raw_mbps: Annotated[float, Col("Instructions alone", "Mbit/s", _DIGITS)]
    raw_ratio: Annotated[float, Col("ratio", "", _DIGITS)]
    throughput_mbps: Annotated[float, Col("With costs", "Mbit/s", _DIGITS)]
    ratio: Annotated[float, Col("ratio", "", _DIGITS)]


@dataclass(frozen=True)
class ErrorRow:
    """Mean absolute errors of some cells; None: there are none."""

    cells: Annotated[str, Col("Cells")]
    count: Annotated[int, Col("How many")]
    raw_error_percent: Annotated[float | None, Col("Instructions alone", "%")]
    error_percent: Annotated[float | None, Col("With costs", "%")]


@dataclass(frozen=True)
class TermRow:
    """What a term of the costs is worth: errors without it."""

    term: Annotated[str, Col("Term")]
    cost_ns: Annotated[float | None, Col("Cost", "ns")]
    standard_error_ns: Annotated[float | None, Col("±")]
    left_out_error_percent: Annotated[float | None, Col("Left-out error", "%")]
    """Of the fit, the other terms fitted again without the one taken away (from the hardware's file)."""
    predicted_error_percent: Annotated[float | None, Col("Error of predicted cells", "%")]
    """The other terms as they are."""


@dataclass(frozen=True)
class Cell:
    """A cell of table 1 below the wire's rate in the paper. Here the wire's limit is lifted."""

    frame_bytes: int
    variant: str
    fitted: bool
    """The costs were fitted to it; else it is a prediction."""
    paper_mbps: float
    raw_mbps: float
    """Instructions alone."""
    mbps: float
    """With costs."""
    events: dict[str, float]
    """Events charged per frame forwarded, by term."""

    def without(self, hardware: Hardware, term: str) -> float:
        """The throughput if one term were not charged: events per frame as they are. Infinite if no time is left."""
        us = 1e6 / _pps_of(self.mbps, self.frame_bytes) - getattr(hardware.costs, term) * self.events.get(term, 0.0) / 1e3
        return mbps_of(1e6 / us, self.frame_bytes) if us > 0 else math.inf


def _pps_of(mbps: float, frame_bytes: int) -> float:
    return mbps / mbps_of(1.0, frame_bytes)


def cells(hardware: Hardware, raw: Table[ThroughputRow], charged: Table[ThroughputRow], found: Results) -> list[Cell]:
    """Every cell below the wire's rate in the paper. `found`: the searches with costs, the wire's limit lifted.

    Raises LookupError if a table lacks a cell.
    """
    fitted = {(int(c["frame_bytes"]), str(c["variant"])) for c in hardware.fitted.get("cells", ()) if c.get("fitted", True)}
    made = []
    without = {(row.frame_bytes, row.variant): row.free_mbps for row in raw}
    for row in charged.where(lambda r: r.paper_mbps < AT_WIRE * WIRE_MBPS):
        cell = (row.frame_bytes, row.variant)
        best = best_trial(found[cell])
        events = {name: number / best.frames_forwarded for name, number in (best.cost_events or {}).items()}
        made.append(Cell(*cell, cell in fitted, row.paper_mbps, without[cell], row.free_mbps, events))
    return made


def error_percent(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Mean absolute error of (measured, paper); None without any."""
    errors = [abs(measured / paper - 1) for measured, paper in pairs]
    return 100 * sum(errors) / len(errors) if errors else None


def table(found: list[Cell]) -> Table[CellRow]:
    """Every cell with its ratios."""
    rows = [
        CellRow(
            frame_bytes=c.frame_bytes,
            variant=c.variant,
            cell=FITTED if c.fitted else PREDICTED,
            paper_mbps=c.paper_mbps,
            raw_mbps=c.raw_mbps,
            raw_ratio=round(c.raw_mbps / c.paper_mbps, 4),
            throughput_mbps=c.mbps,
            ratio=round(c.mbps / c.paper_mbps, 4),
        )
        for c in found
    ]
    title = "Table 1 with the costs of hardware: cells below the wire's rate in the paper, here without it, Mbit/s per interface"
    return Table(title, CellRow, tuple(rows))


def errors(found: list[Cell]) -> Table[ErrorRow]:
    """Mean absolute errors, with costs and without."""
    chosen = {FITTED: [c for c in found if c.fitted], PREDICTED: [c for c in found if not c.fitted], ALL: found}
    rows = [
        ErrorRow(
            cells=name,
            count=len(cells),
            raw_error_percent=_rounded(error_percent((c.raw_mbps, c.paper_mbps) for c in cells)),
            error_percent=_rounded(error_percent((c.mbps, c.paper_mbps) for c in cells)),
        )
        for name, cells in chosen.items()
    ]
    return Table("Mean absolute error against the paper's table 1, %", ErrorRow, tuple(rows))


def terms(hardware: Hardware, found: list[Cell]) -> Table[TermRow]:
    """What each term is worth."""
    fitted, predicted = hardware.fitted, [c for c in found if not c.fitted]
    charged = TermRow(
        term=ALL_CHARGED,
        cost_ns=None,
        standard_error_ns=None,
        left_out_error_percent=_percent(fitted.get("left_out_error")),
        predicted_error_percent=_rounded(error_percent((c.mbps, c.paper_mbps) for c in predicted)),
    )
    rows = [
        TermRow(
            term=f"without {term}",
            cost_ns=cost_ns,
            standard_error_ns=fitted.get("standard_errors_ns", {}).get(term),
            left_out_error_percent=_percent(fitted.get("left_out_error_without", {}).get(term)),
            predicted_error_percent=_rounded(error_percent((c.without(hardware, term), c.paper_mbps) for c in predicted)),
        )
        for term, cost_ns in hardware.costs.nonzero().items()
    ]
    title = f"Costs of {hardware.name} at {hardware.mips} MIPS, and the errors without each"
    return Table(title, TermRow, (charged, *rows))


def _rounded(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else round(value, 3)


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else round(100 * ratio, 3)
