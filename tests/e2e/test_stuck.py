# SPDX-License-Identifier: GPL-2.0-or-later
"""A driver in an endless loop is found within half a minute; one that is merely overloaded is not taken for one."""

from __future__ import annotations

import re

import pytest

from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import Load
from irqlab.qemu import watchdog
from irqlab.qemu.watchdog import Watchdog
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import BadModules, Cli

WITHIN_S = 30


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("SPINS", marks=pytest.mark.long),
        "SPINS_WITH_PAUSE",  # in which virtual time hardly passes: no limit of virtual time is of use
        pytest.param("SPINS_WITHOUT_INTERRUPTS", marks=pytest.mark.long),
    ],
)
def test_an_endless_loop_in_start_xmit(cli: Cli, bad_modules: BadModules, what: str) -> None:
    module = bad_modules.build(what, "spin.c")
    done = cli("throughput", "--driver", str(module), timeout_s=590)  # the kernel may have to be booted first
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    waited = re.search(r"the DUT hangs: no answer for (\d+) s of real time, and the kernel is in an endless loop", done.stderr)
    assert waited is not None, done.stderr
    assert int(waited[1]) <= WITHIN_S
    assert re.search(
        rf"its kernel is in spin_start_xmit\+\S+ \[{what.lower()}\], called from:\n +dev_hard_start_xmit", done.stderr
    )
    last = done.stderr.partition("last lines of the kernel log:")[2]
    assert "transmits 3 frames" in last


LOADS = [
    (Schemes(rx="interrupt", tx="interrupt"), 20.0),
    (Schemes(rx="hybrid", tx="off"), 10.0),
    (Schemes(rx="de", tx="interrupt"), 10.0),
]


def _overload(monkeypatch: pytest.MonkeyPatch, schemes: Schemes, duration_s: float) -> int:
    """Offers four times what the driver can take; returns how often the watchdog looked at the stack."""
    looked = []
    take = Watchdog._on_stack

    def on_stack(dog: Watchdog, text: str) -> None:
        looked.append(text)
        take(dog, text)

    monkeypatch.setattr(Watchdog, "_on_stack", on_stack)
    testbed = Testbed.resolve(TestbedConfig("irqmod_i8255x", dut=DutConfig(schemes=schemes)))
    trial = ForwardingTrial(loads=(Load(rate_pps=200_000.0, size=64),), duration_ns=round(duration_s * 1e9), above_line_rate=True)
    result, _ = testbed.measure(trial)
    assert result.total("sent") > 100_000 * duration_s
    return len(looked)


@pytest.mark.parametrize(("schemes", "_"), [LOADS[0], *(pytest.param(*load, marks=pytest.mark.long) for load in LOADS[1:])])
def test_overload_is_no_loop_to_a_watchdog_in_haste(monkeypatch: pytest.MonkeyPatch, schemes: Schemes, _: float) -> None:
    """It looks four times as often, so that six virtual seconds are like twenty-four. A faster host has fewer looks.

    Not more often: in receive livelock the interrupted function gets on by a few instructions in a millisecond.
    """
    for name in ("SILENT_S", "PERIOD_S", "STEP_CPU_S"):
        monkeypatch.setattr(watchdog, name, getattr(watchdog, name) / 4)
    assert _overload(monkeypatch, schemes, 6.0) >= watchdog.WINDOW


@pytest.mark.long
@pytest.mark.parametrize(("schemes", "duration_s"), LOADS)
def test_a_long_overload_is_no_loop(monkeypatch: pytest.MonkeyPatch, schemes: Schemes, duration_s: float) -> None:
    assert _overload(monkeypatch, schemes, duration_s) > 0
