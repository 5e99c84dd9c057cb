# SPDX-License-Identifier: GPL-2.0-or-later
"""Controls drivers/costmodel in the DUT: sets the cost per event, and reads event counts (docs/use/costs.md)."""

from __future__ import annotations

from irqlab.config.costs import TERMS, Costs
from irqlab.dut.agent import Agent
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError

MODULE = "irqlab_costmodel"
_HOME = f"/sys/module/{MODULE}/parameters"


def charge(dut: Agent, costs: Costs, count: bool = False) -> None:
    """Sets the costs to charge; the module must be loaded. `count`: count all events, even those that cost nothing."""
    try:
        for term in TERMS:
            dut.write(f"{_HOME}/{term}_ps", str(round(getattr(costs, term) * 1000)))
        dut.write(f"{_HOME}/count", str(int(count)))
    except TesterError as error:
        raise IrqlabError(f"the cost model rejected {costs}: {error}") from error


def events(dut: Agent) -> dict[str, int]:
    """Events charged since the module was loaded, by term; `byte` counts bytes. Empty without the module."""
    text = dut.read(f"{_HOME}/events")[f"{_HOME}/events"] or ""
    return {name: int(number) for name, number in (line.split() for line in text.splitlines())}
