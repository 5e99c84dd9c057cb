# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: the paper's figures, and experiments on what makes them differ.

All loads are multiples of what the unmodified kernel forwards without loss and without screend.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    of_peak,
    plan_of,
    polling,
    spec_of,
    unmodified,
)
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table, row_of
from irqlab.reproduce.trial_rows import Batch, Done, run, trial_table
from irqlab.runner.jobs import Job
from irqlab.trials.application import SCREEN_MODULE
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
    unmodified_pps = (r.returned_pps for c, r in curves if c == {"screend": False, "configuration": UNMODIFIED})
    figures = partial(of_peak, peak_pps=max(unmodified_pps))
    forwarding = trial_table("Figures 6-1 to 6-6: forwarding", ForwardRow, curves, figures)
    return Tables(
        forwarding=forwarding,
        curves=Table(
            "Figures 6-1 to 6-6: each curve in three figures",
            CurveRow,
            tuple(_curve(*key, rows) for key, rows in forwarding.by(lambda r: (r.screend, r.configuration)).items()),
        ),
        cpu=trial_table("Figure 7-1: CPU time left for a process that always computes", CpuRow, limited, figures),
        causes=causes.measure(session, testbed, unit_pps, figures),
    )


def _lossless_pps(session: Session) -> float:
    """What the unmodified kernel forwards without loss (RFC 2544), without screend."""
    testbed = session.testbed(unmodified().schemes, modules=(SCREEN_MODULE,))
    search = partial(throughput.run, workload=plan_of(session.quick))
    found = session.all("the loss-free rate", {"": Job(UNMODIFIED, testbed, search)})[""]
    return found.total_throughput_pps or 1.0


def _forward(session: Session, testbed: Testbed, chosen: Sequence[Configuration], unit_pps: float) -> list[Done]:
    loads = QUICK_LOADS if session.quick else LOADS
    batches = []
    for one in chosen:
        columns = {"screend": one.screend, "configuration": one.name}
        specs = (spec_of(load * unit_pps, one.tuning, one.screend, session.quick) for load in loads[one.screend])
        batches.append(Batch(f"{one.name}, screend" if one.screend else one.name, testbed, [(columns, spec) for spec in specs]))
    return run(session, "figures 6-1 to 6-6", batches)


def _curve(screend: bool, configuration: str, curve: Sequence[ForwardRow]) -> CurveRow:
    paper = published.shape(published.curve(screend, configuration))
    return row_of(
        CurveRow,
        published.shape(tuple((row.offered_to_peak, row.output_to_peak) for row in curve), nothing=0.0),
        {f"paper_{name}": figure for name, figure in paper.items()},
        screend=screend,
        configuration=configuration,
        peak_pps=max(row.output_pps for row in curve),
    )


def _cpu(session: Session, testbed: Testbed, unit_pps: float) -> list[Done]:
    """Of figure 7-1."""
    rates = [SILENT_PPS, *(load * unit_pps for load in (QUICK_CPU_LOADS if session.quick else CPU_LOADS))]
    settings = {
        **{(percent, LOWEST): (polling(CPU_QUOTA, cpu_percent=percent), False) for percent in LIMITS},
        (LIMITS[-1], NORMAL): (polling(CPU_QUOTA, nice=0, cpu_percent=LIMITS[-1]), True),
    }
    batches = []
    for (percent, process), (tuning, competes) in settings.items():
        columns = {"threshold_percent": percent, "process": process}
        specs = (spec_of(rate, tuning, False, session.quick, competes) for rate in rates)
        batches.append(Batch(f"{percent} %, a process {process}", testbed, [(columns, spec) for spec in specs]))
    return run(session, "figure 7-1", batches)
