# SPDX-License-Identifier: GPL-2.0-or-later
"""Frame loss rate over offered load (RFC 2544, 26.3) and forwarding rate (RFC 2285, 3.6): the livelock curve.

Loads are relative to the throughput, up to 4x. For loads above line rate, the line-rate limit is lifted and the sample says so:
the curve is about the driver, not the link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from irqlab import units
from irqlab.config.values import Counts, Rate, Ratio
from irqlab.config.workload import Workload
from irqlab.methods import answers, throughput
from irqlab.methods.method import Lines, Method, Picture
from irqlab.methods.options import rates
from irqlab.present import plots
from irqlab.present.columns import Col, Nested
from irqlab.present.parts import Group, Legend, Notice, Numbers, Plot
from irqlab.present.rows import by_test, kpps_text, legend_of, line_of, listed, wire_pps_of
from irqlab.present.series import Line as PlotLine
from irqlab.present.tables import Cell, Column, Table
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

SHARES = (0.25, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)
COLLAPSED = 0.02
"""Forwarding below this share of its maximum counts as collapsed (receive livelock)."""
NEAR_COLLAPSE = 0.9
"""A driver that forwards less than this share of its maximum at the highest load is reported as degrading."""
PLACES = {
    "nic": ("refused by the NIC", "no free receive descriptor; counted by the tester"),
    "nic_counted": (
        "missed by the NIC, counted by the driver",
        "rx_missed_errors, rx_fifo_errors and rx_over_errors of the interfaces; may count refused frames again",
    ),
    "rx_dropped": ("rx_dropped", "dropped on receive, counted by the driver or the kernel"),
    "backlog": ("backlog", "the per-CPU backlog of netif_rx() was full (netdev_max_backlog)"),
    "qdisc": ("qdisc", "the transmit queue was full"),
    "tx_dropped": ("tx_dropped", "dropped on transmit by the driver"),
}
"""Locations of loss: heading and explanation of the keys of `drops`."""


@dataclass(frozen=True)
class Options:
    """The loads."""

    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            help="Offered loads in frames/s per direction, comma-separated (10k,40k); default: "
            f"{SHARES[0]:g} to {SHARES[-1]:g} times the throughput.",
        ),
    ] = None

    def __post_init__(self) -> None:
        rates(self.rate)


@dataclass(frozen=True)
class Sample:
    """One load; samples are in order of load."""

    load: Annotated[Rate, Col("Load", format=units.share_near, title="as a share of the throughput")]
    offered_pps: Annotated[Rate, Col("Offered", "kpps", units.kpps)]
    above_line_rate: bool
    """The load is above line rate."""
    forwarded_pps: Annotated[Rate, Col("Forwarded", "kpps", units.kpps)]
    loss_ratio: Annotated[Ratio, Col("Loss", format=units.percent)]
    instructions_per_frame: Annotated[Rate | None, Col("Instructions", "/frame", units.whole)]
    interrupts: Counts
    """Per interface, over the whole trial."""
    interrupts_per_frame: Annotated[Rate | None, Col("Interrupts", "/frame", units.per_frame)]
    rx_interrupts_per_frame: Annotated[Rate | None, Col("RX", "/frame", units.per_frame, True, "receive interrupts")]
    tx_interrupts_per_frame: Annotated[Rate | None, Col("TX", "/frame", units.per_frame, True, "transmit interrupts")]
    idle_ratio: Annotated[Ratio | None, Col("CPU idle", format=units.percent)]
    cpu_ticks: Counts
    """The kernel's timer ticks, by CPU state."""
    drops: Counts
    """Frames lost over the whole trial, by location: `nic` (refused, as the tester counts), `nic_counted` (as the driver counts:
    missed, fifo, over), `rx_dropped`, `backlog`, `qdisc`, `tx_dropped`."""

    @classmethod
    def of(cls, share: float, trial: ForwardingResult) -> Sample:
        """Makes a sample from one trial."""
        return cls(
            load=share,
            offered_pps=trial.offered_pps,
            above_line_rate=trial.spec.above_line_rate,
            forwarded_pps=trial.forwarded_pps,
            loss_ratio=trial.loss_ratio,
            instructions_per_frame=trial.instructions_per_frame,
            interrupts=trial.counters.interrupts,
            interrupts_per_frame=trial.interrupts_per_frame(),
            rx_interrupts_per_frame=trial.caused_per_frame("rx"),
            tx_interrupts_per_frame=trial.caused_per_frame("tx"),
            idle_ratio=trial.idle_ratio,
            cpu_ticks=trial.counters.cpu_ticks,
            drops=trial.drops(),
        )


@dataclass(frozen=True)
class Summary:
    """Summary of the curve."""

    max_forwarded_pps: Rate
    """The maximum over all loads."""
    plateau_ratio: Ratio
    """Forwarding rate at the highest load, as a share of the maximum."""
    collapse_load: Rate | None
    """The lowest load, relative to the throughput, at which forwarding has collapsed; null if it never does."""


@dataclass(frozen=True)
class Line:
    """The table's line."""

    sample: Annotated[Sample, Nested()]
    state: Annotated[str | None, Col("", optional=True, mark=lambda _: "bad")]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The lines of a result row."""
        collapse = row.summary.collapse_load
        return [cls(s, "livelock" if collapse is not None and s.load >= collapse else None) for s in row.samples]


def run(
    runner: TrialRunner,
    workload: Workload,
    shares: tuple[float, ...] = SHARES,
    known: MethodResult | None = None,
    rates_pps: Sequence[float] | None = None,
) -> MethodResult:
    """Measures the curve. `known`: a throughput result of the same runner and workload; searched for if not given.

    `rates_pps`: the loads in each direction, instead of shares of the throughput.
    """
    base = known or throughput.run(runner, workload)
    rate_pps = throughput.rate_per_direction(base)
    if rates_pps is not None:
        shares = tuple(one / rate_pps for one in rates_pps)
    shares = tuple(share for share in shares if share <= 1 or rate_pps * share <= runner.most_pps(workload))
    specs = [runner.overload_spec(workload, rate_pps * share) for share in shares]

    def result(found: Mapping[int, ForwardingResult]) -> MethodResult:
        return _result(runner, workload, base, {shares[place]: trial for place, trial in found.items()})

    trials = runner.trials(
        specs, lambda t: f"{t.offered_pps / 1e3:.0f} kpps offered, {t.forwarded_pps / 1e3:.1f} forwarded", result
    )
    return result(dict(enumerate(trials)))


def _result(runner: TrialRunner, workload: Workload, base: MethodResult, found: Mapping[float, ForwardingResult]) -> MethodResult:
    """The curve's result, from trials by their share of the throughput `base`."""
    trials = list(found.values())
    result = runner.result("loss", workload)
    result.copy_throughput(base)
    result.samples = [Sample.of(share, trial) for share, trial in found.items()]
    highest = max(sample.forwarded_pps for sample in result.samples)
    collapsed = [s.load for s in result.samples if s.load > 1 and s.forwarded_pps < COLLAPSED * highest]
    result.summary = Summary(
        max_forwarded_pps=highest,
        plateau_ratio=result.samples[-1].forwarded_pps / highest if highest else 0.0,
        collapse_load=min(collapsed) if collapsed else None,
    )
    result.copy_per_frame_metrics(trials[-1])
    result.trials = trials
    return result


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    counted = [s for row in rows for s in row.samples if s.interrupts_per_frame is not None]
    interrupts = [s.interrupts_per_frame for s in counted]
    top = _top(interrupts, [s.interrupts_per_frame for s in counted if s.load <= 1])
    wire = _wire_kpps(rows)
    group = Group(legend=_legend(rows), notices=_notices(rows))
    group.plots = [
        _forwarding("Forwarding rate", rows, number),
        number.plot("Loss", plots.over_load(_lines(rows, "loss_ratio", 100), "% of frames lost", "Loss", wire, 104)),
        number.plot(
            "Interrupts per frame forwarded",
            plots.over_load(_lines(rows, "interrupts_per_frame", 1), "interrupts per frame", "Interrupts per frame", wire, top),
            f"Axis cut off at {units.per_frame(top)}; the maximum is {units.per_frame(max(interrupts))}." if top else "",
        ),
        number.plot("CPU idle", plots.over_load(_lines(rows, "idle_ratio", 100), "% idle", "CPU idle time", wire, 104)),
    ]
    group.tables = _drops(rows)
    return group


def _lines(rows: Sequence[Row], key: str, scale: float, marks: bool = False) -> list[PlotLine]:
    drawn = []
    for row in rows:
        values = [(s.offered_pps / 1e3, getattr(s, key)) for s in row.samples]
        points = [(x, None if y is None else y * scale) for x, y in values]
        ring = row.result.total_throughput_pps
        at_throughput = (ring / 1e3, ring / 1e3) if marks and ring is not None else None
        drawn.append(line_of(row, points, ring=at_throughput, cross=_collapse(row) if marks else None))
    return drawn


def _forwarding(title: str, rows: Sequence[Row], number: Numbers) -> Plot:
    return number.plot(title, plots.forwarding(_lines(rows, "forwarded_pps", 1e-3, marks=True), _wire_kpps(rows)))


def _picture(rows: Sequence[Row], number: Numbers) -> Picture:
    heading, same = next(by_test(rows))
    same = sorted(same, key=lambda row: row.variant.number)
    return Picture(_forwarding(f"Forwarded over offered load, {heading}", same, number), _legend(same))


def _wire_kpps(rows: Sequence[Row]) -> float | None:
    """Line rate in kpps; None if there is none, or several."""
    wires = {wire_pps_of(row) for row in rows}
    wire = wires.pop() if len(wires) == 1 else None
    return wire / 1e3 if wire is not None else None


def _legend(rows: Sequence[Row]) -> list[Legend]:
    marks = [("grey", "no loss")]
    if any(row.result.total_throughput_pps is not None for row in rows):
        marks.append(("ring", "throughput"))
    if any(_collapse(row) for row in rows):
        marks.append(("cross", "collapse"))
    wire = _wire_kpps(rows)
    if wire is not None and wire < max(s.offered_pps for row in rows for s in row.samples) / 1e3:
        marks.append(("wire", "line rate; the tester may exceed it"))
    return legend_of(rows, *marks)


def _top(values: Sequence[float], usual: Sequence[float]) -> float | None:
    """Where to cut off an axis if the values in livelock would dwarf all others; None: do not cut."""
    top = 2 * max(usual, default=0.0)
    return top if 0 < top < max(values) / 1.5 else None


def _collapse(row: Row) -> tuple[float, float] | None:
    load = row.summary.collapse_load
    if load is None:
        return None
    sample = min(row.samples, key=lambda s: abs(s.load - load))
    return sample.offered_pps / 1e3, sample.forwarded_pps / 1e3


def _drops(rows: Sequence[Row]) -> list[Table]:
    """Frames lost by location at each driver's highest load; no table if there was no loss."""
    last = [(row, row.samples[-1]) for row in rows]
    places = [place for place in PLACES if any(sample.drops.get(place) for _, sample in last)]
    if not places:
        return []
    columns = (
        *(Column("Driver", number=False), Column("Load"), Column("Offered", unit="kpps")),
        *(Column(heading, title=title) for heading, title in map(PLACES.__getitem__, places)),
    )
    lines = [
        [
            Cell(row.variant.label, swatch=row.variant.number),
            Cell(units.share_near(sample.load)),
            Cell(units.kpps(sample.offered_pps)),
            *(Cell(units.whole(sample.drops.get(place, 0))) for place in places),
        ]
        for row, sample in last
    ]
    return [Table("Frames lost at the highest load, by location, over the whole trial including warm-up", columns, lines)]


def _notices(rows: Sequence[Row]) -> list[Notice]:
    locked, worse = [], []
    for row in rows:
        found, name, last, collapse = row.summary, row.variant.label, row.samples[-1], _collapse(row)
        best = f"; its maximum is {kpps_text(found.max_forwarded_pps)}"
        if collapse is not None:
            offered, forwarded = (kilo * 1e3 for kilo in collapse)
            from_ = f"from {units.share_of(round(found.collapse_load, 3), 'its throughput')} on ({kpps_text(offered)} offered)"
            locked.append(f"{name} forwards {kpps_text(forwarded) if forwarded else 'nothing'} {from_}{best}.")
        elif found.plateau_ratio < NEAR_COLLAPSE:
            worse.append(f"{name} forwards {kpps_text(last.forwarded_pps)} with {kpps_text(last.offered_pps)} offered{best}.")
    notices = []
    if locked:
        notices.append(Notice("bad", "Receive livelock:", locked))
    if worse:
        notices.append(Notice("warn", f"Less than {units.share(NEAR_COLLAPSE)} of its maximum at the highest load:", worse))
    return notices


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """Whether each driver goes into receive livelock, and where; with the smallest frames."""
    found = []
    for heading, same in answers.smallest(rows):
        if len(same) <= answers.MANY:
            found += [f"{row.variant.label} ({heading}): {_verdict(row)}." for row in same]
            continue
        for locked, what in ((True, "livelock at a load that was tried"), (False, "no livelock at any load that was tried")):
            if names := [row.variant.label for row in same if (_collapse(row) is not None) == locked]:
                found.append(f"{heading}: {what}: {listed(names)}.")
    return found


def _verdict(row: Row) -> str:
    collapse, last = _collapse(row), row.samples[-1]
    most = answers.spread(row, lambda one: one.summary.max_forwarded_pps, kpps_text)
    if collapse is not None:
        offered, forwarded = (kilo * 1e3 for kilo in collapse)
        there = kpps_text(forwarded) if forwarded else "nothing"
        return f"livelock from {kpps_text(offered)}: forwards {there} there, {most} at its peak"
    end = answers.spread(row, lambda one: one.samples[-1].forwarded_pps, kpps_text)
    times = units.share_of(round(last.load, 3), "its throughput")
    return f"no livelock up to {times} ({kpps_text(last.offered_pps)}): forwards {end} there, {most} at its peak"


METHOD = Method(
    name="loss",
    place=20,
    title="Under load and overload",
    short="Overload",
    help="Measure loss and forwarding rate over offered load, up to 4x the throughput (RFC 2544, 26.3).",
    intro="Forwarding rate and loss over the offered load (RFC 2544, 26.3; RFC 2285), all directions together. In overload, a "
    "good driver keeps forwarding at its maximum rate. One that spends its time on interrupts for frames that are then "
    "dropped forwards less and less, down to receive livelock.",
    sample=Sample,
    summary=Summary,
    lines=Lines("Loss", Line, Line.of, "Load: as a share of the throughput; kpps: all directions together", folded=True),
    run=lambda runner, workload, options: [run(runner, workload, rates_pps=rates(options.rate))],
    options=Options,
    plots=_plots,
    picture=_picture,
    lead="Forwarding and loss over the offered load, and whether there is receive livelock (RFC 2544, 26.3)",
    verdicts=_verdicts,
)
