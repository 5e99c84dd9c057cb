# SPDX-License-Identifier: GPL-2.0-or-later
"""How many frames a second an XDP program handles in the driver, at line rate: what it drops, returns and redirects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from irqlab import units
from irqlab.config.traffic import wire_rate_pps
from irqlab.config.values import Rate
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers
from irqlab.methods.method import DUT, RUN, SCHEMES, Lines, Method, NoOptions, NoSummary
from irqlab.present.columns import Col
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.xdp import ACTIONS, XdpResult, XdpTrial


@dataclass(frozen=True)
class Sample:
    """One action."""

    action: Annotated[str, Col("XDP", title="what the program does with each frame")]
    offered_pps: Annotated[Rate, Col("Offered", "kpps", units.kpps)]
    handled_pps: Annotated[Rate, Col("Handled", "kpps", units.kpps, title="as the driver counts them")]
    instructions_per_frame: Annotated[Rate, Col("Instructions", "/frame", units.figures)]
    interrupts_per_s: Annotated[Rate, Col("Interrupts", "/s", units.whole, title="of both NICs")]

    @classmethod
    def of(cls, found: XdpResult) -> Sample:
        """Makes a sample of a trial's result."""
        return cls(found.spec.action, found.offered_pps, found.handled_pps, found.instructions_per_frame, found.interrupts_per_s)


def run(runner: TrialRunner, workload: Workload) -> MethodResult:
    """One trial for each action, at line rate. Raises IrqlabError if the driver has no XDP."""
    result = runner.result("xdp", workload)
    if workload.size == "imix":
        raise IrqlabError("--size imix: xdp is for frames of one size, 64 to 1518")
    rate_pps = wire_rate_pps(workload.size, runner.bench.nic.line_rate_bps)
    for action in ACTIONS:
        sample = Sample.of(runner.trial(XdpTrial(action, rate_pps, workload.size)))
        result.samples.append(sample)
        runner.progress(f"{action}: {sample.handled_pps / 1e3:.1f} kpps")
    result.summary = NoSummary()
    return result


def _verdicts(rows: Sequence[Row]) -> list[str]:
    def said(row: Row) -> str:
        return "XDP: " + ", ".join(f"{one.action} {units.kpps(one.handled_pps)} kpps" for one in row.samples)

    return answers.by_row(rows, said, "dropped by XDP", lambda row: row.samples[0].handled_pps, units.kpps)


METHOD = Method(
    name="xdp",
    place=66,
    title="XDP",
    help="Measure how many frames a second the driver drops, returns and redirects by XDP (xdp-bench) at line rate.",
    intro="Frames that an XDP program handles in the driver, at line rate: xdp-bench drops them, sends them back, or hands them "
    "to the other port.",
    sample=Sample,
    summary=NoSummary,
    lines=Lines("XDP at line rate", Sample, note="handled: as the driver's counters say"),
    run=lambda runner, workload, _: [run(runner, workload)],
    options=NoOptions,
    shared=(*DUT, *SCHEMES, "size", *RUN),
    lead="XDP: frames a second that the driver drops, returns and redirects",
    verdicts=_verdicts,
)
