# SPDX-License-Identifier: GPL-2.0-or-later
"""What a configuration does and what it costs, in a dozen figures that can be put beside another's (`compare`, `matrix`).

Three things: the throughput; a trial below it, where nothing is lost, so that whoever is compared does the same work;
and an overload.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from irqlab import units
from irqlab.config.workload import Workload
from irqlab.methods import profile as profiling
from irqlab.methods import throughput
from irqlab.methods.method import Lines, Method
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.tables import Cell, Column, Table
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.results.records import Rate
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

SHARE = 0.9
"""Of the throughput (of the lower one, where two are compared): the load below it."""
OVERLOAD = 2.0
"""Of the same throughput."""


DRAWN = ("throughput_pps", "instructions_per_frame", "latency_p99_ns", "overload_forwarded_pps")
"""Figures that have a heat map, by their names."""


@dataclass(frozen=True)
class Metric:
    """A figure. `better` is +1 where more is better, -1 where less is. `where`: search, below or overload."""

    name: str
    text: str
    unit: str
    better: int
    where: str


METRICS = (
    Metric("throughput_pps", "Throughput", "kpps", +1, "search"),
    Metric("latency_p50_ns", "Latency, p50", "µs", -1, "below"),
    Metric("latency_p90_ns", "Latency, p90", "µs", -1, "below"),
    Metric("latency_p99_ns", "Latency, p99", "µs", -1, "below"),
    Metric("latency_p999_ns", "Latency, p99.9", "µs", -1, "below"),
    Metric("latency_max_ns", "Latency, max", "µs", -1, "below"),
    Metric("instructions_per_frame", "Instructions a frame", "", -1, "below"),
    Metric("interrupts_per_frame", "Interrupts a frame", "", -1, "below"),
    Metric("nic_accesses_per_frame", "NIC register accesses a frame", "", -1, "below"),
    Metric("nic_reads_per_frame", "of these, reads", "", -1, "below"),
    Metric("overload_forwarded_pps", "Forwarded in overload", "kpps", +1, "overload"),
    Metric("overload_instructions_per_frame", "Instructions a frame in overload", "", -1, "overload"),
)


@dataclass(frozen=True)
class Summary:
    """The figures, and the profile of the trial below the throughput."""

    base_pps: Rate
    """Per direction: the throughput that the loads are shares of; of two that are compared, the lower one."""
    metrics: dict[str, float | None]
    """Figures by name, see below; null: it could not be measured."""
    profile: profiling.Summary | None
    """null: not profiled."""


def run(
    runner: TrialRunner, workload: Workload, known: MethodResult, base_pps: float | None = None, profiled: bool = True
) -> MethodResult:
    """The figures; `known` is the throughput result of the same runner and workload.

    `base_pps`, per direction, is the throughput that the two loads are shares of; default: `known`'s. Without `profiled`
    the trial below it is not profiled: quicker, and the accesses to the NIC's registers are not counted.
    """
    base_pps = throughput.rate_per_direction(known) if base_pps is None else base_pps
    result = runner.result("metrics", workload)
    result.copy_throughput(known)
    profile: profiling.Summary | None = None
    if profiled:
        row = profiling.run(runner, workload, rate_pps=base_pps * SHARE)
        below, result.samples, profile = row.trials[0], row.samples, row.summary
    else:
        below = runner.trial(runner.overload_spec(workload, base_pps * SHARE))
        runner.progress(f"{below.forwarded_pps / 1e3:.1f} kpps forwarded")
    overload = runner.trial(runner.overload_spec(workload, base_pps * OVERLOAD))
    runner.progress(f"{overload.offered_pps / 1e3:.1f} kpps offered, {overload.forwarded_pps / 1e3:.1f} forwarded")
    result.copy_per_frame_metrics(below)
    result.summary = Summary(base_pps, metrics(known, below, overload, profile), profile)
    result.trials = [below, overload]
    return result


def metrics(
    known: MethodResult, below: ForwardingResult, overload: ForwardingResult, profile: profiling.Summary | None
) -> dict[str, float | None]:
    """The figures by the names of METRICS; None: it could not be had. Of two directions' latencies, the longer."""
    figures: dict[str, float | None] = {"throughput_pps": known.total_throughput_pps}
    for key in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"):
        timed = [stream["latency"][key] for stream in below.streams if stream["latency"]["count"]]
        figures[f"latency_{key}"] = max(timed, default=None)
    figures["instructions_per_frame"] = below.instructions_per_frame
    figures["interrupts_per_frame"] = below.interrupts_per_frame()
    reads, writes = (getattr(profile, name) / profile.frames if profile else None for name in ("nic_reads", "nic_writes"))
    figures["nic_accesses_per_frame"] = None if reads is None or writes is None else reads + writes
    figures["nic_reads_per_frame"] = reads
    figures["overload_forwarded_pps"] = overload.forwarded_pps
    figures["overload_instructions_per_frame"] = overload.instructions_per_frame
    return figures


def text(metric: Metric, value: float | None) -> str:
    """A figure in its unit, without it."""
    if value is None:
        return units.NONE
    if metric.unit:
        return units.figures(value / 1e3)
    return units.whole(value) if value >= 100 else units.per_frame(value)


def _size(row: Row) -> str:
    """A column's heading."""
    return f"{units.bytes_of(row.frame_bytes)}{' both' if row.bidirectional else ''}"


def _values(row: Row) -> dict[str, float | None]:
    found: dict[str, float | None] = row.summary.metrics
    return found


def _heat_map(rows: Sequence[Row], metric: Metric) -> Table:
    """One figure: configurations down, frame sizes across; the better in its column, the darker."""
    names = list(dict.fromkeys(row.variant.label for row in rows))
    sizes = list(dict.fromkeys(_size(row) for row in rows))
    values = {(row.variant.label, _size(row)): _values(row).get(metric.name) for row in rows}
    shades = {
        size: _shades([v for name in names if (v := values.get((name, size))) is not None], metric.better) for size in sizes
    }
    lines = []
    for name in names:
        cells = [(values.get((name, size)), shades[size]) for size in sizes]
        shown = [Cell(text(metric, value), shade=None if value is None else shade(value)) for value, shade in cells]
        lines.append([Cell(name), *shown])
    unit = f", {metric.unit}" if metric.unit else ""
    return Table(f"{metric.text}{unit}", [Column("Driver", number=False), *(Column(size) for size in sizes)], lines)


def _shades(values: Sequence[float], better: int) -> Callable[[float], float]:
    """From 0.08 for the worst to 0.6 for the best, in proportion on a logarithmic scale."""
    logs = [math.log(max(value, 1e-9)) for value in values]
    low, high = min(logs, default=0.0), max(logs, default=0.0)

    def shade(value: float) -> float:
        if high - low < 1e-12:
            return 0.3
        place = (math.log(max(value, 1e-9)) - low) / (high - low)
        return 0.08 + 0.52 * (place if better > 0 else 1 - place)

    return shade


def _table(rows: Sequence[Row]) -> Table:
    """Every figure of every row."""
    known = [m for m in METRICS if any(_values(row).get(m.name) is not None for row in rows)]
    columns = [Column("Driver", number=False), Column("Frame", number=False), *(Column(m.text, unit=m.unit) for m in known)]
    lines = [
        [Cell(row.variant.label), Cell(_size(row)), *(Cell(text(m, _values(row).get(m.name))) for m in known)] for row in rows
    ]
    return Table("All figures, side by side", columns, lines, folded=len(rows) > 12)


def _sections(rows: Sequence[Row], _: Numbers) -> list[Section]:
    """Heat maps of the figures that say most, where there is more than one row, and one table of all."""
    maps = [_heat_map(rows, metric) for metric in METRICS if metric.name in DRAWN] if len(rows) > 1 else []
    return [METHOD.page_section([Group(tables=[*maps, _table(rows)])])] if rows else []


@dataclass(frozen=True)
class Line:
    """A figure of a configuration."""

    name: Annotated[str, Col("Figure")]
    value: Annotated[float | None, Col("Value")]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The lines of a result row."""
        return [cls(metric.name, _values(row).get(metric.name)) for metric in METRICS]


def _details() -> str:
    """Which figures there are, and what they are of."""
    loads = {
        "search": "from the search",
        "below": f"from a trial at {SHARE * 100:g} % of `base_pps`",
        "overload": f"from one at {OVERLOAD:g} times `base_pps`",
    }
    names = {key: ", ".join(f"`{metric.name}`" for metric in METRICS if metric.where == key) for key in loads}
    return (
        f"The figures: {'; '.join(f'{where}, {names[key]}' for key, where in loads.items())}. Of two directions' latencies the "
        "longer one counts. `trials` holds these two trials; those of the search are in the row of `throughput` before it."
    )


METHOD = Method(
    name="metrics",
    place=70,
    title="Side by side",
    help="What a configuration does and costs, in a dozen figures (irqlab compare, irqlab matrix).",
    intro="Latency, instructions, interrupts and register accesses are those at 90 % of the throughput (where two were compared, "
    "of the lower one), overload is twice that throughput. The better in its column, the darker.",
    sample=profiling.Sample,
    summary=Summary,
    lines=Lines("Figures", Line, Line.of),
    run=None,
    details=_details(),
    draws=_sections,
)
