# SPDX-License-Identifier: GPL-2.0-or-later
"""drivers/costmodel from the lab's side: sets what the DUT pays per event, and reads how often it paid (docs/cost-model.md)."""

from __future__ import annotations

from irqlab.config.costs import TERMS, Costs
from irqlab.dut.agent import Agent
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError

MODULE = "irqlab_costmodel"
_HOME = f"/sys/module/{MODULE}/parameters"


def charge(dut: Agent, costs: Costs, count: bool = False) -> None:
    """Sets what a DUT pays from now on; its module must be loaded. `count`: count all events, those that cost nothing too."""
    try:
        for term in TERMS:
            dut.write(f"{_HOME}/{term}_ps", str(round(getattr(costs, term) * 1000)))
        dut.write(f"{_HOME}/count", str(int(count)))
    except TesterError as error:
        raise IrqlabError(f"the cost model does not take {costs}: {error}") from error


def events(dut: Agent) -> dict[str, int]:
    """What was charged for since the module was loaded, by term; `byte` counts bytes. Empty without the module."""
    text = dut.read(f"{_HOME}/events")[f"{_HOME}/events"] or ""
    return {name: int(number) for name, number in (line.split() for line in text.splitlines())}
