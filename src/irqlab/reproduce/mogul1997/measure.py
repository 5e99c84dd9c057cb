# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: the paper's figures, and experiments on what makes them differ.

All loads are multiples of what the unmodified kernel forwards without loss and without screend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from irqlab.errors import IrqlabError
from irqlab.methods import throughput
from irqlab.present.columns import Col
from irqlab.reproduce.mogul1997 import causes, published
from irqlab.reproduce.mogul1997.causes import CauseRow
from irqlab.reproduce.mogul1997.configurations import (
    CPU_QUOTA,
    LIMITS,
    NOT_QUICK,
    UNMODIFIED,
    Configuration,
    all_configurations,
    plan_of,
    polling,
    spec_of,
    trials,
    unmodified,
)
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table, row_of
from irqlab.reproduce.trial_rows import lost, trial_row
from irqlab.runner.jobs import Job
from irqlab.trials.application import SCREEN_MODULE, ApplicationResult
from irqlab.trials.testbed import Testbed

LOADS = {
    False: (0.3, 0.6, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 1.8, 2.1, 2.4, 2.8, 3.3),
    True: (0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.65, 0.8, 1.0, 1.3, 1.6, 2.1, 2.4),
}
"""With screend or without. The paper goes to 2.3 times the peak; its Ethernet carries 3.2 times the peak."""
QUICK_LOADS = {False: (1.0, 1.3, 2.1, 3.3), True: (0.3, 0.5, 1.3, 2.1)}
CPU_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.3, 1.6)
QUICK_CPU_LOADS = (0.5, 1.0, 1.6)
SILENT_PPS = 1.0
"""As good as no load."""


@dataclass(frozen=True)
class ForwardRow:
    """A mark of figures 6-1 to 6-6. Where frames are lost: shares of all frames."""

    screend: Annotated[bool, Col("screend")]
    configuration: Annotated[str, Col("Configuration")]
    offered_to_peak: Annotated[float, Col("Offered", "of the peak")]
    output_to_peak: Annotated[float, Col("Output", "of the peak")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    output_pps: Annotated[float, Col("Output", "frames/s")]
    lost_nic: Annotated[float, Col("Lost: NIC")]
    lost_input_queue: Annotated[float, Col("input queue")]
    lost_screen_queue: Annotated[float, Col("queue to screend")]
    lost_output_queue: Annotated[float, Col("output queue")]
    interrupts_per_s: Annotated[float, Col("Interrupts", "/s")]
    p50_ns: Annotated[int | None, Col("Latency p50", "ns")]
    ksoftirqd_share: Annotated[float, Col("ksoftirqd", "share")]


@dataclass(frozen=True)
class CurveRow:
    """A curve of figures 6-1 to 6-6 in three figures. Rates are shares of the peak of the unmodified kernel without screend."""

    screend: Annotated[bool, Col("screend")]
    configuration: Annotated[str, Col("Configuration")]
    lossless: Annotated[float | None, Col("Loss-free up to")]
    """None: not even the lowest load."""
    paper_lossless: Annotated[float | None, Col("paper")]
    peak: Annotated[float, Col("Peak")]
    paper_peak: Annotated[float | None, Col("paper")]
    overload: Annotated[float, Col(f"Mean from {published.OVERLOAD:g} on")]
    paper_overload: Annotated[float | None, Col("paper")]
    overload_to_peak: Annotated[float, Col("of its peak")]
    paper_overload_to_peak: Annotated[float | None, Col("paper")]
    peak_pps: Annotated[float, Col("Peak", "frames/s")]


@dataclass(frozen=True)
class CpuRow:
    """A mark of figure 7-1: CPU time left for a process that always computes."""

    threshold_percent: Annotated[int, Col("Threshold", "%")]
    process: Annotated[str, Col("Process")]
    offered_to_peak: Annotated[float, Col("Offered", "of the peak")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    output_pps: Annotated[float, Col("Output", "frames/s")]
    cpu_percent: Annotated[float, Col("CPU left", "%")]


@dataclass(frozen=True)
class Tables:
    """The tables of the reproduction; their fields' names are those of the CSV files."""

    forwarding: Table[ForwardRow]
    curves: Table[CurveRow]
    cpu: Table[CpuRow]
    causes: Table[CauseRow]


LOWEST, NORMAL = "of lowest priority", "of normal priority"
"""The process of figure 7-1: behind ksoftirqd, as the paper's is behind the polling thread; and as Linux has it."""


def measure(session: Session) -> Tables:
    """All tables. Raises IrqlabError for a driver without the schemes."""
    testbed = session.testbed(modules=(SCREEN_MODULE,))
    if testbed.scheme_names()["rx_scheme"] is None:
        raise IrqlabError(f"the paper compares receive schemes, and {testbed.driver} has none: try irqmod_rtl8139cp")
    unit_pps = _lossless_pps(session)
    chosen = [one for one in all_configurations() if not (session.quick and one.name in NOT_QUICK)]
    curves = _forward(session, testbed, chosen, unit_pps)
    limited = _cpu(session, testbed, unit_pps)
    peak_pps = max(r.returned_pps for one, r in curves if one.name == UNMODIFIED and not one.screend)
    cpu = [
        trial_row(
            CpuRow,
            r,
            threshold_percent=percent,
            process=process,
            offered_to_peak=r.offered_pps / peak_pps,
            output_pps=r.returned_pps,
            cpu_percent=100 * r.cpu_available,
        )
        for (percent, process), curve in limited.items()
        for r in curve
    ]
    return Tables(
        forwarding=Table("Figures 6-1 to 6-6: forwarding", ForwardRow, tuple(_mark(one, r, peak_pps) for one, r in curves)),
        curves=Table(
            "Figures 6-1 to 6-6: each curve in three figures",
            CurveRow,
            tuple(_curve(one, [r for other, r in curves if other is one], peak_pps) for one in chosen),
        ),
        cpu=Table("Figure 7-1: CPU time left for a process that always computes", CpuRow, tuple(cpu)),
        causes=causes.measure(session, testbed, unit_pps, peak_pps),
    )


def _lossless_pps(session: Session) -> float:
    """What the unmodified kernel forwards without loss (RFC 2544), without screend."""
    testbed = session.testbed(unmodified().schemes, modules=(SCREEN_MODULE,))
    search = partial(throughput.run, workload=plan_of(session.quick))
    found = session.all("the loss-free rate", {"": Job(UNMODIFIED, testbed, search)})[""]
    return found.total_throughput_pps or 1.0


def _forward(
    session: Session, testbed: Testbed, chosen: Sequence[Configuration], unit_pps: float
) -> list[tuple[Configuration, ApplicationResult]]:
    loads = QUICK_LOADS if session.quick else LOADS
    jobs = {}
    for n, one in enumerate(chosen):
        specs = [spec_of(load * unit_pps, one.tuning, one.screend, session.quick) for load in loads[one.screend]]
        jobs[n] = Job(f"{one.name}, screend" if one.screend else one.name, testbed, partial(trials, specs=specs))
    return [(chosen[n], r) for n, curve in session.all("figures 6-1 to 6-6", jobs).items() for r in curve]


def _mark(one: Configuration, r: ApplicationResult, peak_pps: float) -> ForwardRow:
    return trial_row(
        ForwardRow,
        r,
        screend=one.screend,
        configuration=one.name,
        offered_to_peak=r.offered_pps / peak_pps,
        output_to_peak=r.returned_pps / peak_pps,
        output_pps=r.returned_pps,
        lost_input_queue=lost(r, "backlog"),
        lost_screen_queue=lost(r, "socket"),
        lost_output_queue=lost(r, "elsewhere"),
    )


def _curve(one: Configuration, curve: Sequence[ApplicationResult], peak_pps: float) -> CurveRow:
    points = tuple((r.offered_pps / peak_pps, r.returned_pps / peak_pps) for r in curve)
    paper = published.shape(published.curve(one.screend, one.name))
    return row_of(
        CurveRow,
        published.shape(points, nothing=0.0),
        {f"paper_{name}": figure for name, figure in paper.items()},
        screend=one.screend,
        configuration=one.name,
        peak_pps=max(r.returned_pps for r in curve),
    )


def _cpu(session: Session, testbed: Testbed, unit_pps: float) -> Mapping[tuple[int, str], Sequence[ApplicationResult]]:
    """Of figure 7-1: by threshold in per cent and process."""
    rates = [SILENT_PPS, *(load * unit_pps for load in (QUICK_CPU_LOADS if session.quick else CPU_LOADS))]
    settings = {
        **{(percent, LOWEST): (polling(CPU_QUOTA, cpu_percent=percent), False) for percent in LIMITS},
        (LIMITS[-1], NORMAL): (polling(CPU_QUOTA, nice=0, cpu_percent=LIMITS[-1]), True),
    }
    jobs = {}
    for (percent, process), (tuning, competes) in settings.items():
        specs = [spec_of(rate, tuning, False, session.quick, competes) for rate in rates]
        jobs[percent, process] = Job(f"{percent} %, a process {process}", testbed, partial(trials, specs=specs))
    return session.all("figure 7-1", jobs)
