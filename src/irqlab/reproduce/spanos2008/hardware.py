# SPDX-License-Identifier: GPL-2.0-or-later
"""Table 1 with the costs of hardware: which cells the costs were fitted to, how good the others are, what each term is worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from irqlab.config.hardware import Hardware
from irqlab.reproduce.paper import Data
from irqlab.reproduce.spanos2008.throughput import Results, best_trial, mbps_of

TARGET_PERCENT = 8.0
"""Mean absolute error of the predicted cells that the project asks for."""


@dataclass(frozen=True)
class Cell:
    """A cell of table 1 below the wire's rate in the paper."""

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
    wire_mbps: float

    def without(self, hardware: Hardware, term: str) -> float:
        """The throughput if one term were not charged: events per frame as they are, no more than the wire carries."""
        us = 1e6 / _pps_of(self.mbps, self.frame_bytes) - getattr(hardware.costs, term) * self.events.get(term, 0.0) / 1e3
        return min(mbps_of(1e6 / us, self.frame_bytes), self.wire_mbps) if us > 0 else self.wire_mbps


def _pps_of(mbps: float, frame_bytes: int) -> float:
    return mbps / mbps_of(1.0, frame_bytes)


def cells(hardware: Hardware, raw: Data, charged: Data, found: Results) -> list[Cell]:
    """Every cell that is not capped in the paper. Raises StopIteration if a table lacks one."""
    fitted = {(int(c["frame_bytes"]), str(c["variant"])) for c in hardware.fitted.get("cells", ())}
    made = []
    for row in charged.records(paper_capped=False):
        size, variant = row["frame_bytes"], row["variant"]
        best = best_trial(found[size, variant])
        events = {name: number / best.frames_forwarded for name, number in (best.cost_events or {}).items()}
        wire_mbps = mbps_of(2 * 100e6 / ((size + 20) * 8), size)
        made.append(
            Cell(
                size, variant, (size, variant) in fitted, row["paper_mbps"],
                raw.one(frame_bytes=size, variant=variant)["throughput_mbps"], row["throughput_mbps"], events, wire_mbps,
            )
        )  # fmt: skip
    return made


def error_percent(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Mean absolute error of (measured, paper); None without any."""
    errors = [abs(measured / paper - 1) for measured, paper in pairs]
    return 100 * sum(errors) / len(errors) if errors else None


def table(found: list[Cell]) -> Data:
    """Every cell with its ratios."""
    data = Data(
        "Table 1 with the costs of hardware: cells below the wire's rate in the paper, Mbit/s per interface",
        ("frame_bytes", "variant", "cell", "paper_mbps", "raw_mbps", "raw_ratio", "throughput_mbps", "ratio"),
    )
    for c in found:
        data.add(
            frame_bytes=c.frame_bytes,
            variant=c.variant,
            cell="fitted" if c.fitted else "predicted",
            paper_mbps=c.paper_mbps,
            raw_mbps=c.raw_mbps,
            raw_ratio=round(c.raw_mbps / c.paper_mbps, 4),
            throughput_mbps=c.mbps,
            ratio=round(c.mbps / c.paper_mbps, 4),
        )
    return data


def errors(found: list[Cell]) -> Data:
    """Mean absolute errors, with costs and without."""
    data = Data("Mean absolute error against the paper's table 1, %", ("cells", "count", "raw_error_percent", "error_percent"))
    for name, chosen in (
        ("fitted", [c for c in found if c.fitted]),
        ("predicted", [c for c in found if not c.fitted]),
        ("all", found),
    ):
        data.add(
            cells=name,
            count=len(chosen),
            raw_error_percent=_rounded(error_percent((c.raw_mbps, c.paper_mbps) for c in chosen)),
            error_percent=_rounded(error_percent((c.mbps, c.paper_mbps) for c in chosen)),
        )
    return data


def terms(hardware: Hardware, found: list[Cell]) -> Data:
    """What each term is worth: errors without it.

    `left_out_error_percent` is the fit's with a cell left out, the other terms fitted again (from the hardware's file);
    `predicted_error_percent` is that of the predicted cells, the other terms as they are.
    """
    data = Data(
        f"Costs of {hardware.name} at {hardware.mips} MIPS, and the errors without each",
        ("term", "cost_ns", "standard_error_ns", "left_out_error_percent", "predicted_error_percent"),
    )
    fitted, predicted = hardware.fitted, [c for c in found if not c.fitted]
    data.add(
        term="(all charged)",
        left_out_error_percent=_percent(fitted.get("left_out_error")),
        predicted_error_percent=_rounded(error_percent((c.mbps, c.paper_mbps) for c in predicted)),
    )
    for term, cost_ns in hardware.costs.nonzero().items():
        data.add(
            term=f"without {term}",
            cost_ns=cost_ns,
            standard_error_ns=fitted.get("standard_errors_ns", {}).get(term),
            left_out_error_percent=_percent(fitted.get("left_out_error_without", {}).get(term)),
            predicted_error_percent=_rounded(error_percent((c.without(hardware, term), c.paper_mbps) for c in predicted)),
        )
    return data


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else round(100 * ratio, 3)
