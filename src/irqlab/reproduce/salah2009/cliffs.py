# SPDX-License-Identifier: GPL-2.0-or-later
"""The cliff, from outside and from inside (section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from irqlab.methods import cliff
from irqlab.methods.cliff import External, Internal
from irqlab.present.columns import Col
from irqlab.reproduce.salah2009 import loads
from irqlab.reproduce.salah2009.loads import Cliffs
from irqlab.reproduce.salah2009.rows import Row
from irqlab.reproduce.table import Table, row_of
from irqlab.reproduce.trial_rows import trial_table
from irqlab.runner.runner import TrialRunner

Found = tuple[External, External, Internal]
"""Receiving, echoing, and the receiving one from inside."""
RECEIVES, ECHOES = "receives", "echoes"
INTERNAL = "internal"


@dataclass(frozen=True)
class CliffRow:
    """The cliff by one sign, or by the closed form."""

    application: Annotated[str, Col("Application")]
    found: Annotated[str, Col("Found by")]
    cliff_pps: Annotated[float | None, Col("Cliff", "frames/s")]
    """None: the sign was not seen."""
    chosen: Annotated[bool, Col("Chosen")]
    to_chosen: Annotated[float | None, Col("By the chosen one")]


@dataclass(frozen=True)
class CostRow:
    """What the closed form is fed with."""

    rate_pps: Annotated[float, Col("Profiled at", "frames/s")]
    interrupt_ns: Annotated[float, Col("Interrupt", "ns")]
    kernel_ns: Annotated[float, Col("Kernel", "ns")]
    application_ns: Annotated[float, Col("Application", "ns")]
    interrupts_per_packet: Annotated[float, Col("Interrupts a packet")]
    closed_form_pps: Annotated[float, Col("Closed form", "frames/s")]
    external_pps: Annotated[float, Col("From outside", "frames/s")]


@dataclass(frozen=True)
class SweepRow:
    """A load of the sweep in which the signs were looked for."""

    application: Annotated[str, Col("Application")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    application_pps: Annotated[float, Col("Received", "frames/s")]
    loss_ratio: Annotated[float, Col("Lost", "share")]
    cpu_used: Annotated[float, Col("CPU used", "share")]
    p99_ns: Annotated[int | None, Col("p99", "ns")]


def find(runner: TrialRunner, row: Row, quick: bool) -> Found:
    """Both ways, with disable-enable: hybrid leaves it at the cliff. A quick look has one sign for the echo, the chosen one."""
    workload, precision = loads.plan_of(quick), loads.precision_of(quick)
    receiving = cliff.external(runner, workload, row.tuning, precision=precision)
    names = signs_of(quick)
    echoing = cliff.external(runner, workload, row.tuning, echo=True, precision=precision, names=names)
    rate_pps = cliff.PROFILED_LOAD * receiving.cliff_pps
    return receiving, echoing, cliff.internal(runner, loads.profiled_of(quick), row.tuning, rate_pps)


def signs_of(quick: bool) -> tuple[str, ...]:
    """The signs by which the cliff is looked for that nothing is said of but where it is."""
    return (cliff.CHOSEN,) if quick else tuple(cliff.SIGNS)


def cliffs_of(found: Found) -> Cliffs:
    """The chosen ones."""
    return Cliffs(found[0].cliff_pps, found[1].cliff_pps)


def table(found: Found) -> Table[CliffRow]:
    """One row per sign and application, and the closed form."""
    receiving, echoing, internal = found
    rows = [
        CliffRow(name, sign, pps, sign == cliff.CHOSEN, pps / one.cliff_pps if pps else None)
        for name, one in ((RECEIVES, receiving), (ECHOES, echoing))
        for sign, pps in one.signs_pps.items()
    ]
    inside = CliffRow(RECEIVES, INTERNAL, internal.cliff_pps, False, internal.cliff_pps / receiving.cliff_pps)
    return Table("The cliff, by every sign and from inside", CliffRow, (*rows, inside))


def internal_table(found: Found) -> Table[CostRow]:
    """Costs of a packet, and the cliff if every packet costs as much."""
    receiving, _, inside = found
    row = row_of(CostRow, inside, closed_form_pps=inside.cliff_pps, external_pps=receiving.cliff_pps)
    return Table("Costs of a packet, from the profiler (ns)", CostRow, (row,))


def curve_table(found: Found) -> Table[SweepRow]:
    """The sweep."""
    curves = ((RECEIVES, found[0].curve), (ECHOES, found[1].curve))
    return trial_table("The sweep for the cliff", SweepRow, (({"application": name}, r) for name, curve in curves for r in curve))
