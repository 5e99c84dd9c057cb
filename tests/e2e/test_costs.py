# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost model in a DUT: what is charged is what was asked for, and nothing is when nothing was."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from irqlab.bed import Bed, BedConfig
from irqlab.costs import Costs
from irqlab.dut import DutConfig
from irqlab.errors import IrqlabError
from irqlab.schemes import combine
from irqlab.trial import Load, TrialResult, TrialSpec
from tests.e2e.conftest import Cli

NS_PER_INSTRUCTION = 4
# Without TX interrupts a frame is one burst of work: charges delay nothing into, or out of, an idle DUT.
VARIANT = "NAPI-TX-OFF"


@cache
def _bed(cost_model: bool) -> Bed:
    dut = DutConfig(schemes=combine([VARIANT], None, None)[0])
    return Bed.resolve(BedConfig("irqmod_i8255x", dut=dut, cost_model=cost_model))


def _trial(costs: Costs | None, cost_model: bool = True) -> TrialResult:
    spec = TrialSpec(loads=(Load(5_000.0, size=256),), duration_ns=60_000_000, warmup_ns=0, drain_ns=20_000_000, costs=costs)
    return _bed(cost_model).run(spec)


@pytest.mark.parametrize(("term", "cost_ns"), [("irq", 10_000.0), ("byte", 50.0), ("byte", 8.254), ("softirq", 3_000.0)])
def test_a_charge_is_what_was_asked_for(term: str, cost_ns: float) -> None:
    bare, charged = _trial(None), _trial(Costs(**{term: cost_ns}))
    assert charged.total("lost") == 0
    assert charged.cost_events is not None
    assert charged.cost_events[term] > 0
    spent_ns = (charged.instructions - bare.instructions) * NS_PER_INSTRUCTION
    assert spent_ns == pytest.approx(charged.cost_events[term] * cost_ns, rel=0.01)


def test_events_are_the_interrupts_and_bytes_there_were() -> None:
    charged = _trial(Costs(irq=10_000, byte=10))
    assert charged.cost_events is not None
    assert charged.cost_events["irq"] == sum(charged.counters.interrupts.values())
    assert charged.cost_events["byte"] == charged.frames_forwarded * 2 * (256 - 4)


def test_no_costs_no_difference() -> None:
    without, idle = _trial(None, cost_model=False), _trial(None)
    assert idle.instructions == pytest.approx(without.instructions, rel=0.0005)
    assert _trial(Costs()).instructions == idle.instructions
    with pytest.raises(IrqlabError, match="no cost model"):
        _trial(Costs(irq=1), cost_model=False)


def test_costs_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    options = ["--driver", "irqmod_i8255x", "--variant", VARIANT, "--rate", "5000", "--duration", "0.02"]
    done = cli("profile", *options, "--cost", "irq=10000", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    trial = json.loads((tmp_path / "a.json").read_text())["measured"]["results"][0]["trials"][0]
    assert trial["spec"]["costs"] == {"irq": 10000}
    assert trial["cost_events"]["irq"] > 0
    wrong = cli("throughput", "--driver", "irqmod_i8255x", "--cost", "cache=3")
    assert wrong.returncode == 2
    assert "irq, byte, netif_rx" in wrong.stderr
    assert not wrong.stdout
