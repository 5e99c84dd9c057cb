# SPDX-License-Identifier: GPL-2.0-or-later
"""The interaction of NAPI and TX-OFF, with a cost for each line that the instruction cache fills (--long).

The fills a frame are measured on a model of the board's caches (mpc8250-memory). The time they take is one number, fitted to the
cells of table 1 that the board's costs were fitted to, together with those for a byte and for a packet that an interrupt frees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from irqlab.calibrate.fit import Sample, least_squares
from irqlab.config import hardware
from irqlab.config.costs import Costs
from irqlab.config.schemes import VARIANTS, combine
from irqlab.methods import throughput as search
from irqlab.present.columns import Col, figures
from irqlab.reproduce.session import cases, measured
from irqlab.reproduce.spanos2008 import precision
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.throughput import BASE, Results, best_trial, us_per_frame
from irqlab.reproduce.table import Table
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job

MACHINE = "mpc8250-memory"
CACHE = "L1I"
SIZES = (64, 256, 512)
"""Frame bytes; those in the middle are predicted."""
SLOWER = 0.4
"""The machine's throughput by that of instructions alone, for the search to begin with."""
FCS_BYTES = 4
BYTE, FREE, FILL = "byte", "free_irq", "fill"
FITS = ((BYTE, FREE), (BYTE, FILL), (BYTE, FREE, FILL))
_DIGITS = figures(4)


@dataclass(frozen=True)
class FillRow:
    """A cell of table 1."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    fills_per_frame: Annotated[float, Col("Fills of the instruction cache", "a frame", _DIGITS)]
    raw_us: Annotated[float, Col("Instructions alone", "µs", _DIGITS)]
    paper_us: Annotated[float, Col("The paper", "µs", _DIGITS)]


@dataclass(frozen=True)
class FillFitRow:
    """Costs fitted to the cells of some sizes."""

    terms: Annotated[str, Col("Costs")]
    byte_ns: Annotated[float | None, Col("A byte", "ns", _DIGITS)]
    free_irq_ns: Annotated[float | None, Col("Freeing in an interrupt", "ns", _DIGITS)]
    fill_ns: Annotated[float | None, Col("A fill", "ns", _DIGITS)]
    error_percent: Annotated[float, Col("Error of the fitted cells", "%", _DIGITS)]
    left_out_error_percent: Annotated[float, Col("of left-out variants", "%", _DIGITS)]
    predicted_error_percent: Annotated[float, Col("of the other size", "%", _DIGITS)]
    mutual_least_us: Annotated[float, Col("Interaction: least", "µs", _DIGITS)]
    """Of the sizes; by costs that were fitted to no cell of NAPI-TX-OFF."""
    mutual_most_us: Annotated[float, Col("most", "µs", _DIGITS)]
    paper_least_us: Annotated[float, Col("paper: least", "µs", _DIGITS)]
    paper_most_us: Annotated[float, Col("most", "µs", _DIGITS)]


def measure(run: Run, plain: Results) -> Table[FillRow]:
    """The fills a frame at the machine's throughput. `plain`: by instructions alone, the wire's limit lifted."""
    memory = hardware.load(MACHINE)

    def job(frame_bytes: int, variant: str) -> Job[MethodResult]:
        expected = SLOWER * (plain[frame_bytes, variant].total_throughput_pps or 0.0) / 2
        workload = replace(run.workload(frame_bytes), above_line_rate=True, expected_pps=expected)
        bed = run.session.testbed(combine(variant)[0], mips=memory.mips, memory=memory.memory)
        return Job(f"{variant} {frame_bytes} bytes, {MACHINE}", bed, partial(search.run, workload=workload))

    every = cases(frame_bytes=SIZES, variant=VARIANTS)
    return measured(run.session, "fills of the instruction cache", every, job).table(
        f"Fills of the instruction cache, {MACHINE}",
        FillRow,
        lambda found, frame_bytes, variant: {
            "fills_per_frame": round(best_trial(found).fills_per_frame(CACHE) or 0.0, 1),
            "raw_us": round(us_per_frame(plain[frame_bytes, variant]), 4),
            "paper_us": round(precision.us_of((frame_bytes, variant)), 4),
        },
    )


def fits(table: Table[FillRow]) -> Table[FillFitRow]:
    """Costs with the fills and without."""
    return Table("Costs fitted to table 1, with one for a fill", FillFitRow, tuple(_fit(table.rows, terms) for terms in FITS))


def _sample(row: FillRow) -> Sample:
    events = {
        BYTE: 2.0 * (row.frame_bytes - FCS_BYTES),
        FREE: 0.0 if row.variant in (precision.OFF, precision.FASTEST) else 1.0,
        FILL: row.fills_per_frame,
    }
    return Sample(1e3 * row.paper_us, 1e3 * row.raw_us, events, Costs(), row.variant)


def _costs(rows: Sequence[FillRow], terms: Sequence[str]) -> dict[str, float]:
    """In ns, of either sign. Raises ValueError if they are not determined."""
    found = least_squares([_sample(row) for row in rows if row.frame_bytes in precision.FITTED_SIZES], terms)
    if found is None:
        raise ValueError(f"the cells do not determine {', '.join(terms)}")
    return dict(zip(terms, map(float, found), strict=True))


def _us(row: FillRow, costs: Mapping[str, float]) -> float:
    events = _sample(row).events
    return row.raw_us + sum(cost * events[term] for term, cost in costs.items()) / 1e3


def _error_percent(pairs: Sequence[tuple[FillRow, Mapping[str, float]]]) -> float:
    return 100 * sum(abs(row.paper_us / _us(row, costs) - 1) for row, costs in pairs) / len(pairs)


def _fit(rows: Sequence[FillRow], terms: Sequence[str]) -> FillFitRow:
    costs = _costs(rows, terms)
    without = {variant: _costs([row for row in rows if row.variant != variant], terms) for variant in VARIANTS}
    fitted = [row for row in rows if row.frame_bytes in precision.FITTED_SIZES]
    us = {(row.frame_bytes, row.variant): _us(row, without[precision.FASTEST]) for row in rows}
    theirs = {(row.frame_bytes, row.variant): row.paper_us for row in rows}
    mutual, paper = (
        [
            precision.mutual_us({v: of[size, v] for v in (BASE, precision.NAPI, precision.OFF, precision.FASTEST)})
            for size in SIZES
        ]
        for of in (us, theirs)
    )
    return FillFitRow(
        terms=", ".join(terms),
        byte_ns=_rounded(costs.get(BYTE)),
        free_irq_ns=_rounded(costs.get(FREE)),
        fill_ns=_rounded(costs.get(FILL)),
        error_percent=round(_error_percent([(row, costs) for row in fitted]), 3),
        left_out_error_percent=round(_error_percent([(row, without[row.variant]) for row in fitted]), 3),
        predicted_error_percent=round(_error_percent([(row, costs) for row in rows if row not in fitted]), 3),
        mutual_least_us=round(min(mutual), 3),
        mutual_most_us=round(max(mutual), 3),
        paper_least_us=round(min(paper), 3),
        paper_most_us=round(max(paper), 3),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
