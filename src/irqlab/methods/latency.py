# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency (RFC 1242, 3.8, store and forward; RFC 2544, 26.2) at shares of the throughput, with RFC 3393's delay variation.

RFC 2544 asks for the latency at the throughput; the latency cost of interrupt moderation shows at lower loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from irqlab import units
from irqlab.config.values import Count, Rate, Ratio
from irqlab.config.workload import Workload
from irqlab.methods import answers, throughput
from irqlab.methods.method import Lines, Method, NoSummary
from irqlab.methods.options import rates
from irqlab.present import plots, series
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Legend, Numbers, Plot, Section
from irqlab.present.rows import by_test, kpps_text, legend_of, line_of
from irqlab.present.series import Line as PlotLine
from irqlab.present.variants import Row
from irqlab.results import histogram
from irqlab.results.document import MethodResult
from irqlab.results.histogram import Histogram
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.record import Ipdv, Latency

SHARES = (0.1, 0.5, 0.9, 1.0)
PERCENTILES = (("p50_ns", "p50"), ("p90_ns", "p90"), ("p99_ns", "p99"), ("p999_ns", "p99.9"), ("max_ns", "max"))
"""Fields of a latency record, and their headings."""
MAX_DISTRIBUTIONS = 3
MAX_POINTS = 160


Load = tuple[float, float]
"""A share of the throughput, and 0; or 0, and a rate in frames/s that was asked for. In this order loads are sorted."""


@dataclass(frozen=True)
class Options:
    """The loads."""

    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            help="Offered loads in frames/s per direction, comma-separated (10k,40k); default: "
            f"{', '.join(f'{share:g}' for share in SHARES)} times the throughput.",
        ),
    ] = None

    def __post_init__(self) -> None:
        rates(self.rate)


@dataclass(frozen=True)
class Sample:
    """One direction at one load."""

    load: Rate
    """Relative to the throughput."""
    rate_pps: Rate
    """Offered, per direction."""
    direction: tuple[Count, Count]
    """Ports through which frames enter and leave the DUT."""
    latency: Latency
    ipdv: Ipdv
    loss_ratio: Ratio

    @property
    def at(self) -> Load:
        """The load as it was asked for."""
        return (self.load, 0.0) if self.load in SHARES else (0.0, self.rate_pps)


def _said(load: Load, share: Callable[[float], str] = units.share) -> str:
    """A load in words. `share`: how a share is written."""
    return share(load[0]) if load[0] else kpps_text(load[1])


@dataclass(frozen=True)
class Line:
    """A table line; times are None if no frame arrived."""

    load: Annotated[float, Col("Load", format=units.share_near, title="as a share of the throughput")]
    rate_pps: Annotated[float, Col("Offered", "kpps", units.kpps, title="per direction")]
    direction: Annotated[str | None, Col("Ports", optional=True, title="into the device, out of it")]
    min_ns: Annotated[int | None, Col("min", format=units.duration)]
    mean_ns: Annotated[float | None, Col("mean", format=units.duration)]
    p50_ns: Annotated[int | None, Col("p50", format=units.duration)]
    p90_ns: Annotated[int | None, Col("p90", format=units.duration)]
    p99_ns: Annotated[int | None, Col("p99", format=units.duration)]
    p999_ns: Annotated[int | None, Col("p99.9", format=units.duration)]
    max_ns: Annotated[int | None, Col("max", format=units.duration)]
    mean_abs_ipdv_ns: Annotated[
        float | None, Col("IPDV", format=units.duration, title="mean delay variation between consecutive frames (RFC 3393)")
    ]
    loss_ratio: Annotated[float, Col("Loss", format=units.percent)]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The lines of a result row."""
        return [cls._one(sample, row.bidirectional) for sample in row.samples]

    @classmethod
    def _one(cls, sample: Sample, bidirectional: bool) -> Line:
        found = sample.latency if sample.latency.count else None
        return cls(
            load=sample.load,
            rate_pps=sample.rate_pps,
            direction=f"{sample.direction[0]} → {sample.direction[1]}" if bidirectional else None,
            min_ns=found.min_ns if found else None,
            mean_ns=found.mean_ns if found else None,
            p50_ns=found.p50_ns if found else None,
            p90_ns=found.p90_ns if found else None,
            p99_ns=found.p99_ns if found else None,
            p999_ns=found.p999_ns if found else None,
            max_ns=found.max_ns if found else None,
            mean_abs_ipdv_ns=sample.ipdv.mean_abs_ns if sample.ipdv.count else None,
            loss_ratio=sample.loss_ratio,
        )


def run(
    runner: TrialRunner,
    workload: Workload,
    shares: tuple[float, ...] = SHARES,
    known: MethodResult | None = None,
    rates_pps: Sequence[float] | None = None,
) -> MethodResult:
    """Measures latency percentiles, a sample per load and stream. `known`: a throughput result of this runner and workload.

    `rates_pps`: the loads in each direction, instead of shares of the throughput.
    """
    base = known or throughput.run(runner, workload)
    rate_pps = throughput.rate_per_direction(base)
    detailed = replace(workload, histogram=True)
    if rates_pps is not None:
        shares = tuple(one / rate_pps for one in rates_pps)
    specs = [(runner.overload_spec if share > 1 else runner.spec)(detailed, rate_pps * share) for share in shares]

    def result(found: Mapping[int, ForwardingResult]) -> MethodResult:
        return _result(runner, workload, base, {shares[place]: trial for place, trial in found.items()})

    trials = runner.trials(
        specs, lambda t: f"{t.offered_pps / 1e3:.1f} kpps, p99 {t.streams[0].latency.p99_ns / 1e3:.1f} us", result
    )
    return result(dict(enumerate(trials)))


def _result(runner: TrialRunner, workload: Workload, base: MethodResult, found: Mapping[float, ForwardingResult]) -> MethodResult:
    """The result, from trials by their share of the throughput `base`."""
    rate_pps = throughput.rate_per_direction(base)
    result = runner.result("latency", workload)
    result.copy_throughput(base)
    result.instructions_per_frame = base.instructions_per_frame
    result.interrupts_per_frame = base.interrupts_per_frame
    result.rx_interrupts_per_frame = base.rx_interrupts_per_frame
    result.tx_interrupts_per_frame = base.tx_interrupts_per_frame
    result.samples = [
        Sample(
            load=share,
            rate_pps=rate_pps * share,
            direction=(stream.from_, stream.to),
            latency=stream.latency,
            ipdv=stream.ipdv,
            loss_ratio=trial.loss_ratio,
        )
        for share, trial in found.items()
        for stream in trial.streams
    ]
    result.summary = NoSummary()
    result.trials = list(found.values())
    return result


def _sections(rows: Sequence[Row], number: Numbers) -> list[Section]:
    """Percentiles by load, and distributions if histograms were recorded."""
    rows = [row for row in rows if any(sample.latency.count for sample in row.samples)]
    groups = [group for heading, same in by_test(rows) for group in _groups(heading, same, number)]
    return [METHOD.page_section(groups)] if groups else []


def _slower(row: Row) -> dict[Load, Latency]:
    """Per load, the latency of the direction with the higher p99."""
    found: dict[Load, Latency] = {}
    for sample in row.samples:
        record = sample.latency
        if record.count and record.p99_ns >= found.get(sample.at, record).p99_ns:
            found[sample.at] = record
    return dict(sorted(found.items()))


def _groups(heading: str, rows: Sequence[Row], number: Numbers) -> list[Group]:
    rows = sorted(rows, key=lambda row: row.variant.number)
    slower = {row.variant.number: _slower(row) for row in rows}
    records = [record for by_load in slower.values() for record in by_load.values()]
    bounds = plots.log_bounds(getattr(record, key) / 1e3 for record in records for key, _ in PERCENTILES)
    group = Group(heading)
    given = any(load[1] for by_load in slower.values() for load in by_load)
    names = [name for _, name in PERCENTILES]
    if any(len(by_load) > 1 for by_load in slower.values()):
        for row in rows:
            by_load = slower[row.variant.number].items()
            colour = series.style(row.variant.number).colour
            x = [load[1] / 1e3 if given else 100 * load[0] for load, _ in by_load]
            lines = []
            for n, (key, name) in enumerate(PERCENTILES):
                points = list(zip(x, [_us(getattr(record, key)) for _, record in by_load], strict=True))
                lines.append(PlotLine(f"rank-{n}", name, series.rank_style(n, colour), points))
            draw = plots.latency_over_load if given else plots.latency_by_load
            group.plots.append(number.plot(row.variant.label, draw(lines, bounds)))
        group.legend = [Legend(f"rank-{n}", name) for n, name in enumerate(names)]
    else:
        drawn = [
            line_of(row, [(n, _us(getattr(record, key))) for n, (key, _) in enumerate(PERCENTILES)])
            for row in rows
            for record in slower[row.variant.number].values()
        ]
        load = next(iter(slower[rows[0].variant.number]))
        group.plots.append(number.plot(f"At {_said(load, units.share_of)}", plots.latency_percentiles(drawn, names, bounds)))
        group.legend = legend_of(rows)
    if any(row.bidirectional for row in rows):
        group.note = "With two directions, the slower one is plotted."
    distributions = _distributions(rows, slower, number)
    last = Group(f"{heading}: distribution", plots=distributions, legend=legend_of(rows)) if distributions else group
    last.tables = [METHOD.lines.table(rows)]
    return [group, last] if distributions else [group]


def _us(ns: float) -> float | None:
    """A time in µs for a logarithmic axis."""
    return ns / 1e3 if ns > 0 else None


def _distributions(rows: Sequence[Row], slower: dict[int, dict[Load, Latency]], number: Numbers) -> list[Plot]:
    """Latency by percentile from the histograms, at the lowest, the middle and the highest load."""
    loads: dict[Load, list[tuple[Row, Histogram]]] = {}
    for row in rows:
        for load, record in slower[row.variant.number].items():
            if record.histogram and (decoded := histogram.decode(record.histogram)).total:
                loads.setdefault(load, []).append((row, decoded))
    chosen = sorted(loads)
    if len(chosen) > MAX_DISTRIBUTIONS:
        chosen = [chosen[0], chosen[len(chosen) // 2], chosen[-1]]
    points = {(load, row.variant.number): _percentiles(h) for load in chosen for row, h in loads[load]}
    bounds = plots.log_bounds(y for line in points.values() for _, y in line)
    return [
        number.plot(
            f"At {_said(load, units.share_of)}",
            plots.hdr_percentiles([line_of(row, points[load, row.variant.number]) for row, _ in loads[load]], bounds),
        )
        for load in chosen
    ]


def _percentiles(found: Histogram) -> list[tuple[float, float]]:
    """(1 / (1 - quantile), µs): thinned out to points that can be told apart in the plot."""
    total = found.total
    points, seen = [], 0
    for value, count in found.counts:
        seen += count
        points.append((total / (total - seen + 0.5), value / 1e3))
    first = (1.0, points[0][1])
    step = points[-1][0] ** (1 / MAX_POINTS)
    kept = [first]
    for point, after in zip(points, [*points[1:], None], strict=True):
        if after is None or point[0] >= kept[-1][0] * step or after[1] > point[1] * 1.1:
            kept.append(point)
    return kept


def _p99(load: Load) -> answers.Value:
    """A row's 99th percentile at a load; of two directions the slower one's."""
    return lambda row: found.p99_ns if (found := _slower(row).get(load)) else None


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """The 99th percentile at each load."""

    def said(row: Row) -> str:
        loads = _slower(row)
        times = [f"{answers.spread(row, _p99(load), units.duration)} at {_said(load)}" for load in loads]
        total = row.result.total_throughput_pps
        if not times or not total:
            return "no frame arrived"
        rest = f"; its throughput is {kpps_text(total)}" if next(iter(loads))[1] else f" of its throughput ({kpps_text(total)})"
        return f"p99 {', '.join(times)}{rest}"

    loads = [load for row in rows for load in _slower(row)]
    shown = max((load for load in loads if load < (1.0, 0.0)), default=(1.0, 0.0))
    return answers.by_row(rows, said, f"p99 at {_said(shown, units.share_of)}", _p99(shown), units.duration)


METHOD = Method(
    name="latency",
    place=30,
    title="Latency",
    help="Measure latency percentiles at several loads up to the throughput (RFC 2544, 26.2).",
    intro="From the last bit of a frame into the device to the first bit out of it (RFC 1242, 3.8), at loads relative to each "
    "driver's own throughput.",
    sample=Sample,
    summary=NoSummary,
    lines=Lines(
        "Latency", Line, Line.of, note="Load: as a share of the throughput; kpps: per direction; IPDV: mean delay variation"
    ),
    run=lambda runner, workload, options: [run(runner, workload, rates_pps=rates(options.rate))],
    options=Options,
    draws=_sections,
    lead="Latency at loads up to the throughput (RFC 2544, 26.2)",
    verdicts=_verdicts,
)
