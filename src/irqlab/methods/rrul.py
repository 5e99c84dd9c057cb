# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency under load, as flent's rrul and rrul_be measure it (docs/use/iperf.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import UNSET, UnsetType

from irqlab import units
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers
from irqlab.methods.iperf import FRAME_BYTES
from irqlab.methods.method import DUT, RUN, Lines, Method
from irqlab.present import plots, series
from irqlab.present.columns import Col, Nested
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import legend_of, line_of
from irqlab.present.variants import Row
from irqlab.results import flent
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.peers import RoundTrips
from irqlab.trials.rrul import ICMP, RRUL, ProbeLatency, RrulMeasured, RrulTrial

STEP_NS = 20_000_000
"""Averaging interval of a point of the curve."""


@dataclass(frozen=True)
class Options:
    """The flows."""

    test: Annotated[
        str,
        typer.Option(
            "--test",
            help="Which of flent's tests: rrul (flows and probes are marked: BE, BK, CS5, EF) or rrul_be (nothing is marked).",
        ),
    ] = RRUL
    flows: Annotated[int, typer.Option("--flows", help="TCP flows in each direction; they take the classes in turn.")] = 4
    duration: Annotated[int, typer.Option("--duration", help="Duration of the flows, in virtual seconds.")] = 5
    idle: Annotated[int, typer.Option("--idle", help="Virtual seconds of probes without flows, before and after the flows.")] = 1
    interval: Annotated[float, typer.Option("--interval", help="Time from one probe of a kind to the next, in ms.")] = 10.0
    window: Annotated[int, typer.Option("--window", help="TCP window of the tester, in bytes per flow.")] = 1 << 16
    flent: Annotated[
        Path | None, typer.Option("--flent", help="Write the last driver's result as a flent data file (.flent.gz).")
    ] = None

    def __post_init__(self) -> None:
        if self.flent is not None and not self.flent.name.endswith(flent.SUFFIX):
            raise IrqlabError(f"--flent {self.flent}: the file name must end in {flent.SUFFIX}")
        self.trial()

    def trial(self) -> RrulTrial:
        """The trial. Raises IrqlabError for a value out of range."""
        if not math.isfinite(self.interval):
            raise IrqlabError(f"--interval {self.interval}: not a number of ms")
        return RrulTrial(
            self.test, self.flows, self.duration, self.idle, interval_ns=round(self.interval * 1e6), window_bytes=self.window
        )


@dataclass(frozen=True)
class Sample:
    """A flow, or all probes of a kind. Probes have only `probe` and `rtts`; flows have all other fields."""

    flow: str | UnsetType = UNSET
    """`up`: the DUT sends; `down`: it receives."""
    number: int | UnsetType = UNSET
    traffic_class: str | UnsetType = UNSET
    """BE, BK, CS5 or EF; of rrul_be BE, BE2, BE3 or BE4."""
    bps: float | UnsetType = UNSET
    """Payload, bit/s."""
    retransmits: int | UnsetType | None = UNSET
    """Retransmits of the tester; null if the DUT sends."""
    series: list[int] | UnsetType = UNSET
    """Bytes of payload per interval of the trial."""
    probe: str | UnsetType = UNSET
    """icmp; of rrul udp_ef, udp_bk, udp_be; of rrul_be udp_be1, udp_be2, udp_be3."""
    rtts: list[tuple[int, int | None, int | None]] | UnsetType = UNSET
    """Send time, round trip (null: no reply), and how long the reply was queued for the link; in ns."""


@dataclass(frozen=True, kw_only=True)
class Summary(RrulMeasured):
    """Totals of the trial."""

    test: dict[str, Any]
    """Parameters of the test."""


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of the round trips of a kind of probe."""

    p50_ns: Annotated[int, Col("p50", format=units.duration)]
    p99_ns: Annotated[int, Col("p99", format=units.duration)]

    @classmethod
    def of(cls, found: RoundTrips) -> Percentiles | None:
        """None if there were no round trips."""
        return cls(found.p50_ns, found.p99_ns) if found.count else None


@dataclass(frozen=True)
class Line:
    """A table line: one kind of probe."""

    up_bps: Annotated[float, Col("Up", "Mbit/s", lambda bps: units.mbps(bps / 1e6), title="the device sends; all flows, payload")]
    down_bps: Annotated[float, Col("Down", "Mbit/s", lambda bps: units.mbps(bps / 1e6), title="the device receives")]
    idle_ratio: Annotated[float, Col("CPU idle", format=units.percent)]
    probe: Annotated[str, Col("Probe")]
    alone: Annotated[Percentiles | None, Nested("alone ")]
    loaded: Annotated[Percentiles | None, Nested("loaded ")]
    max_ns: Annotated[int | None, Col("loaded max", format=units.duration)]
    off_wire: Annotated[Percentiles | None, Nested("off the wire ")]
    lost: Annotated[int, Col("Lost", format=units.whole)]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The lines of a result row."""
        found: Summary = row.summary
        return [cls._one(found, name_of(kind), latency["base"], latency["load"]) for kind, latency in found.latency.items()]

    @classmethod
    def _one(cls, found: Summary, kind: str, base: ProbeLatency, load: ProbeLatency) -> Line:
        return cls(
            up_bps=found.up_bps,
            down_bps=found.down_bps,
            idle_ratio=found.idle_ratio,
            probe=kind,
            alone=Percentiles.of(base),
            loaded=Percentiles.of(load),
            max_ns=load.max_ns if load.count else None,
            off_wire=Percentiles.of(load.off_wire),
            lost=load.lost,
        )


@dataclass(frozen=True)
class FlowLine:
    """A table line: one flow."""

    flow: Annotated[str, Col("Direction")]
    number: Annotated[int, Col("Flow")]
    traffic_class: Annotated[str, Col("Class")]
    bps: Annotated[float, Col("Payload", "Mbit/s", lambda bps: units.mbps(bps / 1e6))]
    retransmits: Annotated[
        int | None,
        Col("Retransmits", format=units.whole, title="of the tester; the device does not report them per flow"),
    ]

    @classmethod
    def of(cls, row: Row) -> list[FlowLine]:
        """The lines of a result row."""
        return [cls(s.flow, s.number + 1, s.traffic_class, s.bps, s.retransmits) for s in row.samples if s.flow is not UNSET]


def name_of(kind: str) -> str:
    """A kind of probe as tables have it: ICMP, UDP EF, ..."""
    return kind.upper().replace("_", " ")


def run(runner: TrialRunner, workload: Workload, trial: RrulTrial) -> MethodResult:
    """Runs the test on a fresh DUT. Samples: the flows, then the probes."""
    result = runner.result("rrul", workload)
    found = runner.trial(trial)
    result.samples = [Sample(**asdict(flow)) for flow in found.flows]
    result.samples += [Sample(probe=kind, rtts=rtts) for kind, rtts in found.probes.items()]
    result.summary = Summary(test=asdict(trial), **{field.name: getattr(found, field.name) for field in fields(RrulMeasured)})
    kind = next(kind for kind in reversed(found.latency) if kind != ICMP)
    udp = found.latency[kind]
    runner.progress(
        f"{found.up_bps / 1e6:.1f} Mbit/s up, {found.down_bps / 1e6:.1f} down, "
        f"{name_of(kind)} p50 {udp['load'].p50_ns / 1e6:.2f} ms (alone {udp['base'].p50_ns / 1e6:.2f})"
    )
    return result


def _write(rows: Sequence[Row], options: Options) -> None:
    if options.flent is not None and rows:
        flent.write(rows[-1].data, f"{units.driver_of(rows[-1].data)} {rows[-1].data['mips']} MIPS", options.flent)


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """Latency over time by kind of probe, as flent plots it."""
    group = Group(legend=legend_of(rows))
    for kind in dict.fromkeys(s.probe for row in rows for s in row.samples if s.probe is not UNSET):
        name = "ICMP echo" if kind == ICMP else name_of(kind)
        lines = [line_of(row, curve) for row in rows if (curve := _curve(row, kind))]
        group.plots.append(number.plot(f"Round trip of {name}", plots.latency_over_time(lines, name)))
    group.tables = [Lines("Flows", FlowLine, FlowLine.of, folded=True).table(rows)]
    return group


def _curve(row: Row, kind: str) -> list[series.Point]:
    steps: dict[int, list[int]] = {}
    for at_ns, rtt_ns, _ in (rtt for s in row.samples if s.probe == kind for rtt in s.rtts):
        steps.setdefault(at_ns // STEP_NS, []).extend([] if rtt_ns is None else [rtt_ns])
    return [(n * STEP_NS / 1e9, sum(rtts) / len(rtts) / 1e6 if rtts else None) for n, rtts in sorted(steps.items())]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """The round trip without and with flows, and what the flows carry."""

    def median(when: str) -> answers.Value:
        return lambda row: found[when].p50_ns if (found := row.summary.latency.get(ICMP)) and found[when].count else None

    def said(row: Row) -> str:
        return (
            f"ICMP round trip p50 {answers.spread(row, median('base'), units.duration)} alone, "
            f"{answers.spread(row, median('load'), units.duration)} under load; {units.mbps(row.summary.up_bps / 1e6)} "
            f"Mbit/s up, {units.mbps(row.summary.down_bps / 1e6)} down; CPU idle {units.percent(row.summary.idle_ratio)}"
        )

    return answers.by_row(rows, said, "ICMP round trip under load, p50", median("load"), units.duration, sized=False)


METHOD = Method(
    name="rrul",
    place=120,
    title="Latency under load",
    short="Latency under load (rrul)",
    help="Measure latency under load: TCP flows up and down, with UDP and ICMP probes (flent's rrul; docs/use/iperf.md).",
    intro="Simultaneous TCP flows up (the device sends) and down, and the round trips of ICMP echo and UDP probes, as in flent's "
    "rrul (in four DSCP classes) or rrul_be. Alone: before the flows start. Off the wire: "
    "without the time that the reply was queued behind other frames for the link.",
    sample=Sample,
    summary=Summary,
    lines=Lines(
        "Latency under load (rrul)",
        Line,
        Line.of,
        note="Up: the DUT sends; sums of all flows, payload. Probes: round trips without and with flows; off the "
        "wire: without the time that the reply was queued behind other frames for the link, which is the same for every driver",
        sized=False,
    ),
    run=lambda runner, workload, options: [run(runner, workload, options.trial())],
    options=Options,
    shared=(*DUT, "rx", "tx", "variant", *RUN),
    fixed={"size": str(FRAME_BYTES)},
    outputs=lambda options: (options.flent,),
    write=_write,
    plots=_plots,
    lead="Latency under load, as flent's rrul measures it",
    verdicts=_verdicts,
)
