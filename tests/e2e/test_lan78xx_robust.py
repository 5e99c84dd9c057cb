# SPDX-License-Identifier: GPL-2.0-or-later
"""Our LAN78xx driver and the in-tree one with a malfunctioning and with a hot-plugged device (docs/papers/lan78xx.md)."""

from __future__ import annotations

import base64
import os

import pytest

from irqlab.config import addresses
from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import fuzz, hotplug
from irqlab.runner.runner import TrialRunner
from irqlab.setup import modules
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import BadModules

OURS, IN_TREE = "irqmod_lan78xx", "lan78xx"
CASES = int(os.environ.get("IRQLAB_FUZZ_CASES", "100000"))


def runner(driver: str) -> TrialRunner:
    return TrialRunner(Testbed.resolve(TestbedConfig(driver)))


@pytest.mark.parametrize("kind", hotplug.KINDS)
def test_some_cycles(kind: str) -> None:
    report = hotplug.run(runner(OURS), kind, 2)
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
    testbed = fuzz.checking(runner(OURS).bench.lab())
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
    runs = [fuzz.run_rounds(fuzz.checking(runner(IN_TREE).bench.lab()), 1, fuzz.FuzzRun(2), rounds=1)]
    assert fuzz.HUNG in fuzz.causes(runs)


NETCONSOLE = f"""mount -t configfs none /sys/kernel/config
dmesg -n 8
set -e
mkdir /sys/kernel/config/netconsole/test
cd /sys/kernel/config/netconsole/test
echo eth1 >dev_name
echo {addresses.dut_ip(1)} >local_ip
echo {addresses.tester_ip(1)} >remote_ip
echo {addresses.tester_mac(1)} >remote_mac
echo 1 >enabled
"""


@pytest.mark.long
def test_a_message_while_a_frame_is_sent_reaches_netconsole(bad_modules: BadModules) -> None:
    """The frame has the queue's lock, and netconsole wants to send on this queue. It must not poll the driver: that waits."""
    testbed = Testbed.resolve(TestbedConfig(OURS))
    prints = modules.load(testbed.machine.kernel, bad_modules.build("PRINTS", "prints.c"))
    one = {"kind": "constant", "rate_pps": 40_000.0}
    with testbed.open() as dut:
        dut.play_hosts(testbed.nic.line_rate_bps)
        for module in (*modules.load(testbed.machine.kernel, "netconsole"), *prints):
            dut.rpc.guest("write", path="/tmp/module.ko", base64=base64.b64encode(module.data).decode())
            dut.run("insmod", "/tmp/module.ko")
            if module.name == "netconsole":
                dut.run("sh", "-c", NETCONSOLE)
        size = {"kind": "fixed", "frame_bytes": 512}
        dut.run_trial({"warmup_ns": 0, "duration_ns": 10_000_000, "drain_ns": 10_000_000}, [addresses.stream(0, 1, one, size)])
        assert dut.wait_forwarding() is not None
        assert "prints: eth1 sends" in dut.run("dmesg")
