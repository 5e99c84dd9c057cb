# SPDX-License-Identifier: GPL-2.0-or-later
"""iperf3 between the DUT and the tester's host (docs/use/iperf.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated

import typer

from irqlab import units
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers
from irqlab.methods.method import DUT, RUN, Lines, Method, NoSummary
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import bar_of
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.iperf import FOUR, IperfMeasured, IperfResult, IperfTrial

FRAME_BYTES = 1518
"""TCP and UDP send full-size Ethernet frames."""


@dataclass(frozen=True)
class Options:
    """The tests to run."""

    udp: Annotated[bool, typer.Option("--udp", help="Use UDP instead of TCP.")] = False
    rate_bps: Annotated[
        int | None,
        typer.Option("--rate-bps", help="Payload rate per stream, bit/s; 0: unlimited; default: TCP 0, UDP line rate."),
    ] = None
    reverse: Annotated[
        bool, typer.Option("--reverse", help="The server sends, as with iperf3 -R; default: the client sends.")
    ] = False
    dut_serves: Annotated[bool, typer.Option("--dut-serves", help="Run the server in the DUT and the client in the tester.")] = (
        False
    )
    four: Annotated[bool, typer.Option("--all", help="Run four tests: TCP and UDP, each received and sent by the DUT.")] = False
    duration: Annotated[int, typer.Option("--duration", help="Duration of the flows, in virtual seconds.")] = 2
    parallel: Annotated[int, typer.Option("--parallel", help="Number of parallel streams.")] = 1
    window: Annotated[int, typer.Option("--window", help="TCP window of the tester, in bytes per stream.")] = 1 << 18
    soak: Annotated[bool, typer.Option("--soak", help="Also run a soaker that measures the CPU time left.")] = False

    def __post_init__(self) -> None:
        if self.four and (self.udp or self.reverse):
            raise IrqlabError("--all: runs TCP and UDP in both directions; do not combine it with --udp or --reverse")
        self.trials()

    def trials(self) -> list[IperfTrial]:
        """The tests to run. Raises IrqlabError for a value out of range."""
        dut_sends = self.reverse if self.dut_serves else not self.reverse
        one = IperfTrial(
            self.udp, dut_sends, self.dut_serves, self.duration, self.parallel, self.rate_bps, self.window, self.soak
        )
        return [replace(one, udp=test.udp, dut_sends=test.dut_sends) for test in FOUR] if self.four else [one]


def _mbps(bps: float) -> str:
    return units.mbps(bps / 1e6)


@dataclass(frozen=True)
class Line:
    """A table line: one test."""

    name: Annotated[str, Col("Test", title="Rx: the device receives; Tx: it sends")]
    streams: Annotated[int, Col("Streams", format=units.whole)]
    bps: Annotated[float, Col("Received", "Mbit/s", _mbps, title="payload, counted by the receiver")]
    sender_bps: Annotated[float, Col("Sent", "Mbit/s", _mbps, title="counted by the sender")]
    retransmits: Annotated[int | None, Col("Retransmits", format=units.whole)]
    loss_ratio: Annotated[float | None, Col("Loss", format=units.percent)]
    jitter_ns: Annotated[int | None, Col("Jitter", format=units.duration)]
    idle_ratio: Annotated[float, Col("CPU idle", format=units.percent, title="or taken by the soaker")]
    instructions_per_byte: Annotated[float | None, Col("Instructions", "/byte", units.figures)]
    interrupts_per_s: Annotated[float, Col("Interrupts", "/s", units.whole)]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The lines of a result row."""
        return [cls._one(sample) for sample in row.samples]

    @classmethod
    def _one(cls, sample: IperfMeasured) -> Line:
        sender = sample.dut if sample.test["dut_sends"] else sample.tester
        return cls(
            name=sample.name,
            streams=sample.test["parallel"],
            bps=sample.bps,
            sender_bps=sender.bps,
            retransmits=sample.retransmits,
            loss_ratio=sample.loss_ratio,
            jitter_ns=sample.jitter_ns,
            idle_ratio=sample.idle_ratio if sample.soaked_ratio is None else sample.soaked_ratio,
            instructions_per_byte=sample.instructions_per_byte,
            interrupts_per_s=sum(sample.interrupts.values()) * 1e9 / sample.counted_ns,
        )


def sample_of(found: IperfResult) -> IperfMeasured:
    """The result of a trial as it is stored in documents."""
    return IperfMeasured(**{field.name: getattr(found, field.name) for field in fields(IperfMeasured)})


def run(runner: TrialRunner, workload: Workload, trials: Sequence[IperfTrial]) -> MethodResult:
    """Runs each test on a fresh DUT; one sample per test."""
    result = runner.result("iperf", workload)
    for trial in trials:
        found = runner.trial(trial)
        result.samples.append(sample_of(found))
        runner.progress(f"{found.name}: {found.bps / 1e6:.1f} Mbit/s, {found.idle_ratio:.0%} idle")
    result.summary = NoSummary()
    return result


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """Bars for each test."""
    group = Group()
    for name in dict.fromkeys(sample.name for row in rows for sample in row.samples):
        found = [(row, sample) for row in rows for sample in row.samples if sample.name == name]
        entries = [bar_of(row, s.bps, f"{units.mbps(s.bps / 1e6)}{units.NARROW}Mbit/s") for row, s in found]
        group.plots.append(number.plot(name, plots.bars(entries, f"Payload received, {name}")))
    return group


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """The payload of each test, and the CPU time that was left."""

    def bps(name: str) -> answers.Value:
        return lambda row: next((sample.bps for sample in row.samples if sample.name == name), None)

    def written(value: float) -> str:
        return f"{_mbps(value)}{units.NARROW}Mbit/s"

    def said(row: Row) -> str:
        return "; ".join(
            f"{line.name} {answers.spread(row, bps(line.name), written)}, CPU idle {units.percent(line.idle_ratio)}"
            + (f", {units.percent(line.loss_ratio)} lost" if line.loss_ratio else "")
            for line in Line.of(row)
        )

    name = rows[0].samples[0].name
    return answers.by_row(rows, said, f"{name}, payload", bps(name), written, sized=False)


METHOD = Method(
    name="iperf",
    place=110,
    title="iperf3",
    short="TCP and UDP (iperf3)",
    help="Run iperf3 in the DUT against the tester's host: throughput, retransmits, loss, jitter, idle CPU (docs/use/iperf.md).",
    intro="Unmodified iperf3 in the device under test; the peer is the tester. Rx: the device receives; Tx: it sends. Rates are "
    "payload, counted by the receiver. Idle time, instructions and interrupts are measured in a window within the test.",
    sample=IperfMeasured,
    summary=NoSummary,
    lines=Lines(
        "iperf3",
        Line,
        Line.of,
        note="Rx, Tx: the DUT receives, sends; Mbit/s: payload; idle, instructions and interrupts: in a window within the test",
        sized=False,
    ),
    run=lambda runner, workload, options: [run(runner, workload, options.trials())],
    options=Options,
    shared=(*DUT, "rx", "tx", "variant", "app_cpu", *RUN),
    fixed={"size": str(FRAME_BYTES)},
    plots=_plots,
    lead="TCP and UDP by iperf3 between the device and the tester",
    verdicts=_verdicts,
)
