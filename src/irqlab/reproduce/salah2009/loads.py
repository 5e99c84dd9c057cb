# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures 6 and 7, and today's schemes: a row at every load, receiving and echoing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from irqlab.config.workload import Workload
from irqlab.methods import receiving
from irqlab.methods.cliff import PRECISION, QUICK_PRECISION
from irqlab.present.columns import Col
from irqlab.reproduce.salah2009.rows import Row, over_loads
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import Asked, Done, trial_table

PLAN = Workload()
QUICK_PLAN = Workload(duration_ns=60_000_000, warmup_ns=20_000_000)
QUICK_PROFILED = Workload(duration_ns=40_000_000, warmup_ns=20_000_000)
"""A profile takes several times as long as a trial."""
RECEIVING = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 3.0, 4.0)
"""Shares of the cliff."""
QUICK_RECEIVING = (0.1, 0.5, 1.0, 2.0, 4.0)
ECHOING = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 2.0, 4.0)
"""Shares of the cliff of an application that echoes."""
QUICK_ECHOING = (0.1, 0.5, 0.9)
LOW_PPS = (100.0, 200.0, 500.0, 1000.0, 2000.0)
"""Figure 7(d): the zoom at low rates, frames/s."""
LOW_DURATION_NS = 500_000_000
COMPARED = (0.5, 1.0, 2.0, 4.0)
"""Of the cliff: where the findings look."""
COMPARED_ECHO = (0.1, 0.5, 0.9)
SWEPT, SWEPT_ECHO = (1.0, 2.0, 4.0), (0.5,)
QUICK_BUDGETED = (2.0, 4.0)
BUDGETED = (0.5, 1.0, 1.5, 1.75, 2.0, 3.0, 4.0)
"""Of the cliff: figure 6(a)."""
BUDGETED_ECHO = (0.1, 0.5, 0.9, 1.25, 2.0)
"""Of the echo's cliff: figure 6(b); the paper's end at 1.2 times."""


@dataclass(frozen=True)
class ReceivingRow:
    """What the application receives at a load. What is lost is a share of the frames sent."""

    driver: Annotated[str, Col("Driver")]
    scheme: Annotated[str, Col("Scheme")]
    setting: Annotated[str, Col("Setting")]
    load_of_cliff: Annotated[float, Col("Load", "of the cliff")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    loss_ratio: Annotated[float, Col("Lost", "share")]
    lost_nic: Annotated[float, Col("by the NIC")]
    lost_backlog: Annotated[float, Col("backlog")]
    lost_socket: Annotated[float, Col("socket")]
    lost_elsewhere: Annotated[float, Col("elsewhere")]
    interrupts_per_s: Annotated[float, Col("Interrupts a second")]
    cpu_available: Annotated[float, Col("CPU left", "share")]
    ksoftirqd_wakeups_per_s: Annotated[float, Col("ksoftirqd woken a second")]
    ksoftirqd_share: Annotated[float, Col("ksoftirqd runs", "share")]
    time_squeezes: Annotated[int, Col("Time squeezes")]
    switches: Annotated[int | None, Col("Switches")]

    @property
    def name(self) -> str:
        """The scheme, with its setting if it has one."""
        return named(self.scheme, self.setting)


@dataclass(frozen=True)
class EchoingRow:
    """The round trip through the application at a load. An overloaded DUT does not return every frame."""

    driver: Annotated[str, Col("Driver")]
    scheme: Annotated[str, Col("Scheme")]
    setting: Annotated[str, Col("Setting")]
    load_of_echo_cliff: Annotated[float | None, Col("Load", "of the echo's cliff")]
    """None: an absolute low rate."""
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    returned_pps: Annotated[float, Col("Returned", "frames/s")]
    loss_ratio: Annotated[float, Col("Lost", "share")]
    lost_application: Annotated[float, Col("by the application")]
    mean_ns: Annotated[float | None, Col("Mean", "ns")]
    p50_ns: Annotated[int | None, Col("p50", "ns")]
    p90_ns: Annotated[int | None, Col("p90", "ns")]
    p99_ns: Annotated[int | None, Col("p99", "ns")]
    p999_ns: Annotated[int | None, Col("p99.9", "ns")]
    max_ns: Annotated[int | None, Col("max", "ns")]
    cpu_available: Annotated[float, Col("CPU left", "share")]

    @property
    def name(self) -> str:
        """The scheme, with its setting if it has one."""
        return named(self.scheme, self.setting)


def named(scheme: str, setting: str) -> str:
    """A scheme as the findings call it."""
    return f"{scheme} ({setting})" if setting else scheme


@dataclass(frozen=True)
class Cliffs:
    """Of a receiving and of an echoing application, in frames/s."""

    receiving_pps: float
    echoing_pps: float


def precision_of(quick: bool) -> float:
    """To which share of the load a cliff is found."""
    return QUICK_PRECISION if quick else PRECISION


def plan_of(quick: bool) -> Workload:
    """How long a trial is."""
    return QUICK_PLAN if quick else PLAN


def profiled_of(quick: bool) -> Workload:
    """How long a profile is."""
    return QUICK_PROFILED if quick else PLAN


@dataclass(frozen=True)
class Offer:
    """What a row is offered: shares of the cliffs, and absolute low rates."""

    receiving: Sequence[float]
    echoing: Sequence[float]
    low_pps: Sequence[float] = ()
    workload: Workload = PLAN

    @classmethod
    def of(cls, quick: bool) -> Offer:
        """All loads of figure 7."""
        return cls(QUICK_RECEIVING, QUICK_ECHOING, workload=QUICK_PLAN) if quick else cls(RECEIVING, ECHOING, LOW_PPS)

    @classmethod
    def brief(cls) -> Offer:
        """The loads that the findings look at."""
        return cls(COMPARED, COMPARED_ECHO)

    @classmethod
    def budgets(cls, quick: bool) -> Offer:
        """The loads of figure 6."""
        return cls(QUICK_BUDGETED, SWEPT_ECHO, workload=QUICK_PLAN) if quick else cls(BUDGETED, BUDGETED_ECHO)

    @classmethod
    def sweep(cls) -> Offer:
        """The loads at which settings of one scheme are compared: below the cliff all of them receive everything."""
        return cls(SWEPT, SWEPT_ECHO)


def curve(row: Row, cliffs: Cliffs, offer: Offer) -> list[Asked]:
    """The trials of a row."""
    low = Workload(duration_ns=LOW_DURATION_NS)
    columns = {"scheme": row.scheme, "setting": row.setting, "load_of_echo_cliff": None}
    return [
        *over_loads([row], offer.receiving, cliffs.receiving_pps, offer.workload),
        *over_loads([row], offer.echoing, cliffs.echoing_pps, offer.workload, echo=True),
        *((columns, receiving.spec_of(low, pps, row.tuning, echo=True)) for pps in offer.low_pps),
    ]


def score(row: Row, curves: Iterable[Done]) -> float:
    """The sum of what the application received with a row at the loads compared, in frames/s."""
    return sum(r.application_pps for c, r in curves if c["setting"] == row.setting and c.get("load_of_cliff") in SWEPT)


def receiving_table(title: str, curves: Iterable[Done]) -> Table[ReceivingRow]:
    """What the application receives."""
    return trial_table(title, ReceivingRow, (one for one in curves if "load_of_cliff" in one[0]))


def echoing_table(title: str, curves: Iterable[Done]) -> Table[EchoingRow]:
    """The round trip through the application."""
    return trial_table(title, EchoingRow, (one for one in curves if "load_of_echo_cliff" in one[0]))
