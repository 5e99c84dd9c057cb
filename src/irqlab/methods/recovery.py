# SPDX-License-Identifier: GPL-2.0-or-later
"""System recovery (RFC 1242, 3.16; RFC 2544, 26.5): for how long frames are lost after the end of an overload.

RFC 2544 overloads at 110 % of throughput and then halves that. Half of 4x would still be an overload, so here the load falls to
half the *throughput* in both cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from irqlab import units
from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers, throughput
from irqlab.methods.method import Lines, Method, NoSummary
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import bar_of
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

OVERLOADS = (1.1, 4.0)
REDUCED = 0.5


@dataclass(frozen=True)
class Sample:
    """Result of one overload."""

    overload: Annotated[float, Col("Overload", format=units.share, title="as a share of the throughput")]
    overload_pps: Annotated[float, Col("Offered", "kpps", units.kpps, title="per direction")]
    reduced_pps: Annotated[float, Col("then", "kpps", units.kpps, title="per direction")]
    recovery_ns: Annotated[
        int,
        Col(
            "Recovery",
            format=units.duration,
            title="from the reduction of the load to the sending of the last lost frame; 0 if none was lost after it",
            mark=lambda ns: "good" if ns == 0 else "strong",
        ),
    ]
    lost_after_reduction: Annotated[int, Col("Lost", "frames", units.whole, title="after the reduction of the load")]


def _spec(runner: TrialRunner, workload: Workload, overload_pps: float, reduced_pps: float) -> ForwardingTrial:
    base = runner.overload_spec(workload, overload_pps)
    over = Load(rate_pps=overload_pps, size=workload.size, arrivals=workload.arrivals, end_ns=workload.duration_ns)
    after = Load(rate_pps=reduced_pps, size=workload.size, arrivals=workload.arrivals, begin_ns=workload.duration_ns)
    return replace(base, loads=(over, after), duration_ns=2 * workload.duration_ns)


def _recovery_ns(trial: ForwardingResult, reduced_at_ns: int) -> int:
    last = [s.last_lost_sent_ns for s in trial.streams if s.load == 1 and s.last_lost_sent_ns is not None]
    return max((ns - reduced_at_ns for ns in last), default=0)


def run(runner: TrialRunner, workload: Workload, known: MethodResult | None = None) -> MethodResult:
    """Measures the recovery time after both overloads. `known`: a throughput result of the same runner and workload."""
    base = known or throughput.run(runner, workload)
    rate_pps = throughput.rate_per_direction(base)
    overloads = [over for over in OVERLOADS if rate_pps * over <= runner.most_pps(workload)]
    if not overloads:
        raise IrqlabError(
            f"recovery needs {OVERLOADS[0]:g} times the throughput of {rate_pps:.0f} frames/s, and the line's or the tester's "
            f"own limit is {runner.most_pps(workload):.0f} frames/s"
        )
    specs = [_spec(runner, workload, rate_pps * over, rate_pps * REDUCED) for over in overloads]
    trials = runner.trials(specs, lambda t: f"after {t.spec.loads[0].rate_pps / 1e3:.0f} kpps: {t.total('lost', 1)} more lost")
    result = runner.result("recovery", workload)
    result.copy_throughput(base)
    result.samples = [
        Sample(
            overload=over,
            overload_pps=trial.spec.loads[0].rate_pps,
            reduced_pps=trial.spec.loads[1].rate_pps,
            recovery_ns=_recovery_ns(trial, workload.duration_ns),
            lost_after_reduction=trial.total("lost", 1),
        )
        for over, trial in zip(overloads, trials, strict=True)
    ]
    result.summary = NoSummary()
    result.trials = trials
    return result


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """One bar chart per overload."""
    drawn = []
    for overload in sorted({sample.overload for row in rows for sample in row.samples}):
        entries = [
            bar_of(row, sample.recovery_ns, units.duration(sample.recovery_ns) if sample.recovery_ns else "immediate")
            for row in rows
            for sample in row.samples
            if sample.overload == overload
        ]
        drawn.append(number.plot(f"After {units.share_of(overload)}", plots.bars(entries, "Recovery time")))
    return Group(plots=drawn)


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """For how long frames are lost after each overload."""

    def after(overload: float) -> answers.Value:
        return lambda row: next((s.recovery_ns for s in row.samples if s.overload == overload), None)

    def told(ns: float) -> str:
        return f"for {units.duration(ns)}" if ns else "none"

    def said(row: Row) -> str:
        times = [f"{answers.spread(row, after(s.overload), told)} after {units.share(s.overload)}" for s in row.samples]
        return f"frames lost when the load has fallen: {', '.join(times)} of its throughput"

    highest = max((s.overload for row in rows for s in row.samples), default=OVERLOADS[-1])
    return answers.by_row(
        rows, said, f"Frames lost when the load has fallen from {units.share_of(highest)}", after(highest), told
    )


METHOD = Method(
    name="recovery",
    place=50,
    title="Recovery from overload",
    short="Recovery",
    help="Measure the time to recover from an overload (RFC 2544, 26.5).",
    intro="For how long frames are lost after the end of an overload (RFC 2544, 26.5).",
    sample=Sample,
    summary=NoSummary,
    lines=Lines("System recovery", Sample, note="Overload: as a share of the throughput; kpps: per direction"),
    run=lambda runner, workload, _: [run(runner, workload)],
    plots=_plots,
    lead="Recovery: for how long frames are lost after an overload (RFC 2544, 26.5)",
    verdicts=_verdicts,
)
