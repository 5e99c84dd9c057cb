# SPDX-License-Identifier: GPL-2.0-or-later
"""Table 4, figures 6 and 7: the time per frame T = T_constant + k * S, by least squares.

The paper fits to the sizes that its wire does not cap. Here the ceiling can be lifted, so no size is capped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Annotated

from scipy import stats

from irqlab.config.schemes import VARIANTS
from irqlab.config.traffic import wire_rate_pps
from irqlab.present.columns import Col, figures
from irqlab.reproduce import reference
from irqlab.reproduce.spanos2008.throughput import SIZES, ThroughputRow, mbps_of
from irqlab.reproduce.table import Table, rounded

WIRE_BPS = 100e6
_DIGITS = figures(4)


@dataclass(frozen=True)
class ModelRow:
    """A row of table 4. Errors are standard errors; None with two sizes, through which every line goes."""

    variant: Annotated[str, Col("Variant")]
    t_constant_us: Annotated[float, Col("T_constant", "µs", _DIGITS)]
    t_constant_error_us: Annotated[float | None, Col("±", "", _DIGITS)]
    paper_t_constant_us: Annotated[float, Col("paper", "", _DIGITS)]
    k_us_per_byte: Annotated[float, Col("k", "µs/byte", _DIGITS)]
    k_error_us_per_byte: Annotated[float | None, Col("±", "", _DIGITS)]
    paper_k_us_per_byte: Annotated[float, Col("paper", "", _DIGITS)]
    r2: Annotated[float | None, Col("R²", "", _DIGITS)]
    max_residual_us: Annotated[float, Col("Largest residual", "µs", _DIGITS)]
    residual_rms_us: Annotated[float, Col("RMS of residuals", "µs", _DIGITS)]
    sizes: Annotated[str, Col("Fitted sizes", "bytes")]


@dataclass(frozen=True)
class ModelSizeRow:
    """A point of figures 6 and 7, in Mbit/s per interface."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    model_mbps: Annotated[float, Col("Model", "Mbit/s")]
    """Without the wire's limit: figure 7."""
    model_capped_mbps: Annotated[float, Col("model", "Mbit/s")]
    """Up to the wire's rate: figure 6."""
    throughput_mbps: Annotated[float | None, Col("measured")]
    error_percent: Annotated[float | None, Col("error", "%")]
    fitted: Annotated[bool, Col("Fitted to this size")]
    residual_us: Annotated[float | None, Col("Residual", "µs")]


@dataclass(frozen=True)
class Fit:
    """T = t_constant_us + k_us_per_byte * S. Errors are standard errors; None with two sizes, which leave no freedom."""

    t_constant_us: float
    k_us_per_byte: float
    t_constant_error_us: float | None
    k_error_us_per_byte: float | None
    r2: float | None
    sizes: tuple[int, ...]
    residuals_us: tuple[float, ...]
    """Measured less fitted, by size."""

    def us(self, frame_bytes: float) -> float:
        """The time per frame, in µs."""
        return self.t_constant_us + self.k_us_per_byte * frame_bytes


def fit(points: Sequence[tuple[int, float]]) -> Fit | None:
    """The fit to (frame bytes, µs per frame); None for fewer than two sizes."""
    if len({size for size, _ in points}) < 2:
        return None
    sizes, times = zip(*sorted(points), strict=True)
    line = stats.linregress(sizes, times)
    left = tuple(float(t - line.intercept - line.slope * s) for s, t in zip(sizes, times, strict=True))
    free = len(sizes) > 2
    return Fit(
        float(line.intercept),
        float(line.slope),
        float(line.intercept_stderr) if free else None,
        float(line.stderr) if free else None,
        float(line.rvalue**2) if free else None,
        sizes,
        left,
    )


def fits(table1: Table[ThroughputRow]) -> dict[str, Fit]:
    """The fit of every variant with at least two sizes in a table 1."""
    found = {v: fit([(r.frame_bytes, r.us_per_frame) for r in table1 if r.variant == v]) for v in VARIANTS}
    return {variant: one for variant, one in found.items() if one}


def table4(found: dict[str, Fit]) -> Table[ModelRow]:
    """Constants beside the paper's."""
    paper = reference.by("spanos2008_table4_model", "driver")
    rows = [
        ModelRow(
            variant=variant,
            t_constant_us=round(one.t_constant_us, 4),
            t_constant_error_us=rounded(one.t_constant_error_us, 4),
            paper_t_constant_us=float(paper[variant]["t_constant_us"]),
            k_us_per_byte=round(one.k_us_per_byte, 6),
            k_error_us_per_byte=rounded(one.k_error_us_per_byte, 6),
            paper_k_us_per_byte=float(paper[variant]["k_us_per_byte"]),
            r2=rounded(one.r2, 5),
            max_residual_us=round(max(abs(left) for left in one.residuals_us), 5),
            residual_rms_us=round(sqrt(sum(left**2 for left in one.residuals_us) / len(one.residuals_us)), 5),
            sizes=" ".join(str(size) for size in one.sizes),
        )
        for variant, one in found.items()
    ]
    return Table("Table 4: T = T_constant + k * S, least squares, without the wire's limit", ModelRow, tuple(rows))


def figure6(found: dict[str, Fit], table1: Table[ThroughputRow]) -> Table[ModelSizeRow]:
    """The model's throughput for every size of the paper beside what was measured; figure 7 is the model without the wire."""
    measured = {(r.frame_bytes, r.variant): r.throughput_mbps for r in table1}
    rows = []
    for size in SIZES:
        for variant, one in found.items():
            free = mbps_of(1e6 / one.us(size), size)
            capped = min(free, mbps_of(2 * wire_rate_pps(size, WIRE_BPS), size))
            said = measured.get((size, variant))
            row = ModelSizeRow(
                frame_bytes=size,
                variant=variant,
                model_mbps=round(free, 3),
                model_capped_mbps=round(capped, 3),
                throughput_mbps=said,
                error_percent=round(100 * (capped / said - 1), 3) if said else None,
                fitted=size in one.sizes,
                residual_us=round(one.residuals_us[one.sizes.index(size)], 5) if size in one.sizes else None,
            )
            rows.append(row)
    title = "Figures 6 and 7: the model's throughput and the measured one, Mbit/s per interface"
    return Table(title, ModelSizeRow, tuple(rows))
