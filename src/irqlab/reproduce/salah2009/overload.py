# SPDX-License-Identifier: GPL-2.0-or-later
"""Why: where the instructions go under overload, and what starves over seconds."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.config.workload import Workload
from irqlab.methods import receiving
from irqlab.methods.profile import symbols
from irqlab.profile import tree
from irqlab.profile.addresses import addresses
from irqlab.reproduce.paper import Data
from irqlab.reproduce.salah2009.rows import Row
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult

LOADS = (2.0, 4.0)
"""Of the cliff."""
LONG_LOAD = 4.0
LONG, QUICK_LONG = Workload(duration_ns=2_100_000_000), Workload(duration_ns=1_100_000_000)
"""Disable-enable rests a tick every quarter of a second: several rests."""

Shares = dict[str, float]
"""Of the window's instructions: hardirq, softirq, the kernel in processes, user space."""


def profile(runner: TrialRunner, row: Row, load: float, cliff_pps: float, workload: Workload) -> tuple[ApplicationResult, Shares]:
    """A row at a load."""
    known = symbols(runner.testbed)
    result, answer = runner.profile(receiving.spec_of(workload, load * cliff_pps, row.tuning), addresses(known))
    points = tree.section(answer, known, [module.name for module in runner.testbed.modules])["samples"]
    by_context = tree.totals(points, "context")
    user = sum(p["instructions"] for p in points if p["owner"] == "user space")
    whole = sum(by_context.values())
    parts = {
        "hardirq": by_context.get("hardirq", 0),
        "softirq": by_context.get("softirq", 0),
        "process_kernel": by_context.get("process", 0) + by_context.get("idle", 0) - user,
        "user": user,
    }
    return result, {name: count / whole for name, count in parts.items()}


def profile_table(found: Sequence[tuple[float, Row, tuple[ApplicationResult, Shares]]]) -> Data:
    """Where the CPU's instructions go."""
    data = Data(
        "Under overload: where the instructions go",
        (
            "load_of_cliff",
            "scheme",
            "offered_pps",
            "taken_pps",
            "application_pps",
            "hardirq",
            "softirq",
            "process_kernel",
            "user",
            "ksoftirqd_share",
        ),
    )
    for load, row, (r, shares) in found:
        taken = (r.places.sent - r.places.nic) / r.spec.loaded_s
        data.add(
            load_of_cliff=load, scheme=row.name, offered_pps=r.offered_pps, taken_pps=taken, application_pps=r.application_pps,
            ksoftirqd_share=r.ksoftirqd_share, **shares,
        )  # fmt: skip
    return data


def long(runner: TrialRunner, row: Row, cliff_pps: float, quick: bool) -> ApplicationResult:
    """A row at LONG_LOAD for seconds."""
    return runner.trial(receiving.spec_of(QUICK_LONG if quick else LONG, LONG_LOAD * cliff_pps, row.tuning))


def starvation_table(found: Sequence[tuple[Row, ApplicationResult]]) -> Data:
    """Over seconds."""
    data = Data(
        f"At {LONG_LOAD:g} times the cliff over seconds",
        (
            "scheme",
            "window_s",
            "offered_pps",
            "application_pps",
            "share_received",
            "lost_nic",
            "lost_socket",
            "interrupts_per_s",
            "switches",
        ),
    )
    for row, r in found:
        sent = max(1, r.places.sent)
        data.add(
            scheme=row.name, window_s=r.spec.duration_ns / 1e9, offered_pps=r.offered_pps, application_pps=r.application_pps,
            share_received=r.application_pps / r.offered_pps, lost_nic=r.places.nic / sent, lost_socket=r.places.socket / sent,
            interrupts_per_s=r.interrupts_per_s, switches=r.switches,
        )  # fmt: skip
    return data
