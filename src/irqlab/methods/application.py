# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiving application over offered load: throughput, loss by location, round trip, interrupts, CPU time left.

Every load is offered twice: in one trial the application only receives (throughput, interrupts, CPU), in the other it echoes
every datagram (latency). All ways to wait for frames (irqlab.methods.waits) are offered the same loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec
import typer

from irqlab import units
from irqlab.config.addresses import INTERFACES
from irqlab.config.values import Rate
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers, cliff, receiving, waits
from irqlab.methods.method import COSTS, RUN, Lines, Method
from irqlab.methods.options import MAX_LOAD, either, numbers, rates
from irqlab.methods.receiving import BLOCK, Sample
from irqlab.present import plots, series
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import kpps_text, legend_of, line_of, listed
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import Tuning

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
"""Loads as shares of the cliff."""
ECHOED = "from another trial with the same load, in which every datagram is echoed"


@dataclass(frozen=True)
class Options:
    """The loads, and how the application waits for them."""

    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            help="Offered loads as multiples of the cliff, which is searched first (with --wait block), e.g. 0.5,1,2x; default: "
            f"{SHARES[0]:g} to {SHARES[-1]:g}.",
        ),
    ] = None
    rate: Annotated[
        str | None, typer.Option("--rate", help="Offered loads in frames/s, comma-separated (10k,40k); default: --load.")
    ] = None
    wait: Annotated[
        str,
        typer.Option(
            "--wait",
            help="How the application waits for frames, comma-separated. "
            + "; ".join(f"{name}: {way.help}" for name, way in waits.WAITS.items())
            + ".",
        ),
    ] = BLOCK
    busy_poll_us: Annotated[
        int | None,
        typer.Option(
            "--busy-poll-usecs",
            help=f"busy-read, epoll-busy, suspend: how long to poll in µs; default: {waits.BUSY_POLL_US}; suspend: 0 (1 poll).",
            min=0,
            max=(1 << 31) - 1,
        ),
    ] = None
    irq_suspend_timeout_ns: Annotated[
        int | None,
        typer.Option(
            "--irq-suspend-timeout",
            help=f"suspend: irq-suspend-timeout in ns; default: {waits.SUSPEND_TIMEOUT_NS}, with --defer-hard-irqs "
            f"{waits.SUSPEND_DEFER_HARD_IRQS} and --gro-flush-timeout {waits.SUSPEND_GRO_FLUSH_TIMEOUT_NS}.",
            min=1,
            max=(1 << 63) - 1,
        ),
    ] = None
    ksoftirqd_nice: Annotated[
        int | None,
        typer.Option(
            "--ksoftirqd-nice",
            help="Priority of the kernel thread for softirqs: 19 in Linux 2.6.15, 0 today; default: unchanged.",
            min=-20,
            max=19,
        ),
    ] = None
    cliff_sign: Annotated[
        str, typer.Option("--cliff-sign", help=f"The sign by which the cliff of --load is found: {', '.join(cliff.SIGNS)}.")
    ] = cliff.CHOSEN
    interfaces: Annotated[
        int,
        typer.Option(
            "--interfaces",
            help="How many interfaces of the DUT receive the load, in equal shares. The cliff of --load is that of a single one.",
            min=1,
            max=len(INTERFACES),
        ),
    ] = 1
    no_echo: Annotated[bool, typer.Option("--no-echo", help="Do not measure the round trip.")] = False

    def __post_init__(self) -> None:
        either("--load", self.load, "--rate", self.rate)
        if self.cliff_sign not in cliff.SIGNS:
            raise IrqlabError(f"--cliff-sign {self.cliff_sign}: allowed are {', '.join(cliff.SIGNS)}")
        self.shares()
        self.rates()
        for field in waits.without_effect(self.waits(), **self.changes()):
            option = {"busy_poll_us": "--busy-poll-usecs", "irq_suspend_timeout_ns": "--irq-suspend-timeout"}[field]
            raise IrqlabError(f"{option}: no way to wait of --wait {self.wait} uses it")

    def shares(self) -> Sequence[float]:
        """Loads as shares of the cliff. Raises IrqlabError."""
        return numbers("--load", self.load, MAX_LOAD) if self.load is not None else SHARES

    def rates(self) -> tuple[float, ...] | None:
        """Loads in frames/s; None if not given. Raises IrqlabError."""
        return rates(self.rate)

    def waits(self) -> list[str]:
        """Names of the ways to wait. Raises IrqlabError."""
        return waits.chosen(self.wait)

    def changes(self) -> dict[str, int | None]:
        """The options that replace settings of a way to wait."""
        return {"busy_poll_us": self.busy_poll_us, "irq_suspend_timeout_ns": self.irq_suspend_timeout_ns}


@dataclass(frozen=True)
class Summary:
    """Summary of the sweep."""

    best_application_pps: Rate
    """The highest rate the application received at any load."""
    impossible: list[str]
    """Ways to wait that were asked for, but that need another receive scheme."""


@dataclass(frozen=True)
class Line:
    """A table line: one load."""

    wait: Annotated[str, Col("Waits", title="how the application waits for frames")]
    interfaces: Annotated[int | None, Col("Interfaces", optional=True, title="of the device under test that receive the load")]
    offered_pps: Annotated[float, Col("Offered", "kpps", units.kpps)]
    application_pps: Annotated[float, Col("Received", "kpps", units.kpps, mark=lambda _: "strong")]
    lost_nic: Annotated[float, Col("Lost: NIC", format=units.percent, title="refused by the NIC, or dropped on its ring")]
    lost_backlog: Annotated[float, Col("backlog", format=units.percent, title="lost from the backlog (netif_rx)")]
    lost_socket: Annotated[
        float, Col("socket", format=units.percent, title="dropped because the socket's receive buffer was full")
    ]
    p50_ns: Annotated[int | None, Col("Round trip p50", "echo trial", units.duration, title=ECHOED)]
    p99_ns: Annotated[int | None, Col("p99", "echo trial", units.duration, title=ECHOED)]
    interrupts_per_s: Annotated[float, Col("Interrupts", "/s", units.whole)]
    instructions_per_datagram: Annotated[
        float | None,
        Col("Instructions", "/datagram", units.whole, title="that the soaker did not get; a receiver that polls always uses all"),
    ]
    polled_ratio: Annotated[
        float | None,
        Col("Polled", format=units.percent, optional=True, title="frames that the receiver took by polling the device"),
    ]
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
            wait=sample.wait,
            interfaces=sample.interfaces if sample.interfaces > 1 else None,
            offered_pps=sample.offered_pps,
            application_pps=sample.application_pps,
            lost_nic=sample.places.nic / sent,
            lost_backlog=sample.places.backlog / sent,
            lost_socket=sample.places.socket / sent,
            p50_ns=latency.p50_ns if latency else None,
            p99_ns=latency.p99_ns if latency else None,
            interrupts_per_s=sample.interrupts_per_s,
            instructions_per_datagram=sample.instructions_per_datagram,
            polled_ratio=sample.polled_ratio,
            cpu_available=sample.cpu_available,
            ksoftirqd_share=sample.ksoftirqd_share,
        )


def run(
    runner: TrialRunner,
    workload: Workload,
    rates_pps: Sequence[float],
    tunings: Mapping[str, Tuning] | None = None,
    echo: bool = True,
    interfaces: int = 1,
) -> MethodResult:
    """Measures the application at each rate. `trials` stays empty: the samples hold all measurements.

    `tunings`: the settings of each way to wait, by its name.
    """
    before: list[receiving.Sample] = []

    def made(samples: list[receiving.Sample]) -> MethodResult:
        result = runner.result("application", workload)
        result.samples = [*before, *samples]
        result.summary = Summary(max((sample.application_pps for sample in result.samples), default=0.0), [])
        return result

    for wait, tuning in (tunings or {BLOCK: Tuning()}).items():
        before += receiving.sweep(runner, workload, rates_pps, tuning, echo, wait, interfaces, made)
    return made([])


def _run(runner: TrialRunner, workload: Workload, options: Options) -> list[MethodResult]:
    rx = runner.bench.scheme_names()["rx_scheme"]
    asked = options.waits()
    names = waits.possible(asked, rx)
    if not names:
        raise IrqlabError(f"--wait {options.wait}: not with --rx {rx} ({waits.needed(asked)})")
    asked_pps: Sequence[float] | None = options.rates()
    if asked_pps is None:
        cliff_pps = cliff.external(runner, workload, Tuning(ksoftirqd_nice=options.ksoftirqd_nice)).by(options.cliff_sign)
        most_pps = runner.most_pps(workload) * options.interfaces
        asked_pps = [rate for share in options.shares() if (rate := share * cliff_pps) <= most_pps or share <= 1]
    given = runner.bench.config.dut.schemes
    tunings = {
        name: replace(waits.tuning_of(name, given, **options.changes()), ksoftirqd_nice=options.ksoftirqd_nice) for name in names
    }
    result = run(runner, workload, asked_pps, tunings, echo=not options.no_echo, interfaces=options.interfaces)
    result.summary = replace(result.summary, impossible=[name for name in asked if name not in names])
    return [result]


def _told(row: Row, _: Any) -> Iterable[str]:
    if row.summary.impossible:
        yield f"{row.variant.label}: not measured: {waits.needed(row.summary.impossible)}"


def _by_wait(rows: Sequence[Row]) -> list[Row]:
    """A row for each way to wait: the first is the row's variant, the others are further ones."""
    found = []
    number = max(row.variant.number for row in rows) + 1
    several = len({sample.wait for row in rows for sample in row.samples}) > 1
    for row in rows:
        for place, wait in enumerate(dict.fromkeys(sample.wait for sample in row.samples)):
            variant = replace(
                row.variant,
                number=number if place else row.variant.number,
                label=f"{row.variant.label}, {wait}" if several else row.variant.label,
            )
            number += 1 if place else 0
            found.append(replace(_waiting(row, wait), variant=variant, members=tuple(_waiting(one, wait) for one in row.members)))
    return found


def _waiting(row: Row, wait: str) -> Row:
    """A row with the samples of one way to wait."""
    samples = [sample for sample in row.samples if sample.wait == wait]
    return replace(row, result=msgspec.structs.replace(row.result, samples=samples))


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """Plots of received rate, CPU time left, and round trip."""
    rows = _by_wait(rows)

    def curves(value: str, scale: float) -> list[series.Line]:
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


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """The most that the application received, and what it receives at the highest load; of one load the CPU time left."""
    rows = _by_wait(rows)

    def most(row: Row) -> float:
        return max(float(sample.application_pps) for sample in row.samples)

    def left(row: Row) -> float:
        return float(row.samples[0].cpu_available)

    one_load = all(len(row.samples) == 1 for row in rows)

    def said(row: Row) -> str:
        last = max(row.samples, key=lambda sample: sample.offered_pps)
        found = answers.spread(row, most, kpps_text)
        if one_load:
            cpu = answers.spread(row, left, units.percent)
            return f"the application receives {found} of {kpps_text(last.offered_pps)}; CPU left {cpu}"
        rest = f"of {kpps_text(last.offered_pps)}, the most that was offered, {kpps_text(last.application_pps)}"
        return f"the application receives at most {found}; {rest}"

    if not one_load:
        return answers.by_row(rows, said, "Most that the application receives", most, kpps_text)
    at = f"{kpps_text(max(row.samples[0].offered_pps for row in rows))} offered"
    losing = [row for row in rows if most(row) < cliff.FLATTENED * row.samples[0].offered_pps]
    found = answers.by_row(rows, said, f"CPU left at {at}", left, units.percent)
    if losing and len(rows) > answers.MANY:
        names = listed([f"{row.variant.label} ({kpps_text(most(row))})" for row in losing])
        found.append(f"Less than {units.share(cliff.FLATTENED)} of that is received with {names}.")
    return found


METHOD = Method(
    name="application",
    place=80,
    title="A receiving application",
    short="Application",
    help="Measure a receiving application over offered load: throughput, loss by location, round trip, CPU time left.",
    intro="A process in the device under test receives datagrams; a soaker at idle priority measures the CPU time that is left. "
    "The round trip comes from a second trial at each load, in which the application echoes every datagram. A receiver that "
    "polls the device uses CPU time even when nothing arrives.",
    sample=Sample,
    summary=Summary,
    lines=Lines(
        "A receiving application",
        Line,
        Line.of,
        "Round trip: from another trial with the same load, in which the application echoes every datagram; all else, the CPU "
        "left too, from the trial in which it only receives",
    ),
    run=_run,
    options=Options,
    shared=(
        *(*receiving.DUT, *receiving.TRIAL, *RUN, *COSTS),
        *("rx", "tx", "weight", "cliff_pps", "epsilon_permille", "rate_window_ms", "above", "rx_usecs"),
        *("quota", "queue_high", "queue_low", "cpu_percent", "user_percent", "pause_usecs"),
        *("defer_hard_irqs", "gro_flush_timeout_ns", "app_cpu"),
    ),
    tables=_told,
    plots=_plots,
    lead="A receiving application over the offered load",
    verdicts=_verdicts,
)
