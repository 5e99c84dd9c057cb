# SPDX-License-Identifier: GPL-2.0-or-later
"""Each kernel's cliff first; then every scheme at every load, and the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import cliff
from irqlab.methods.cliff import External
from irqlab.present.columns import Col
from irqlab.reproduce.hybrid import conditions, schemes, softirqs
from irqlab.reproduce.hybrid.conditions import Condition
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.cliffs import ECHOES, RECEIVES, signs_of
from irqlab.reproduce.salah2009.loads import PLAN, QUICK_PLAN, precision_of
from irqlab.reproduce.salah2009.rows import over_loads
from irqlab.reproduce.session import Session, cases, measured
from irqlab.reproduce.table import Table
from irqlab.reproduce.trial_rows import Batch, Done, run, trial_table
from irqlab.runner.jobs import Job
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
    testbeds |= {one.name: session.testbed(kernel=one.kernel, cost_model=True) for one in chosen if one.costs}
    beds = {one.name: testbeds.get(one.name, testbeds[str(one.kernel)]) for one in chosen}
    patched = _patched(session, plan) if session.long and not asked else None
    return Tables(
        cliff=_cliff_table(found | (patched[0] if patched else {})),
        throughput=_throughput(compared),
        latency=trial_table(
            "The round trip below the cliff on each kernel",
            LatencyRow,
            (one for one in compared if "load_of_echo_cliff" in one[0]),
        ),
        conditions=_conditions(session, "One condition at a time", beds, found, chosen, loads, plan),
        softirqs=patched[1] if patched else None,
    )


def _patched(session: Session, plan: Workload) -> tuple[dict[str, Both], Table[ConditionRow]]:
    """The cliff of the patched kernel, and its conditions."""
    chosen = conditions.patched()
    found = _cliffs(session, {softirqs.NAME: softirqs.on_tree(session)}, plan)
    beds = {one.name: softirqs.on_tree(session, one.sysctls) for one in chosen}
    title = f"Linux {softirqs.NAME}: one condition at a time"
    return found, _conditions(session, title, beds, found, chosen, conditions.PATCHED_LOADS, plan)


def _cliffs(session: Session, testbeds: dict[str, Testbed], plan: Workload) -> dict[str, Both]:
    find = partial(
        cliff.external,
        workload=plan,
        tuning=rows.de().tuning,
        precision=precision_of(session.quick),
        names=signs_of(session.quick),
    )
    found = measured(
        session,
        "the cliff",
        cases(kernel=testbeds, echo=(False, True)),
        lambda kernel, echo: Job(f"Linux {kernel}{' echo' if echo else ''}", testbeds[kernel], partial(find, echo=echo)),
    )
    return {kernel: (found.of(kernel=kernel, echo=False), found.of(kernel=kernel, echo=True)) for kernel in testbeds}


def _compared(session: Session, testbeds: dict[str, Testbed], found: dict[str, Both], plan: Workload) -> list[Done]:
    """Every scheme at every load, receiving and echoing, on each kernel."""
    loads, echoing = (QUICK_LOADS, QUICK_ECHOING) if session.quick else (LOADS, ECHOING)
    batches = []
    for kernel, testbed in testbeds.items():
        receives, echoes = (one.cliff_pps for one in found[kernel])
        every = schemes.compared(receives)
        asked = [*over_loads(every, loads, receives, plan), *over_loads(every, echoing, echoes, plan, echo=True)]
        batches.append(Batch(f"Linux {kernel}", testbed, [({"kernel": kernel, **columns}, spec) for columns, spec in asked]))
    return run(session, "schemes", batches)


def _cliff_table(found: dict[str, Both]) -> Table[CliffRow]:
    table = [
        CliffRow(kernel, name, sign, pps, sign == cliff.CHOSEN)
        for kernel, both in found.items()
        for name, one in zip((RECEIVES, ECHOES), both, strict=True)
        for sign, pps in one.signs_pps.items()
    ]
    return Table("The cliff of each kernel, by every sign", CliffRow, tuple(table))


def _throughput(compared: Sequence[Done]) -> Table[ThroughputRow]:
    received = {(c["kernel"], c["scheme"], c["load_of_cliff"]): r for c, r in compared if "load_of_cliff" in c}

    def to_best(kernel: str, load: float, r: ApplicationResult) -> float:
        # In its window an application may receive frames of the warm-up, too.
        others = [received[kernel, name, load].application_pps for name in (schemes.DE, schemes.NAPI)]
        return r.application_pps / min(r.offered_pps, max(others))

    return trial_table(
        "The receiving application on each kernel",
        ThroughputRow,
        (
            ({"kernel": kernel, "scheme": scheme, "load_of_cliff": load, "to_best": to_best(kernel, load, r)}, r)
            for (kernel, scheme, load), r in received.items()
        ),
    )


def _conditions(
    session: Session,
    title: str,
    testbeds: dict[str, Testbed],
    found: dict[str, Both],
    chosen: Sequence[Condition],
    loads: Sequence[float],
    plan: Workload,
) -> Table[ConditionRow]:
    """`testbeds`: by the condition's name; `found`: the cliffs by kernel."""
    batches = []
    for one in chosen:
        cliff_pps = found[str(one.kernel)][0].by(one.sign)
        batches.append(Batch(one.name, testbeds[one.name], conditions.asked(one, cliff_pps, loads, plan)))
    done = run(session, "conditions", batches)
    pps = {(c["condition"], c["scheme"], c["load_of_cliff"]): r.application_pps for c, r in done}
    off = [pps.get((conditions.BASE.name, *key), own) for (_, *key), own in pps.items()]
    return trial_table(title, ConditionRow, (({**c, "off_pps": one}, r) for (c, r), one in zip(done, off, strict=True)))
