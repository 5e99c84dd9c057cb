# SPDX-License-Identifier: GPL-2.0-or-later
"""The cliff, from outside and from inside (section 4.2)."""

from __future__ import annotations

from irqlab.config.workload import Workload
from irqlab.methods import cliff
from irqlab.methods.cliff import External, Internal
from irqlab.reproduce.paper import Data
from irqlab.reproduce.salah2009.loads import Cliffs
from irqlab.reproduce.salah2009.rows import Row
from irqlab.runner.runner import TrialRunner

Found = tuple[External, External, Internal]
"""Receiving, echoing, and the receiving one from inside."""


def find(runner: TrialRunner, row: Row, workload: Workload) -> Found:
    """Both ways, with disable-enable: the cliff is where hybrid is to leave it."""
    receiving = cliff.external(runner, workload, row.tuning)
    echoing = cliff.external(runner, workload, row.tuning, echo=True)
    return receiving, echoing, cliff.internal(runner, workload, row.tuning, cliff.PROFILED_LOAD * receiving.cliff_pps)


def cliffs_of(found: Found) -> Cliffs:
    """The chosen ones."""
    return Cliffs(found[0].cliff_pps, found[1].cliff_pps)


def table(found: Found) -> Data:
    """One row per sign and application, and the closed form."""
    data = Data("The cliff, by every sign and from inside", ("application", "found", "cliff_pps", "chosen", "to_chosen"))
    receiving, echoing, internal = found
    for name, one in (("receives", receiving), ("echoes", echoing)):
        for sign, pps in one.signs_pps.items():
            chosen = sign == cliff.CHOSEN
            data.add(application=name, found=sign, cliff_pps=pps, chosen=chosen, to_chosen=pps / one.cliff_pps if pps else None)
    data.add(
        application="receives", found="internal", cliff_pps=internal.cliff_pps, chosen=False,
        to_chosen=internal.cliff_pps / receiving.cliff_pps,
    )  # fmt: skip
    return data


def internal_table(found: Found) -> Data:
    """What the closed form is fed with, and the sum of it all: what the CPU can bear if every packet costs as much."""
    data = Data(
        "Costs of a packet, from the profiler (ns)",
        ("rate_pps", "interrupt_ns", "kernel_ns", "application_ns", "interrupts_per_packet", "closed_form_pps", "external_pps"),
    )
    receiving, _, i = found
    data.add(
        rate_pps=i.rate_pps, interrupt_ns=i.interrupt_ns, kernel_ns=i.kernel_ns, application_ns=i.application_ns,
        interrupts_per_packet=i.interrupts_per_packet, closed_form_pps=i.cliff_pps, external_pps=receiving.cliff_pps,
    )  # fmt: skip
    return data


def curve_table(found: Found) -> Data:
    """The sweep in which the signs were looked for."""
    data = Data(
        "The sweep for the cliff",
        ("application", "offered_pps", "application_pps", "loss_ratio", "cpu_used", "p99_ns"),
    )
    for name, one in (("receives", found[0]), ("echoes", found[1])):
        for t in one.curve:
            p99 = t.latency["p99_ns"] if t.latency and t.latency["count"] else None
            data.add(
                application=name, offered_pps=t.offered_pps, application_pps=t.application_pps, loss_ratio=t.loss_ratio,
                cpu_used=t.cpu_used, p99_ns=p99,
            )  # fmt: skip
    return data
