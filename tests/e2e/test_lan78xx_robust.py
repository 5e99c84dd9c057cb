# SPDX-License-Identifier: GPL-2.0-or-later
"""Our LAN78xx driver and the in-tree one with a malfunctioning and with a hot-plugged device (docs/lan78xx.md)."""

from __future__ import annotations

import os

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import fuzz, hotplug
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

OURS, IN_TREE = "irqmod_lan78xx", "lan78xx"
CASES = int(os.environ.get("IRQLAB_FUZZ_CASES", "100000"))


def runner(driver: str) -> TrialRunner:
    return TrialRunner(Testbed.resolve(TestbedConfig(driver)))


@pytest.mark.parametrize("kind", hotplug.KINDS)
def test_some_cycles(kind: str) -> None:
    report = hotplug.run(runner(OURS), kind, 5)
    assert report.failures == []
    assert report.log == []


@pytest.mark.long
@pytest.mark.parametrize("kind", hotplug.KINDS)
def test_a_hundred_cycles(kind: str) -> None:
    report = hotplug.run(runner(OURS), kind, 100)
    assert report.failures == []
    assert report.log == []


def test_some_rounds_of_fault_injection() -> None:
    """A round of traffic with about every second response corrupted; two runs are equal."""
    testbed = fuzz.checking(runner(OURS).testbed)
    number = next(n for n in range(1000) if (r := fuzz.Round.of(1, n)).faults.only == "transfers" and r.rate_pps == 1000.0)
    found = [fuzz.run_rounds(testbed, 1, fuzz.FuzzRun(number), rounds=1) for _ in range(2)]
    assert found[0].cases > 100
    assert found[0].outcomes == found[1].outcomes
    summary = fuzz.summary(OURS, 1, found[:1])
    assert summary["complaints"] == []
    assert summary["recovery"] == {"by itself": 1}


@pytest.mark.long
def test_fault_injection_does_no_harm() -> None:
    """The environment variable IRQLAB_FUZZ_CASES sets the number of cases."""
    runs = list(fuzz.run(runner(OURS), CASES))
    found = fuzz.summary(OURS, 1, runs)
    print(found)
    assert found["cases"] >= CASES
    assert found["complaints"] == []
    assert found["growth"] == {}
    assert "never" not in found["recovery"]


@pytest.mark.long
def test_the_in_tree_driver_hangs_on_a_trailing_fragment() -> None:
    """The known bugs are found again. If one is not, the kernel has been fixed: update the documentation."""
    runs = [fuzz.run_rounds(fuzz.checking(runner(IN_TREE).testbed), 1, fuzz.FuzzRun(2), rounds=1)]
    assert fuzz.HUNG in fuzz.causes(runs)
