# SPDX-License-Identifier: GPL-2.0-or-later
"""Experiments beyond the paper's figures (--long): what makes lab and paper differ, switched on and off; its future work."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from irqlab.config import hardware
from irqlab.config.costs import Costs
from irqlab.config.traffic import Arrivals, Load
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import cliff, receiving
from irqlab.methods.cliff import External, Internal
from irqlab.present.columns import Col
from irqlab.reproduce import patches
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.loads import PLAN
from irqlab.reproduce.salah2009.rows import Row
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table, row_of
from irqlab.reproduce.trial_rows import Asked, Batch, run, trial_table
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.setup import drivers
from irqlab.setup import kernel as kernels
from irqlab.trials.application import ApplicationTrial

POISSON, FORWARDING, INTERFACES, OTHERS, REFILL, LOW_RATES = (
    "Poisson arrivals",
    "forwarding",
    "two interfaces",
    "other drivers",
    "refill",
    "low rates",
)
OVERLOADS = (1.0, 1.5, 2.0, 2.35, 3.0, 4.0)
"""Of the cliff."""
POISSON_LOADS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
FORWARDING_CLIFF_PPS = 60_000.0
FORWARDED_PPS = (60_000.0, 80_000.0, 100_000.0, 140_000.0)
OTHER_DRIVERS = {"irqmod_rtl8139cp": (25_000.0, 100_000.0), "irqmod_lan78xx": (10_000.0, 80_000.0)}
"""Cliff and load, in frames/s."""
REFILL_PATCH = "docs/patches/i8255x-refill-64.patch"
EVERY_PASS, AFTER_64 = "every pass", "after 64 frames"
BOARD = "pentium4"
"""The paper's machine, as its data sheets state it."""
NO_MEMORY = "no memory model"
LOW_PPS = (100.0, 200.0, 1000.0)
"""The paper's round trip is longer below 200."""
LOW_FRAMES = 6
"""At the least, per trial: with a memory model trials take long."""
LOW_NS = 20_000_000


@dataclass(frozen=True)
class ExperimentRow:
    """A scheme in an experiment."""

    experiment: Annotated[str, Col("Experiment")]
    setting: Annotated[str, Col("Setting")]
    scheme: Annotated[str, Col("Scheme")]
    load_of_cliff: Annotated[float | None, Col("Load", "of the cliff")]
    """None: the load is no multiple of the cliff."""
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    """Forwarded, of a router."""
    interrupts_per_s: Annotated[float, Col("Interrupts a second")]
    cpu_available: Annotated[float, Col("CPU left", "share")]
    ksoftirqd_share: Annotated[float, Col("ksoftirqd runs", "share")]
    instructions_per_frame: Annotated[float | None, Col("Instructions a frame received")]
    mean_ns: Annotated[float | None, Col("Mean", "ns")]


@dataclass(frozen=True)
class ConditionRow:
    """The cliff from outside and from inside under a condition, with disable-enable."""

    condition: Annotated[str, Col("Condition")]
    cpu_pps: Annotated[float | None, Col("Cliff by the CPU", "frames/s")]
    throughput_pps: Annotated[float | None, Col("by throughput", "frames/s")]
    loss_pps: Annotated[float | None, Col("by loss", "frames/s")]
    closed_form_pps: Annotated[float, Col("Closed form", "frames/s")]
    closed_form_error: Annotated[float, Col("off by", "share")]
    """To the CPU's cliff."""
    interrupt_share: Annotated[float, Col("Interrupt", "share of a packet's time")]
    interrupts_per_packet: Annotated[float, Col("Interrupts a packet")]


@dataclass(frozen=True)
class Experiment:
    """Trials on one testbed."""

    name: str
    setting: str
    asked: Sequence[Asked]
    changes: dict[str, Any] = field(default_factory=dict)
    """What its testbed has in place of the session's."""

    def batch(self, session: Session) -> Batch:
        """With the columns of the experiment."""
        columns = {"load_of_cliff": None, "experiment": self.name}
        asked = [({**columns, **of_trial, "setting": self.setting}, spec) for of_trial, spec in self.asked]
        return Batch(f"{self.name} {self.setting}".strip(), session.testbed(**self.changes), asked)


def poisson(cliff_pps: float) -> list[Experiment]:
    """Figures 7(e) and (f) with Poisson arrivals."""
    chosen = [rows.de(), rows.napi(rows.DEFAULT_BUDGET), rows.hybrid(cliff_pps)]
    plans: tuple[Arrivals, ...] = ("constant", "poisson")
    return [
        Experiment(POISSON, arrivals, rows.over_loads(chosen, POISSON_LOADS, cliff_pps, replace(PLAN, arrivals=arrivals)))
        for arrivals in plans
    ]


def forwarding(_: float) -> list[Experiment]:
    """A router."""
    at = FORWARDING_CLIFF_PPS
    chosen = [rows.de(), rows.napi(rows.DEFAULT_BUDGET), rows.hybrid(at), rows.paced(at)]
    trials: list[Asked] = [
        ({"scheme": row.name}, ApplicationTrial(Load(rate_pps=pps), row.tuning, kind="forward"))
        for row in chosen
        for pps in FORWARDED_PPS
    ]
    return [Experiment(FORWARDING, "", trials)]


def interfaces(cliff_pps: float) -> list[Experiment]:
    """Adaptive with two interfaces, each with half of the load."""
    one = rows.over_loads([rows.adaptive()], OVERLOADS, cliff_pps, PLAN)
    return [Experiment(INTERFACES, "", [(columns, replace(spec, interfaces=2)) for columns, spec in one])]


def others(_: float) -> list[Experiment]:
    """Paced hybrid with other drivers."""
    return [
        Experiment(
            OTHERS,
            driver,
            [({"scheme": rows.PACED}, receiving.spec_of(PLAN, pps, rows.paced(cliff_pps).tuning))],
            {"driver": driver, "nic": None},
        )
        for driver, (cliff_pps, pps) in OTHER_DRIVERS.items()
    ]


def low_rates(_: float) -> list[Experiment]:
    """Figure 7(d) at low rates: without a memory model, and on the paper's machine."""

    def trial(row: Row, pps: float) -> ApplicationTrial:
        workload = Workload(duration_ns=max(LOW_NS, round(LOW_FRAMES * 1e9 / pps)), warmup_ns=LOW_NS)
        return replace(receiving.spec_of(workload, pps, row.tuning, echo=True), drain_ns=LOW_NS)

    chosen = (rows.de(), rows.napi(rows.DEFAULT_BUDGET))
    trials: list[Asked] = [({"scheme": row.name}, trial(row, pps)) for row in chosen for pps in LOW_PPS]
    board = hardware.load(BOARD)
    return [
        Experiment(LOW_RATES, NO_MEMORY, trials),
        Experiment(LOW_RATES, BOARD, trials, {"mips": board.mips, "memory": board.memory}),
    ]


def refill(session: Session, cliff_pps: float) -> list[Experiment]:
    """Descriptors given back to the NIC in every pass, and after 64 frames, as the paper's driver does."""
    chosen = [rows.de(), rows.napi(rows.DEFAULT_BUDGET), rows.hybrid(cliff_pps)]
    trials = rows.over_loads(chosen, OVERLOADS, cliff_pps, PLAN)
    return [
        Experiment(REFILL, EVERY_PASS, trials),
        Experiment(REFILL, AFTER_64, trials, {"driver": str(patched_driver(session))}),
    ]


def patched_driver(session: Session) -> Path:
    """The session's driver, built with the patch that gives descriptors back after 64 frames. Raises IrqlabError."""
    home = drivers.home()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / home.name
        shutil.copytree(home, root)
        patches.apply(REFILL_PATCH, Path(scratch))
        source = drivers.find(session.config.driver, root)
        if source is None:
            raise IrqlabError(f"{session.config.driver}: only a driver of ours can be patched")
        return drivers.module_file(kernels.resolve(session.config.kernel), source, root)


def measure(session: Session, cliff_pps: float) -> Table[ExperimentRow]:
    """All of them; those of the paper's driver only with that driver."""
    made: list[Callable[[float], list[Experiment]]] = [poisson, forwarding, interfaces, others, low_rates]
    chosen = [one for make in made for one in make(cliff_pps)] + refill(session, cliff_pps)
    return trial_table(
        "Experiments",
        ExperimentRow,
        run(session, "experiments", [one.batch(session) for one in chosen]),
        lambda r: {
            "application_pps": r.returned_pps if r.spec.forwards else r.application_pps,
            "instructions_per_frame": r.instructions_per_datagram,
        },
    )


# The cliff's signs, and its closed form.

Conditions = dict[str, tuple[Arrivals, float]]
"""Arrivals, and what an interrupt costs more, in ns."""
AS_PAPER, WITH_POISSON, DEAR, DEAR_POISSON = (
    "none",
    "Poisson arrivals",
    "an interrupt costs 20 µs more",
    "both",
)
IRQ_NS = 20_000.0
CLIFF_CONDITIONS: Conditions = {
    AS_PAPER: ("constant", 0.0),
    WITH_POISSON: ("poisson", 0.0),
    DEAR: ("constant", IRQ_NS),
    DEAR_POISSON: ("poisson", IRQ_NS),
}


def find_cliff(runner: TrialRunner, workload: Workload) -> tuple[External, Internal]:
    """Both ways."""
    tuning = rows.de().tuning
    outside = cliff.external(runner, workload, tuning)
    return outside, cliff.internal(runner, workload, tuning, cliff.PROFILED_LOAD * outside.cliff_pps)


def cliffs(session: Session) -> Table[ConditionRow]:
    """The cliff under each condition."""
    jobs = {}
    for name, (arrivals, irq_ns) in CLIFF_CONDITIONS.items():
        costs = Costs(irq=irq_ns) if irq_ns else None
        workload = replace(PLAN, arrivals=arrivals, costs=costs)
        testbed = session.testbed(cost_model=True) if costs else session.testbed()
        jobs[name] = Job(name, testbed, partial(find_cliff, workload=workload))
    table = []
    for name, (outside, inside) in session.all("the cliff under conditions", jobs).items():
        row = row_of(
            ConditionRow,
            inside,
            {f"{sign}_pps": pps for sign, pps in outside.signs_pps.items()},
            condition=name,
            closed_form_pps=inside.cliff_pps,
            closed_form_error=inside.cliff_pps / outside.cliff_pps - 1,
            interrupt_share=inside.interrupt_ns / (inside.interrupt_ns + inside.packet_ns),
        )
        table.append(row)
    return Table("The cliff under conditions, and the closed form", ConditionRow, tuple(table))
