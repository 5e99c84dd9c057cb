# SPDX-License-Identifier: GPL-2.0-or-later
"""Why: where the instructions go under overload, and what starves over seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from irqlab.config.workload import Workload
from irqlab.methods import receiving
from irqlab.present.columns import Col
from irqlab.profile import tree
from irqlab.profile.addresses import addresses
from irqlab.profile.kallsyms import symbols
from irqlab.reproduce.salah2009.loads import profiled_of
from irqlab.reproduce.salah2009.rows import Row, over_loads
from irqlab.reproduce.session import Session, cases, measured
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import Batch, run, trial_table
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult
from irqlab.trials.testbed import Testbed

LOADS, QUICK_LOADS = (2.0, 4.0), (4.0,)
"""Of the cliff. A profile takes several times as long as a trial."""
LONG_LOAD = 4.0
LONG, QUICK_LONG = Workload(duration_ns=2_100_000_000), Workload(duration_ns=300_000_000)
"""Disable-enable rests a tick every quarter of a second: several rests."""


@dataclass(frozen=True)
class Shares:
    """Of the window's instructions."""

    hardirq: float
    softirq: float
    process_kernel: float
    user: float


@dataclass(frozen=True)
class OverloadRow:
    """Where the CPU's instructions go at a load, as shares of the window's."""

    load_of_cliff: Annotated[float, Col("Load", "of the cliff")]
    scheme: Annotated[str, Col("Scheme")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    taken_pps: Annotated[float, Col("Taken off the ring", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    hardirq: Annotated[float, Col("Interrupts")]
    softirq: Annotated[float, Col("Softirqs")]
    process_kernel: Annotated[float, Col("Processes, kernel")]
    user: Annotated[float, Col("User space")]
    ksoftirqd_share: Annotated[float, Col("ksoftirqd runs", "share")]


@dataclass(frozen=True)
class StarvationRow:
    """What is left of an application over seconds of overload. What is lost is a share of the frames sent."""

    scheme: Annotated[str, Col("Scheme")]
    window_s: Annotated[float, Col("Window", "s")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    share_received: Annotated[float, Col("Received", "share")]
    lost_nic: Annotated[float, Col("Lost by the NIC")]
    lost_socket: Annotated[float, Col("socket")]
    interrupts_per_s: Annotated[float, Col("Interrupts a second")]
    switches: Annotated[int | None, Col("Switches")]


def profile(runner: TrialRunner, row: Row, load: float, cliff_pps: float, workload: Workload) -> tuple[ApplicationResult, Shares]:
    """A row at a load."""
    known = symbols(runner.bench.lab())
    result, answer = runner.profile(receiving.spec_of(workload, load * cliff_pps, row.tuning), addresses(known))
    points = tree.section(answer, known, [module.name for module in runner.bench.lab().modules])["samples"]
    by_context = tree.totals(points, "context")
    user = sum(p["instructions"] for p in points if p["owner"] == "user space")
    whole = sum(by_context.values())
    process = by_context.get("process", 0) + by_context.get("idle", 0) - user
    parts = (by_context.get("hardirq", 0), by_context.get("softirq", 0), process, user)
    return result, Shares(*(count / whole for count in parts))


def profiles(session: Session, testbed: Testbed, chosen: Sequence[Row], cliff_pps: float) -> Table[OverloadRow]:
    """Where the CPU's instructions go."""
    by = {row.scheme: row for row in chosen}
    work = partial(profile, cliff_pps=cliff_pps, workload=profiled_of(session.quick))
    found = measured(
        session,
        "profiles",
        cases(load_of_cliff=QUICK_LOADS if session.quick else LOADS, scheme=by),
        lambda load_of_cliff, scheme: Job(
            f"{scheme} at {load_of_cliff:g}x", testbed, partial(work, row=by[scheme], load=load_of_cliff)
        ),
    )
    title = "Under overload: where the instructions go"
    return trial_table(title, OverloadRow, (({**case, **vars(shares)}, r) for case, (r, shares) in found))


def starvation(session: Session, testbed: Testbed, chosen: Sequence[Row], cliff_pps: float) -> Table[StarvationRow]:
    """Every row at LONG_LOAD, over seconds."""
    workload = QUICK_LONG if session.quick else LONG
    batches = [Batch(row.name, testbed, over_loads([row], (LONG_LOAD,), cliff_pps, workload)) for row in chosen]
    return trial_table(
        f"At {LONG_LOAD:g} times the cliff over seconds",
        StarvationRow,
        run(session, "seconds of overload", batches),
        lambda r: {"window_s": r.spec.duration_ns / 1e9, "share_received": r.application_pps / r.offered_pps},
    )
