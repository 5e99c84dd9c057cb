# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiving application over offered load: throughput, loss by location, round trip, interrupts, CPU time left.

Every load is offered twice: in one trial the application only receives (throughput, interrupts, CPU), in the other it echoes
every datagram (latency).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from irqlab import units
from irqlab.config.workload import Workload
from irqlab.methods import cliff, receiving
from irqlab.methods.method import RUN, Lines, Method
from irqlab.methods.options import MAX_LOAD, MAX_RATE_PPS, either, numbers
from irqlab.methods.receiving import Sample
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import legend_of, line_of
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.results.records import Rate
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import Tuning

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
"""Loads as shares of the cliff."""


@dataclass(frozen=True)
class Options:
    """The loads."""

    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            help="Offered loads as multiples of the cliff, which is searched first, e.g. 0.5,1,2x; default: "
            f"{SHARES[0]:g} to {SHARES[-1]:g}.",
        ),
    ] = None
    rate: Annotated[str | None, typer.Option("--rate", help="Offered loads in frames/s, comma-separated; default: --load.")] = (
        None
    )
    no_echo: Annotated[bool, typer.Option("--no-echo", help="Do not measure the round trip.")] = False

    def __post_init__(self) -> None:
        either("--load", self.load, "--rate", self.rate)
        self.shares()
        self.rates()

    def shares(self) -> Sequence[float]:
        """Loads as shares of the cliff. Raises IrqlabError."""
        return numbers("--load", self.load, MAX_LOAD) if self.load is not None else SHARES

    def rates(self) -> list[float] | None:
        """Loads in frames/s; None if not given. Raises IrqlabError."""
        return numbers("--rate", self.rate, MAX_RATE_PPS) if self.rate is not None else None


@dataclass(frozen=True)
class Summary:
    """Summary of the sweep."""

    best_application_pps: Rate
    """The highest rate the application received at any load."""


@dataclass(frozen=True)
class Line:
    """A table line: one load."""

    offered_pps: Annotated[float, Col("Offered", "kpps", units.kpps)]
    application_pps: Annotated[float, Col("Received", "kpps", units.kpps, mark=lambda _: "strong")]
    lost_nic: Annotated[float, Col("Lost: NIC", format=units.percent, title="refused by the NIC, or dropped on its ring")]
    lost_backlog: Annotated[float, Col("backlog", format=units.percent, title="lost from the backlog (netif_rx)")]
    lost_socket: Annotated[
        float, Col("socket", format=units.percent, title="dropped because the socket's receive buffer was full")
    ]
    p50_ns: Annotated[int | None, Col("Round trip p50", format=units.duration, title="with every datagram echoed")]
    p99_ns: Annotated[int | None, Col("p99", format=units.duration)]
    interrupts_per_s: Annotated[float, Col("Interrupts", "/s", units.whole)]
    cpu_available: Annotated[float, Col("CPU left", format=units.percent)]
    ksoftirqd_share: Annotated[
        float, Col("ksoftirqd", format=units.percent, title="its run time as a share of the time under load")
    ]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The lines of a result row."""
        return [cls._one(sample) for sample in row.samples]

    @classmethod
    def _one(cls, sample: Sample) -> Line:
        sent = max(1, sample.places.sent)
        latency = sample.latency if sample.latency and sample.latency.count else None
        return cls(
            offered_pps=sample.offered_pps,
            application_pps=sample.application_pps,
            lost_nic=sample.places.nic / sent,
            lost_backlog=sample.places.backlog / sent,
            lost_socket=sample.places.socket / sent,
            p50_ns=latency.p50_ns if latency else None,
            p99_ns=latency.p99_ns if latency else None,
            interrupts_per_s=sample.interrupts_per_s,
            cpu_available=sample.cpu_available,
            ksoftirqd_share=sample.ksoftirqd_share,
        )


def run(
    runner: TrialRunner, workload: Workload, rates_pps: Sequence[float], tuning: Tuning | None = None, echo: bool = True
) -> MethodResult:
    """Measures the application at each rate. `trials` stays empty: the samples hold all measurements."""
    result = runner.result("application", workload)
    result.samples = receiving.sweep(runner, workload, rates_pps, tuning or Tuning(), echo)
    result.summary = Summary(max(sample.application_pps for sample in result.samples))
    return result


def _run(runner: TrialRunner, workload: Workload, options: Options) -> list[MethodResult]:
    rates = options.rates()
    if rates is None:
        cliff_pps = cliff.external(runner, workload, Tuning()).cliff_pps
        rates = [share * cliff_pps for share in options.shares()]
    return [run(runner, workload, rates, echo=not options.no_echo)]


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """Plots of received rate, CPU time left, and round trip."""

    def curves(value: str, scale: float) -> list[plots.Line]:
        return [line_of(row, [(s.offered_pps / 1e3, getattr(s, value) * scale) for s in row.samples]) for row in rows]

    group = Group(legend=legend_of(rows, ("grey", "no loss")))
    group.plots = [
        number.plot("Received by the application", plots.forwarding(curves("application_pps", 1e-3), None, "kpps received")),
        number.plot("CPU left", plots.over_load(curves("cpu_available", 100), "% left", "CPU time left", None, 104)),
    ]
    echoed = [row for row in rows if any(s.latency and s.latency.count for s in row.samples)]
    if echoed:
        drawn = [
            line_of(
                row,
                [(s.echo_offered_pps / 1e3, s.latency.p99_ns / 1e3) for s in row.samples if s.latency and s.latency.count],
            )
            for row in echoed
        ]
        bounds = plots.log_bounds(y for line in drawn for _, y in line.points if y is not None)
        group.plots.append(number.plot("Round trip, p99", plots.latency_over_load(drawn, bounds)))
    return group


METHOD = Method(
    name="application",
    place=80,
    title="A receiving application",
    short="Application",
    help="Measure a receiving application over offered load: throughput, loss by location, round trip, CPU time left.",
    intro="A process in the device under test receives datagrams; a soaker at idle priority measures the CPU time that is left. "
    "The round trip comes from a second trial at each load, in which the application echoes every datagram.",
    sample=Sample,
    summary=Summary,
    lines=Lines("A receiving application", Line, Line.of),
    run=_run,
    options=Options,
    shared=(
        *(*receiving.DUT, *receiving.TRIAL, *RUN),
        *("rx", "tx", "weight", "cliff_pps", "epsilon_permille", "rate_window_ms", "rx_usecs"),
    ),
    plots=_plots,
)
