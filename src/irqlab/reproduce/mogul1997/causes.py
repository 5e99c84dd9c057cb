# SPDX-License-Identifier: GPL-2.0-or-later
"""Experiments on why the lab's curves differ from the paper's: each turns one cause on and off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from irqlab.config.costs import Costs
from irqlab.config.schemes import Schemes
from irqlab.config.traffic import Arrivals
from irqlab.present.columns import Col
from irqlab.reproduce.mogul1997.configurations import (
    CPU_QUOTA,
    FEEDBACK_QUOTA,
    HIGH,
    LINUX,
    NAPI,
    NO_FEEDBACK,
    NO_QUOTA,
    QUOTAS,
    SHRINK,
    UNMODIFIED,
    polling,
    quota_name,
    shrinking,
    spec_of,
    unmodified,
)
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import Batch, Figures, run, trial_table
from irqlab.trials.application import SCREEN_MODULE, Tuning
from irqlab.trials.testbed import Testbed

OVERLOAD = 2.1
"""Times the unmodified kernel's loss-free rate."""
RINGS = (16, 64)
"""Descriptors, for receiving and for sending. 64 are the C+'s most."""
STOPPING = "irqmod_i8255x"
"""A chip whose receiver stops when its ring is full, until the driver starts it again."""
PRIORITY, CHIP, RING, FEEDBACK, WEIGHT = "priority", "chip", "ring", "feedback", "weight"
ARRIVALS, COST, QUEUE, PAUSE, DIP = "arrivals", "cost of an interrupt", "queue", "pause", "dip"
IRQ_NS = 5000.0
"""About what this DUT takes for an interrupt, once more."""
ARRIVED: tuple[Arrivals, ...] = ("constant", "poisson")
COSTS = {"none": None, f"{IRQ_NS / 1000:g} µs more": Costs(irq=IRQ_NS)}
QUEUES = (31, 32)
"""Packets that may wait for screend. From 32 on tun frees its places 16 at a time."""
PAUSES_US = (125, 0)
"""For how long RX stays masked after a pass; 0: not at all."""
WIRE = 3.3
"""Where the unmodified kernel livelocks without screend, as OVERLOAD."""
DIP_LIMIT, DIP_LOAD, LEVEL_LOAD = 50, 0.8, 1.6
"""A limit in per cent with which figure 7-1 dips; about where, as OVERLOAD; and where it is level, since RX is masked there."""
NEAR_PEAK = (0.23, 0.28, 0.33, 0.38)
"""Where a router with screend has its peak, as OVERLOAD."""


def ring_setting(ring: int) -> str:
    """The setting of a trial with rings of so many descriptors."""
    return f"rings of {ring}"


@dataclass(frozen=True)
class CauseRow:
    """A trial of an experiment."""

    cause: Annotated[str, Col("Cause")]
    setting: Annotated[str, Col("Setting")]
    screend: Annotated[bool, Col("screend")]
    configuration: Annotated[str, Col("Configuration")]
    offered_to_peak: Annotated[float, Col("Offered", "of the peak")]
    output_to_peak: Annotated[float, Col("Output", "of the peak")]
    lost_screen_queue: Annotated[float, Col("Lost: queue to screend")]
    lost_output_queue: Annotated[float, Col("output queue")]
    cpu_left: Annotated[float, Col("CPU left", "share")]


@dataclass(frozen=True)
class _Trial:
    cause: str
    setting: str
    screend: bool
    configuration: str
    tuning: Tuning
    testbed: Testbed
    load: float = OVERLOAD
    arrivals: Arrivals = "constant"
    costs: Costs | None = None


def _plans(session: Session, testbed: Testbed) -> Iterator[_Trial]:
    for nice in (-20, LINUX):
        setting = f"ksoftirqd at nice {nice}"
        yield _Trial(PRIORITY, setting, True, UNMODIFIED, unmodified(nice), testbed)
        yield _Trial(PRIORITY, setting, True, NO_FEEDBACK, polling(FEEDBACK_QUOTA, nice=nice), testbed)
    stopping = session.testbed(driver=STOPPING, nic=None, modules=(SCREEN_MODULE,))
    for bed in (testbed, stopping):
        yield _Trial(CHIP, bed.driver, False, NO_QUOTA, polling(0), bed)
    for ring in RINGS:
        small = session.testbed(modules=(SCREEN_MODULE,), dut=replace(session.config.dut, ring=ring))
        for quota in QUOTAS[2:3] if session.quick else QUOTAS:
            yield _Trial(RING, ring_setting(ring), False, quota_name(quota), polling(quota), small)
    for setting, high in (("feedback", HIGH), ("none", 0)):
        yield _Trial(FEEDBACK, setting, False, NO_QUOTA, polling(0, high), testbed)
    for pause_us in PAUSES_US:
        yield _Trial(PAUSE, f"{pause_us} µs", False, SHRINK, shrinking(pause_us), testbed, WIRE)
    schemes = Schemes(rx="napi", tx="poll", weight=FEEDBACK_QUOTA)
    weighted = replace(polling(FEEDBACK_QUOTA), schemes=schemes)
    yield _Trial(WEIGHT, f"{NAPI} with weight {FEEDBACK_QUOTA}", False, NAPI, weighted, testbed)
    yield _Trial(WEIGHT, "polling", False, quota_name(FEEDBACK_QUOTA), polling(FEEDBACK_QUOTA), testbed)


def _near_peak(session: Session, testbed: Testbed) -> Iterator[_Trial]:
    """With screend: the unmodified kernel and the one with feedback, near their peaks."""
    charged = session.testbed(modules=(SCREEN_MODULE,), cost_model=True)
    fed = quota_name(FEEDBACK_QUOTA)
    for queue in QUEUES:
        tuning = replace(polling(FEEDBACK_QUOTA, HIGH), screen_queue=queue)
        yield _Trial(QUEUE, f"a queue of {queue}", True, fed, tuning, testbed, max(NEAR_PEAK))
    for load in NEAR_PEAK[1:3] if session.quick else NEAR_PEAK:
        for name, tuning in ((UNMODIFIED, unmodified()), (fed, polling(FEEDBACK_QUOTA, HIGH))):
            for arrivals in ARRIVED:
                yield _Trial(ARRIVALS, arrivals, True, name, tuning, testbed, load, arrivals)
            for setting, costs in COSTS.items():
                yield _Trial(COST, setting, True, name, tuning, charged, load, costs=costs)


def _dip(session: Session) -> Iterator[_Trial]:
    """Figure 7-1 where it dips and where it is level, with interrupts that cost more."""
    charged = session.testbed(modules=(SCREEN_MODULE,), cost_model=True)
    tuning = polling(CPU_QUOTA, cpu_percent=DIP_LIMIT)
    for setting, costs in COSTS.items():
        for load in (DIP_LOAD, LEVEL_LOAD):
            yield _Trial(DIP, setting, False, quota_name(CPU_QUOTA), tuning, charged, load, costs=costs)


def measure(session: Session, testbed: Testbed, unit_pps: float, figures: Figures) -> Table[CauseRow]:
    """Every experiment. `figures`: columns of a trial."""
    plans = [*_plans(session, testbed), *_near_peak(session, testbed), *_dip(session)]
    batches = []
    for one in plans:
        spec = spec_of(one.load * unit_pps, one.tuning, one.screend, session.quick, arrivals=one.arrivals, costs=one.costs)
        batches.append(Batch(f"{one.cause}: {one.setting}", one.testbed, [(vars(one), spec)]))
    done = run(session, "causes", batches)
    return trial_table("What makes curves differ: one cause on and off", CauseRow, done, figures)
