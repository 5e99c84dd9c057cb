# SPDX-License-Identifier: GPL-2.0-or-later
"""A dozen metrics of a configuration's performance and cost, to compare it with others (`compare`, `matrix`).

They come from the throughput search and from three trials: at a low load, where the processor idles, so that what a frame costs
is counted and not how many frames fill the processor; near the throughput, where frames wait; and in overload. The loads are
shares of one rate, which is taken from a coarse grid: two configurations that differ a little are offered the same loads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from irqlab import units
from irqlab.config.values import Count, Rate, Ratio
from irqlab.config.workload import Workload
from irqlab.methods import profile as profiling
from irqlab.methods import throughput
from irqlab.methods.method import Lines, Method
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.tables import Cell, Column, Table
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

GRID = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
"""The preferred numbers R10 (ISO 3): base rates are these, times a power of ten."""
COST, BELOW, OVERLOAD = 0.2, 0.9, 2.0
"""The three loads, relative to the base rate, which is at most a fifth below the throughput."""
IDLES = 0.05
"""If the processor idles for less of the time, instructions per frame are its speed divided by the rate, not a frame's cost."""


DRAWN = ("throughput_pps", "instructions_per_frame", "latency_p99_ns", "overload_forwarded_pps")
"""Names of the metrics that get a heat map."""


@dataclass(frozen=True)
class Metric:
    """A metric. `better` is +1 if higher is better, -1 if lower is. `where` it is measured: cost, search, below or overload.

    `floor`: smaller differences, in the unit of the JSON, are never called differences (irqlab.compare.verdict).
    """

    name: str
    text: str
    unit: str
    better: int
    where: str
    floor: float


METRICS = (
    Metric("throughput_pps", "Throughput", "kpps", +1, "search", 100),
    Metric("instructions_per_frame", "Instructions per frame", "", -1, "cost", 1),
    Metric("interrupts_per_frame", "Interrupts per frame", "", -1, "cost", 0.005),
    Metric("nic_accesses_per_frame", "NIC register accesses per frame", "", -1, "cost", 0.01),
    Metric("nic_reads_per_frame", "NIC register reads per frame", "", -1, "cost", 0.01),
    Metric("code_lines_per_frame", "Lines of instructions per frame", "", -1, "cost", 0.5),
    Metric("data_lines_per_frame", "Lines of data per frame", "", -1, "cost", 0.5),
    Metric("l1i_fills_per_frame", "L1I fills per frame", "", -1, "cost", 0.5),
    Metric("l1d_fills_per_frame", "L1D fills per frame", "", -1, "cost", 0.5),
    Metric("l2_fills_per_frame", "L2 fills per frame", "", -1, "cost", 0.5),
    Metric("latency_p50_ns", "Latency, p50", "µs", -1, "below", 100),
    Metric("latency_p90_ns", "Latency, p90", "µs", -1, "below", 100),
    Metric("latency_p99_ns", "Latency, p99", "µs", -1, "below", 100),
    Metric("latency_p999_ns", "Latency, p99.9", "µs", -1, "below", 100),
    Metric("latency_max_ns", "Latency, max", "µs", -1, "below", 100),
    Metric("overload_forwarded_pps", "Forwarded in overload", "kpps", +1, "overload", 100),
    Metric("overload_instructions_per_frame", "Instructions per frame in overload", "", -1, "overload", 5),
)


@dataclass(frozen=True)
class Summary:
    """The metrics, and the profile of the trial at the low load. Rates are per direction."""

    base_pps: Rate
    """What the loads are shares of: the highest rate on the grid that is not above the throughput; of two sides, the lower."""
    cost_pps: Rate
    """The low load."""
    below_pps: Rate
    """The load near the throughput."""
    overload_pps: Rate | None
    """The load in overload; null: it cannot be offered (real ports)."""
    idle_ratio: Ratio | None
    """Share of the time that the processor idles at the low load. Below 0.05, instructions per frame do not show the cost."""
    timed: Count
    """Frames whose latency was measured near the throughput; of two directions, the one with fewer."""
    metrics: dict[str, float | None]
    """Metrics by name, see below; null if not measurable; lines only with --memory, fills with it or with a memory model."""
    profile: profiling.Summary | None
    """null if not profiled."""


def base_rates(throughput_pps: float) -> tuple[float, float]:
    """The base rate of a throughput, in frames/s, and the one below it on the grid."""
    exponent = math.floor(math.log10(throughput_pps)) + 1
    rates = [round(number * 10.0 ** (exponent - back), 6) for back in range(3) for number in reversed(GRID)]
    fitting = [rate for rate in rates if rate <= throughput_pps]
    return fitting[0], fitting[1]


def base_at(rate_pps: float) -> float:
    """The base rate with which latencies are measured at this rate."""
    return rate_pps / BELOW


def run(
    runner: TrialRunner,
    workload: Workload,
    known: MethodResult,
    base_pps: float | None = None,
    profiled: bool = True,
    memory: bool = False,
) -> MethodResult:
    """Measures the metrics. `known`: the throughput result of the same runner and workload.

    `base_pps`: rate per direction that the loads are shares of; default: that of `known`. Without `profiled` the trial at the low
    load is not profiled, which is faster, but does not count accesses to the NIC's registers. `memory`: its lines of memory are
    counted, too.
    """
    base_pps = base_rates(throughput.rate_per_direction(known))[0] if base_pps is None else base_pps
    cost_pps, below_pps, overload_pps = (round(base_pps * share, 6) for share in (COST, BELOW, OVERLOAD))
    result = runner.result("metrics", workload)
    result.copy_throughput(known)
    profile: profiling.Summary | None = None
    if profiled:
        row = profiling.run(runner, workload, rate_pps=cost_pps, memory=memory)
        low, result.samples, profile = row.trials[0], row.samples, row.summary
    else:
        low = runner.trial(runner.overload_spec(workload, cost_pps))
        runner.progress(f"{low.forwarded_pps / 1e3:.1f} kpps forwarded")
    below = runner.trial(runner.overload_spec(workload, below_pps))
    runner.progress(f"{below.forwarded_pps / 1e3:.1f} kpps forwarded")
    overload: ForwardingResult | None = None
    if overload_pps <= runner.most_pps(workload):
        overload = runner.trial(runner.overload_spec(workload, overload_pps))
        runner.progress(f"{overload.offered_pps / 1e3:.1f} kpps offered, {overload.forwarded_pps / 1e3:.1f} forwarded")
    result.copy_per_frame_metrics(low)
    result.summary = Summary(
        base_pps,
        cost_pps,
        below_pps,
        overload_pps if overload else None,
        low.idle_ratio,
        min((stream.latency.count for stream in below.streams), default=0),
        metrics(known, low, below, overload, profile),
        profile,
    )
    result.trials = [low, below, overload] if overload else [low, below]
    return result


def metrics(
    known: MethodResult,
    low: ForwardingResult,
    below: ForwardingResult,
    overload: ForwardingResult | None,
    profile: profiling.Summary | None,
) -> dict[str, float | None]:
    """Metrics by the names of METRICS; None if not measurable. Of two directions' latencies, the higher one."""
    figures: dict[str, float | None] = {"throughput_pps": known.total_throughput_pps}
    for key in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"):
        timed = [getattr(stream.latency, key) for stream in below.streams if stream.latency.count]
        figures[f"latency_{key}"] = max(timed, default=None)
    figures["instructions_per_frame"] = low.instructions_per_frame
    figures["interrupts_per_frame"] = low.interrupts_per_frame()
    reads, writes = (getattr(profile, name) / profile.frames if profile else None for name in ("nic_reads", "nic_writes"))
    figures["nic_accesses_per_frame"] = None if reads is None or writes is None else reads + writes
    figures["nic_reads_per_frame"] = reads
    fills = {cache: low.fills_per_frame(cache) for cache in ("L1I", "L1D", "L2")}
    figures |= {f"{cache.lower()}_fills_per_frame": value for cache, value in fills.items() if value is not None}
    if profile is not None and profile.memory is not msgspec.UNSET:
        figures = {**_of_lines(profile.memory, profile.frames), **figures}
    figures["overload_forwarded_pps"] = overload.forwarded_pps if overload else None
    figures["overload_instructions_per_frame"] = overload.instructions_per_frame if overload else None
    return figures


def _of_lines(found: profiling.LinesOfMemory, frames: int) -> dict[str, float | None]:
    """Lines per frame, and misses of the caches they were counted with."""
    code = [sum(f.code_misses[n] for f in found.functions) / frames for n in range(len(found.levels) - 1)]
    data = [sum(f.data_misses[n] for f in found.functions) / frames for n in range(len(found.levels) - 1)]
    figures: dict[str, float | None] = {
        "code_lines_per_frame": sum(f.new_code_lines for f in found.functions) / frames,
        "data_lines_per_frame": sum(f.new_data_lines for f in found.functions) / frames,
        "l1i_fills_per_frame": code[0],
        "l1d_fills_per_frame": data[0],
    }
    if "L2" in found.levels:
        figures["l2_fills_per_frame"] = code[1] + data[1]
    return figures


def text(metric: Metric, value: float | None) -> str:
    """A value formatted in the metric's unit, without the unit."""
    if value is None:
        return units.NONE
    if metric.unit:
        return units.figures(value / 1e3)
    return units.per_frame(value)


def _size(row: Row) -> str:
    """A column's heading."""
    return f"{units.bytes_of(row.frame_bytes)}{' both' if row.bidirectional else ''}"


def _values(row: Row) -> dict[str, float | None]:
    found: dict[str, float | None] = row.summary.metrics
    return found


def _heat_map(rows: Sequence[Row], metric: Metric) -> Table:
    """One metric: a row per configuration, a column per frame size; darker is better within a column."""
    names = list(dict.fromkeys(row.variant.label for row in rows))
    sizes = list(dict.fromkeys(_size(row) for row in rows))
    values = {(row.variant.label, _size(row)): _values(row).get(metric.name) for row in rows}
    shades = {
        size: _shades([v for name in names if (v := values.get((name, size))) is not None], metric.better) for size in sizes
    }
    lines = []
    for name in names:
        cells = [(values.get((name, size)), shades[size]) for size in sizes]
        shown = [Cell(text(metric, value), shade=None if value is None else shade(value), value=value) for value, shade in cells]
        lines.append([Cell(name), *shown])
    unit = f", {metric.unit}" if metric.unit else ""
    return Table(f"{metric.text}{unit}", [Column("Driver", number=False), *(Column(size) for size in sizes)], lines)


def _shades(values: Sequence[float], better: int) -> Callable[[float], float]:
    """Shade of a value: 0.08 for the worst to 0.6 for the best, on a logarithmic scale."""
    logs = [math.log(max(value, 1e-9)) for value in values]
    low, high = min(logs, default=0.0), max(logs, default=0.0)

    def shade(value: float) -> float:
        if high - low < 1e-12:
            return 0.3
        place = (math.log(max(value, 1e-9)) - low) / (high - low)
        return 0.08 + 0.52 * (place if better > 0 else 1 - place)

    return shade


def _table(rows: Sequence[Row]) -> Table:
    """Every metric of every row."""
    known = [m for m in METRICS if any(_values(row).get(m.name) is not None for row in rows)]
    columns = [Column("Driver", number=False), Column("Frame", number=False), *(Column(m.text, unit=m.unit) for m in known)]
    lines = [
        [
            Cell(row.variant.label),
            Cell(_size(row)),
            *(Cell(text(m, value), value=value) for m in known for value in [_values(row).get(m.name)]),
        ]
        for row in rows
    ]
    return Table("All metrics, side by side", columns, lines, folded=len(rows) > 12)


def _sections(rows: Sequence[Row], _: Numbers) -> list[Section]:
    """Heat maps of the main metrics, if there is more than one row, and a table of all metrics."""
    maps = [_heat_map(rows, metric) for metric in METRICS if metric.name in DRAWN] if len(rows) > 1 else []
    return [METHOD.page_section([Group(tables=[*maps, _table(rows)])])] if rows else []


@dataclass(frozen=True)
class Line:
    """One metric of a configuration."""

    name: Annotated[str, Col("Figure")]
    value: Annotated[float | None, Col("Value")]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The lines of a result row."""
        return [cls(metric.name, _values(row).get(metric.name)) for metric in METRICS]


def _details() -> str:
    """Lists the metrics, and the trial each comes from."""
    loads = {
        "cost": "from a trial at `cost_pps`",
        "search": "from the search",
        "below": f"from a trial at {BELOW * 100:g} % of `base_pps`",
        "overload": f"from a trial at {OVERLOAD:g} times `base_pps`",
    }
    names = {key: ", ".join(f"`{metric.name}`" for metric in METRICS if metric.where == key) for key in loads}
    return (
        f"The metrics: {'; '.join(f'{where}, {names[key]}' for key, where in loads.items())}. With two "
        "directions, latency is the higher one. `trials` holds these trials; the preceding `throughput` row has the search's."
    )


METHOD = Method(
    name="metrics",
    place=70,
    title="Side by side",
    help="A configuration's performance and cost in a dozen metrics (irqlab compare, irqlab matrix).",
    intro="Instructions, interrupts and register accesses are counted at a low load, where the processor idles; latency is "
    "measured near the throughput. The loads are 20, 90 and, in overload, 200 % of a rate from a grid that is not above the "
    "throughput (the lower one, if two were compared). Darker is better within a column.",
    sample=profiling.Sample,
    summary=Summary,
    lines=Lines("Figures", Line, Line.of),
    run=None,
    details=_details(),
    draws=_sections,
)
