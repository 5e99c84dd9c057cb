# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost model in a DUT: charges are exact, and nothing is charged without costs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from irqlab.config.costs import Costs
from irqlab.config.schemes import combine
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import Load
from irqlab.errors import IrqlabError
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import Cli, Refused

NS_PER_INSTRUCTION = 4


@cache
def _testbed(variant: str, cost_model: bool = True) -> Testbed:
    dut = DutConfig(schemes=combine([variant], None, None)[0])
    return Testbed.resolve(TestbedConfig("irqmod_i8255x", dut=dut, cost_model=cost_model))


def _trial(variant: str, costs: Costs | None, rate_pps: float = 5_000.0, cost_model: bool = True) -> ForwardingResult:
    load = Load(rate_pps, size=64)
    # Long enough that a tick of the kernel's more or less, which depends on where the snapshot fell, is no matter.
    spec = ForwardingTrial(loads=(load,), duration_ns=240_000_000, warmup_ns=0, drain_ns=20_000_000, costs=costs)
    return _testbed(variant, cost_model).run(spec)


def _difference_ns(one: ForwardingResult, other: ForwardingResult) -> int:
    return (other.instructions - one.instructions) * NS_PER_INSTRUCTION


def test_interrupts_cost_what_was_asked_for() -> None:
    bare, charged = _trial("ORIGINAL", None), _trial("ORIGINAL", Costs(irq=10_000))
    assert charged.cost_events is not None
    assert charged.cost_events["irq"] == sum(charged.counters.interrupts.values()) == pytest.approx(2400, abs=2)
    assert _difference_ns(bare, charged) == pytest.approx(charged.cost_events["irq"] * 10_000, rel=0.01)


@pytest.mark.parametrize(
    ("term", "low_ns", "high_ns"), [("byte", 16.5, 29.004), ("netif_rx", 3_000, 5_500), ("free_irq", 4e3, 7e3)]
)
def test_the_difference_between_two_costs_is_exact(term: str, low_ns: float, high_ns: float) -> None:
    low, high = (_trial("ORIGINAL", Costs(**{term: cost_ns})) for cost_ns in (low_ns, high_ns))
    assert low.cost_events is not None
    assert low.cost_events == high.cost_events
    wanted_ns = low.cost_events[term] * (high_ns - low_ns)
    assert _difference_ns(low, high) == pytest.approx(wanted_ns, rel=0.01)


def test_bytes_cost_what_was_asked_for_in_overload() -> None:
    """Without idle time, each frame takes longer by exactly the cost."""
    bare, charged = (_trial("NAPI-TX-OFF", costs, 140_000.0) for costs in (None, Costs(byte=100)))
    assert charged.cost_events is not None
    assert charged.cost_events["byte"] == charged.frames_forwarded * 2 * (64 - 4)
    longer_ns = 1e9 / charged.forwarded_pps - 1e9 / bare.forwarded_pps
    # Beside the bytes: fewer frames share each tick of the kernel's.
    assert longer_ns == pytest.approx(2 * (64 - 4) * 100, rel=0.02)


def test_a_frame_dropped_in_an_interrupt_is_not_charged_as_deferred() -> None:
    """In livelock the backlog is full, and interrupts that hit NET_TX drop frames there: these are freed at once."""
    overload = _trial("ORIGINAL", Costs(free_irq=1), 300_000.0)
    assert overload.cost_events is not None
    # Each frame that was transmitted is freed by NET_TX, once; some were forwarded after the measurement.
    assert overload.cost_events["free_irq"] == overload.counters.interfaces["eth1"]["tx_packets"]
    assert overload.counters.backlog_drops > 0


def test_a_cost_model_without_costs_changes_nothing() -> None:
    without, idle = _trial("ORIGINAL", None, cost_model=False), _trial("ORIGINAL", None)
    # Another snapshot is another moment: what idle paths execute differs a little.
    assert idle.instructions == pytest.approx(without.instructions, rel=0.01)
    assert _trial("ORIGINAL", Costs()).instructions == pytest.approx(idle.instructions, rel=0.01)
    with pytest.raises(IrqlabError, match="need a testbed with a cost model"):
        _trial("ORIGINAL", Costs(irq=1), cost_model=False)


def test_costs_on_the_command_line(cli: Cli, refused: Refused, tmp_path: Path) -> None:
    options = ["--driver", "irqmod_i8255x", "--variant", "ORIGINAL", "--rate", "5000", "--duration", "0.02"]
    done = cli("profile", *options, "--cost", "irq=10000", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    trial = json.loads((tmp_path / "a.json").read_text())["measured"]["results"][0]["trials"][0]
    assert trial["spec"]["costs"] == {"irq": 10000}
    assert trial["cost_events"]["irq"] > 0
    assert "irq, byte, netif_rx" in refused("throughput", "--driver", "irqmod_i8255x", "--cost", "cache=3")
