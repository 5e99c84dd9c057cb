# SPDX-License-Identifier: GPL-2.0-or-later
"""How full the transmit ring is, on NICs whose wire takes time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from irqlab import units
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers
from irqlab.methods.method import DUT, RUN, SCHEMES, Lines, Method, NoSummary
from irqlab.methods.options import check_rate, pps
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import legend_of, line_of
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.ring import RingResult, RingTrial


@dataclass(frozen=True)
class Options:
    """The load."""

    rate: Annotated[float, typer.Option("--rate", parser=pps, help="64-byte frames/s offered in each direction.")] = 100_000.0

    def __post_init__(self) -> None:
        check_rate(self.rate)


@dataclass(frozen=True)
class Sample:
    """One test."""

    name: Annotated[str, Col("Test")]
    ring: Annotated[int, Col("Ring", format=units.whole, title="descriptors")]
    mean: Annotated[float, Col("Mean fill", format=units.figures, title="descriptors that the NIC holds")]
    most: Annotated[int, Col("Most", format=units.whole)]
    empty_ratio: Annotated[float, Col("Empty", format=units.percent, title="share of the time")]
    full_ratio: Annotated[float, Col("Full", format=units.percent, title="share of the time at nine tenths of the ring or more")]
    fillings_per_s: Annotated[float, Col("Fillings", "/s", units.whole, title="how often the ring became full")]
    interrupts_per_s: Annotated[float, Col("Interrupts", "/s", units.whole, title="of both NICs, over the whole test")]
    shown: list[tuple[int, int]]
    """The beginning of the window: ns since its start, and how many descriptors the NIC holds from then on."""

    @classmethod
    def of(cls, found: RingResult) -> Sample:
        """Makes a sample of a trial's result."""
        spent = {int(fill): ns for fill, ns in found.at_fill_ns.items()}
        total = sum(spent.values())
        return cls(
            name=found.spec.name,
            ring=found.ring,
            mean=sum(fill * ns for fill, ns in spent.items()) / total,
            most=max(spent),
            empty_ratio=spent.get(0, 0) / total,
            full_ratio=sum(ns for fill, ns in spent.items() if fill >= found.ring * 9 // 10) / total,
            fillings_per_s=found.fillings * 1e9 / found.window_ns,
            interrupts_per_s=found.interrupts_per_s,
            shown=found.shown,
        )


def run(runner: TrialRunner, workload: Workload, options: Options) -> MethodResult:
    """Forwards both ways, then sends by TCP. Raises IrqlabError if the NIC is not one of the tester's PCI cards."""
    if not runner.bench.nic.pci_bus:
        raise IrqlabError(
            f"{runner.bench.nic.model}: the ring can be recorded only with the tester's own PCI cards (--nic irqlab-...)"
        )
    result = runner.result("ring", workload)
    for trial in (RingTrial(options.rate), RingTrial(None)):
        sample = Sample.of(runner.trial(trial))
        result.samples.append(sample)
        runner.progress(f"{sample.name}: mean {sample.mean:.1f} of {sample.ring}, full {sample.full_ratio:.0%}")
    result.summary = NoSummary()
    return result


def curve(row: Row, sample: Sample, title: str) -> str:
    """A plot of the fill over time."""
    points: list[tuple[float, float | None]] = []
    for at_ns, fill in sample.shown:
        points += [(at_ns / 1e6, before) for _, before in points[-1:]]
        points.append((at_ns / 1e6, fill))
    return plots.over_time([line_of(row, points)], "Time, ms", "descriptors", title)


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """The fill over time, a plot for each test and scheme."""
    group = Group(legend=legend_of(rows))
    for name in dict.fromkeys(sample.name for row in rows for sample in row.samples):
        for row in rows:
            for sample in (sample for sample in row.samples if sample.name == name):
                title = f"{name}: {row.variant.label}"
                group.plots.append(number.plot(title, curve(row, sample, title)))
    return group


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """How full the ring was in each test."""

    def mean(name: str) -> answers.Value:
        return lambda row: next((sample.mean for sample in row.samples if sample.name == name), None)

    def said(row: Row) -> str:
        return "; ".join(
            f"{s.name}: the NIC holds {answers.spread(row, mean(s.name), units.figures)} of {s.ring} descriptors in the mean, "
            f"at most {s.most}; full {units.percent(s.full_ratio)} of the time"
            for s in row.samples
        )

    name = rows[0].samples[0].name
    return answers.by_row(
        rows, said, f"{name}: descriptors that the NIC holds in the mean", mean(name), units.figures, sized=False
    )


METHOD = Method(
    name="ring",
    place=65,
    title="Transmit ring",
    help="Record how many transmit descriptors the NIC holds over time, forwarding and sending TCP (docs/use/transmit-ring.md).",
    intro="How full the transmit ring is: the descriptors that the driver has handed over and the NIC has not given back. "
    "Only with the tester's own PCI cards, whose wire takes time.",
    sample=Sample,
    summary=NoSummary,
    lines=Lines("Transmit ring", Sample, note="fill: descriptors that the NIC holds; full: nine tenths of the ring", sized=False),
    run=lambda runner, workload, options: [run(runner, workload, options)],
    options=Options,
    shared=(*DUT, *SCHEMES, *RUN),
    plots=_plots,
    lead="Transmit ring: how many descriptors the NIC holds",
    verdicts=_verdicts,
)
