# SPDX-License-Identifier: GPL-2.0-or-later
"""Each kernel's cliff first; then every scheme at every load, and the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import cliff, receiving
from irqlab.methods.cliff import External
from irqlab.present.columns import Col
from irqlab.reproduce.hybrid import conditions, schemes, softirqs
from irqlab.reproduce.hybrid.conditions import Condition, Found
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.cliffs import ECHOES, RECEIVES, signs_of
from irqlab.reproduce.salah2009.loads import PLAN, QUICK_PLAN, Cliffs, precision_of
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import trial_row
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult
from irqlab.trials.testbed import Testbed

KERNELS = ("6.1", "6.12", "7.3")
QUICK_KERNELS = ("6.1", "6.12")
LOADS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Of the cliff."""
QUICK_LOADS = (0.5, 1.0, 2.0, 4.0)
ECHOING = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Of the echo's cliff: below it."""
QUICK_ECHOING = (0.5, 0.9)

Both = tuple[External, External]
"""Receiving, echoing."""
Compared = dict[tuple[str, float, bool], ApplicationResult]
"""By scheme, load, and whether the application echoes."""


@dataclass(frozen=True)
class CliffRow:
    """The cliff of a kernel by one sign, with disable-enable."""

    kernel: Annotated[str, Col("Linux")]
    application: Annotated[str, Col("Application")]
    found: Annotated[str, Col("Found by")]
    cliff_pps: Annotated[float | None, Col("Cliff", "frames/s")]
    """None: the sign was not seen."""
    chosen: Annotated[bool, Col("Chosen")]


@dataclass(frozen=True)
class ThroughputRow:
    """What the application receives under a scheme. What is lost is a share of the frames sent."""

    kernel: Annotated[str, Col("Linux")]
    scheme: Annotated[str, Col("Scheme")]
    load_of_cliff: Annotated[float, Col("Load", "of the cliff")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    to_best: Annotated[float, Col("to the best", title="of what is offered, and of what DE and NAPI (300) receive")]
    lost_nic: Annotated[float, Col("Lost by the NIC")]
    lost_socket: Annotated[float, Col("socket")]
    interrupts_per_s: Annotated[float, Col("Interrupts a second")]
    cpu_available: Annotated[float, Col("CPU left", "share")]
    ksoftirqd_share: Annotated[float, Col("ksoftirqd runs", "share")]


@dataclass(frozen=True)
class LatencyRow:
    """The round trip through an application that echoes, below its cliff."""

    kernel: Annotated[str, Col("Linux")]
    scheme: Annotated[str, Col("Scheme")]
    load_of_echo_cliff: Annotated[float, Col("Load", "of the echo's cliff")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    p50_ns: Annotated[int | None, Col("p50", "ns")]
    p99_ns: Annotated[int | None, Col("p99", "ns")]


@dataclass(frozen=True)
class ConditionRow:
    """A scheme at a load under a condition."""

    condition: Annotated[str, Col("Condition")]
    options: Annotated[str, Col("Options")]
    kernel: Annotated[str, Col("Linux")]
    scheme: Annotated[str, Col("Scheme")]
    load_of_cliff: Annotated[float, Col("Load", "of the cliff")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    off_pps: Annotated[float, Col("without the condition", "frames/s")]
    interrupts_per_s: Annotated[float, Col("Interrupts a second")]
    ksoftirqd_share: Annotated[float, Col("ksoftirqd runs", "share")]


@dataclass(frozen=True)
class Tables:
    """Kernels, and conditions."""

    cliff: Table[CliffRow]
    throughput: Table[ThroughputRow]
    latency: Table[LatencyRow]
    conditions: Table[ConditionRow]
    softirqs: Table[ConditionRow] | None = None
    """Of the kernel with the paper's softirqs; None: not asked for (--long)."""

    @property
    def kernels(self) -> tuple[str, ...]:
        """Those compared, in their order."""
        return tuple(self.throughput.by(lambda r: r.kernel))


def measure(session: Session) -> Tables:
    """Every table. With --kernel, that kernel alone. Raises IrqlabError for a driver without receive schemes."""
    plan = QUICK_PLAN if session.quick else PLAN
    asked = session.config.kernel
    kernels = (asked,) if asked else QUICK_KERNELS if session.quick else KERNELS
    chosen = conditions.conditions(asked, session.quick)
    needed = dict.fromkeys((*kernels, *(str(one.kernel) for one in chosen)))
    testbeds = {kernel: session.testbed(kernel=kernel) for kernel in needed}
    for testbed in testbeds.values():
        if testbed.scheme_names()["rx_scheme"] is None:
            raise IrqlabError(f"{testbed.driver} has no receive scheme that can be set: try irqmod_rtl8139cp")
    found = _cliffs(session, testbeds, plan)
    compared = _compared(session, {kernel: testbeds[kernel] for kernel in kernels}, found, plan)
    loads = conditions.QUICK_LOADS if session.quick else conditions.LOADS
    under = _conditions(session, _under(session, testbeds, chosen), found, chosen, loads, plan)
    patched = _patched(session, plan) if session.long and not asked else None
    return Tables(
        cliff=_cliff_table(found | (patched[0] if patched else {})),
        throughput=_throughput(compared),
        latency=_latency(compared),
        conditions=_condition_table("One condition at a time", chosen, under),
        softirqs=patched[1] if patched else None,
    )


def _under(session: Session, testbeds: dict[str, Testbed], chosen: Sequence[Condition]) -> dict[str, Testbed]:
    """The testbed of each condition, by its name."""
    return {
        one.name: session.testbed(kernel=one.kernel, cost_model=True) if one.costs else testbeds[str(one.kernel)]
        for one in chosen
    }


def _patched(session: Session, plan: Workload) -> tuple[dict[str, Both], Table[ConditionRow]]:
    """The cliff of the patched kernel, and its conditions."""
    chosen = conditions.patched()
    found = _cliffs(session, {softirqs.NAME: softirqs.on_tree(session)}, plan)
    testbeds = {one.name: softirqs.on_tree(session, one.sysctls) for one in chosen}
    under = _conditions(session, testbeds, found, chosen, conditions.PATCHED_LOADS, plan)
    return found, _condition_table(f"Linux {softirqs.NAME}: one condition at a time", chosen, under)


def _cliffs(session: Session, testbeds: dict[str, Testbed], plan: Workload) -> dict[str, Both]:
    find = partial(
        cliff.external,
        workload=plan,
        tuning=rows.de().tuning,
        precision=precision_of(session.quick),
        names=signs_of(session.quick),
    )
    jobs = {
        (kernel, echo): Job(f"Linux {kernel}{' echo' if echo else ''}", testbed, partial(find, echo=echo))
        for kernel, testbed in testbeds.items()
        for echo in (False, True)
    }
    found = session.all("the cliff", jobs)
    return {kernel: (found[kernel, False], found[kernel, True]) for kernel in testbeds}


def _compared(session: Session, testbeds: dict[str, Testbed], found: dict[str, Both], plan: Workload) -> dict[str, Compared]:
    jobs = {
        kernel: Job(
            f"Linux {kernel}",
            testbed,
            partial(compare, at=Cliffs(*(one.cliff_pps for one in found[kernel])), quick=session.quick, workload=plan),
        )
        for kernel, testbed in testbeds.items()
    }
    return session.all("schemes", jobs)


def compare(runner: TrialRunner, at: Cliffs, quick: bool, workload: Workload) -> Compared:
    """Every scheme at every load, receiving and echoing."""
    receives, echoes = at.receiving_pps, at.echoing_pps
    keys = [
        *((row, load, False) for row in schemes.compared(receives) for load in (QUICK_LOADS if quick else LOADS)),
        *((row, load, True) for row in schemes.compared(receives) for load in (QUICK_ECHOING if quick else ECHOING)),
    ]
    specs = [receiving.spec_of(workload, load * (echoes if echo else receives), row.tuning, echo) for row, load, echo in keys]
    found = receiving.trials(runner, specs)
    return {(row.name, load, echo): result for (row, load, echo), result in zip(keys, found, strict=True)}


def _conditions(
    session: Session,
    testbeds: dict[str, Testbed],
    found: dict[str, Both],
    chosen: Sequence[Condition],
    loads: Sequence[float],
    plan: Workload,
) -> dict[str, Found]:
    """`testbeds`: by the condition's name; `found`: the cliffs by kernel."""
    jobs = {}
    for condition in chosen:
        work = partial(
            conditions.measure,
            condition=condition,
            cliff_pps=found[str(condition.kernel)][0].by(condition.sign),
            loads=loads,
            workload=plan,
        )
        jobs[condition.name] = Job(condition.name, testbeds[condition.name], work)
    return session.all("conditions", jobs)


def _cliff_table(found: dict[str, Both]) -> Table[CliffRow]:
    table = [
        CliffRow(kernel, name, sign, pps, sign == cliff.CHOSEN)
        for kernel, both in found.items()
        for name, one in zip((RECEIVES, ECHOES), both, strict=True)
        for sign, pps in one.signs_pps.items()
    ]
    return Table("The cliff of each kernel, by every sign", CliffRow, tuple(table))


def _throughput(compared: dict[str, Compared]) -> Table[ThroughputRow]:
    table = []
    for kernel, every in compared.items():
        for (scheme, load, echo), r in every.items():
            if echo:
                continue
            others = [every[name, load, False].application_pps for name in (schemes.DE, schemes.NAPI)]
            row = trial_row(
                ThroughputRow,
                r,
                kernel=kernel,
                scheme=scheme,
                load_of_cliff=load,
                # In its window an application may receive frames of the warm-up, too.
                to_best=r.application_pps / min(r.offered_pps, max(others)),
            )
            table.append(row)
    return Table("The receiving application on each kernel", ThroughputRow, tuple(table))


def _latency(compared: dict[str, Compared]) -> Table[LatencyRow]:
    table = [
        trial_row(LatencyRow, r, kernel=kernel, scheme=scheme, load_of_echo_cliff=load)
        for kernel, every in compared.items()
        for (scheme, load, echo), r in every.items()
        if echo
    ]
    return Table("The round trip below the cliff on each kernel", LatencyRow, tuple(table))


def _condition_table(title: str, chosen: Sequence[Condition], under: dict[str, Found]) -> Table[ConditionRow]:
    table = []
    for condition in chosen:
        for (scheme, load), r in under[condition.name].items():
            off = under.get(conditions.BASE.name, under[condition.name])[scheme, load]
            row = trial_row(
                ConditionRow,
                r,
                condition=condition.name,
                options=condition.options,
                kernel=str(condition.kernel),
                scheme=scheme,
                load_of_cliff=load,
                off_pps=off.application_pps,
            )
            table.append(row)
    return Table(title, ConditionRow, tuple(table))
