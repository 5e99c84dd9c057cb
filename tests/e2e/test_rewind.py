# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine that was put back to where it was restored measures what a new process measures, byte for byte."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from irqlab.config.costs import Costs
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import Load
from irqlab.dut.agent import DutError
from irqlab.qemu import machine, pool
from irqlab.qemu.machine import Machine
from irqlab.qemu.pool import POOL
from irqlab.trials.application import ApplicationTrial, Tuning
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.iperf import IperfTrial
from irqlab.trials.rrul import RrulTrial
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial

RATES_PPS = (1_000, 30_000, 60_000, 200_000)
"""From nearly idle to far more than any of the drivers takes: receive livelock, full rings, a full backlog."""
ROUNDS = 2
SHORT = {"warmup_ns": 20_000_000, "duration_ns": 30_000_000, "drain_ns": 20_000_000}
"""What is rewound, and how often, matters, not how long it ran."""


def resolved(driver: str, rx: str | None, tx: str | None, nic: str | None = None) -> Testbed:
    schemes = Schemes(rx=rx, tx=tx)
    return Testbed.resolve(TestbedConfig(driver, nic=nic, dut=DutConfig(schemes=schemes), cached=False))


def outcome(bed: Testbed, trial: Trial[Any]) -> str:
    return json.dumps(trial.store(bed.measure(trial)[0]), sort_keys=True)


@contextmanager
def busy_host() -> Iterator[None]:
    """Processes that take the host's time in bursts."""
    burst = "import time\nwhile True:\n end = time.time() + 0.02\n while time.time() < end: pass\n time.sleep(0.007)"
    burners = [subprocess.Popen([sys.executable, "-c", burst]) for _ in range(3)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Machine]]:
    """The machines that are started, which are ended after the test. None is left from other tests."""
    pool.POOL.close()
    machines: list[Machine] = []
    start = machine.start

    def noted(*args: object, **kwargs: object) -> Machine:
        machines.append(start(*args, **kwargs))  # type: ignore[arg-type]
        return machines[-1]

    monkeypatch.setattr(machine, "start", noted)
    monkeypatch.delenv("IRQLAB_FRESH", raising=False)
    yield machines
    pool.POOL.close()


@pytest.mark.parametrize(
    ("driver", "rx", "tx", "nic"),
    [
        ("8139cp", None, None, None),
        pytest.param("lan78xx", None, None, None, marks=pytest.mark.long),
        pytest.param("e100", None, None, "irqlab-82558", marks=pytest.mark.long),
        pytest.param("irqmod_i8255x", "napi", "coalesce", "irqlab-82559", marks=pytest.mark.long),
        pytest.param("8139cp", None, None, "irqlab-8139cp", marks=pytest.mark.long),
        pytest.param("e1000e", None, None, "irqlab-82574", marks=pytest.mark.long),
        pytest.param("irqmod_rtl8139cp", "napi", "off", "irqlab-8139cp", marks=pytest.mark.long),
        pytest.param("e100", None, None, None, marks=pytest.mark.long),
        pytest.param("e1000", None, None, None, marks=pytest.mark.long),
        pytest.param("tulip", None, None, None, marks=pytest.mark.long),
        pytest.param("pcnet32", None, None, None, marks=pytest.mark.long),
        pytest.param("ne2k_pci", None, None, None, marks=pytest.mark.long),
        pytest.param("vmxnet3", None, None, None, marks=pytest.mark.long),
        pytest.param("irqmod_i8255x", "interrupt", "interrupt", None, marks=pytest.mark.long),
        pytest.param("irqmod_i8255x", "timer", "off", None, marks=pytest.mark.long),
        pytest.param("irqmod_rtl8139cp", "napi", "off", None, marks=pytest.mark.long),
        pytest.param("irqmod_rtl8139cp", "hybrid", "coalesce", None, marks=pytest.mark.long),
    ],
)
def test_a_rewound_machine_measures_what_a_new_one_does(
    driver: str, rx: str | None, tx: str | None, nic: str | None, started: list[Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = resolved(driver, rx, tx, nic)
    one_way = [Load(rate) for rate in RATES_PPS]
    both_ways = [Load(rate, "imix", "poisson") for rate in RATES_PPS]
    trials = [
        ForwardingTrial(loads=(load,), bidirectional=load in both_ways, histogram=True, **SHORT) for load in one_way + both_ways
    ]
    monkeypatch.setenv("IRQLAB_FRESH", "1")
    fresh = {trial: outcome(bed, trial) for trial in trials}
    assert len(started) == len(trials)
    assert len(set(fresh.values())) == len(trials), "they are all different"
    monkeypatch.delenv("IRQLAB_FRESH")
    started.clear()
    chosen = random.Random(1).sample(trials * ROUNDS, k=len(trials) * ROUNDS)
    with busy_host():
        for number, trial in enumerate(chosen):
            assert outcome(bed, trial) == fresh[trial], f"trial {number} of the machine: {trial.loads}"
    # QEMU 10's USB controller may arm timers for its endpoints when it is restored. The tester then refuses to rewind it, and a
    # new machine makes the trial.
    may_refuse = bed.nic.usb_speed and bed.machine.qemu.version >= (10, 0)
    assert 1 <= len(started) <= (len(chosen) if may_refuse else 1), f"not one machine; refused in this process: {POOL.refused}"


@pytest.mark.long
def test_trials_of_all_kinds_run_on_one_machine(started: list[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them has the kernel's text patched (the cost model's probes), others run programs in the DUT."""
    bed = Testbed.resolve(TestbedConfig("e100", cost_model=True, cached=False))
    load = Load(30_000)
    trials: list[Trial[Any]] = [
        ForwardingTrial(loads=(load,), duration_ns=50_000_000),
        ForwardingTrial(loads=(load,), duration_ns=50_000_000, costs=Costs(irq=1500, byte=2.5, free=300, softirq=200)),
        IperfTrial(seconds=1),
        IperfTrial(seconds=1, udp=True, dut_sends=False, rate_bps=50_000_000),
        RrulTrial(seconds=2),
        ApplicationTrial(load, duration_ns=50_000_000),
        ApplicationTrial(load, echo=True, duration_ns=50_000_000, tuning=Tuning(napi_threads="on")),
    ]
    monkeypatch.setenv("IRQLAB_FRESH", "1")
    fresh = [outcome(bed, trial) for trial in trials]
    monkeypatch.delenv("IRQLAB_FRESH")
    started.clear()
    order = list(range(len(trials))) * ROUNDS
    random.Random(2).shuffle(order)
    for number in order:
        assert outcome(bed, trials[number]) == fresh[number], trials[number]
    assert len(started) == 1


def test_a_machine_whose_trial_failed_is_ended(started: list[Machine]) -> None:
    bed = resolved("8139cp", None, None)
    with bed.open(pooled=True) as dut:
        first = dut.machine.process
    with bed.open(pooled=True) as dut:
        assert dut.machine.process is first
    with pytest.raises(DutError, match="no-such-file"):
        _fail(bed)
    assert first.poll() is not None
    with bed.open(pooled=True) as dut:
        assert dut.machine.process is not first
        dut.run("true")


def _fail(bed: Testbed) -> None:
    with bed.open(pooled=True) as dut:
        dut.run("cat", "/no-such-file")


def test_what_a_trial_leaves_behind_is_gone(started: list[Machine]) -> None:
    """Files, settings, modules; and time itself."""
    bed = resolved("8139cp", None, None)
    begun = []
    for _ in range(3):
        with bed.open(pooled=True) as dut:
            begun.append(dut.rpc.call("clock"))
            assert dut.attempt("ls", "/run/left")["code"] != 0
            assert dut.read("/proc/sys/net/core/netdev_budget")["/proc/sys/net/core/netdev_budget"] == "300\n"
            assert "198.18.0.1" in dut.run("ip", "addr")
            dut.write("/run/left", "behind")
            dut.sysctl("net.core.netdev_budget", "77")
            dut.run("rmmod", "8139cp")
            assert "198.18.0.1" not in dut.run("ip", "addr")
    assert len(started) == 1
    assert begun == begun[:1] * 3


def test_a_machine_without_its_snapshot_is_replaced(started: list[Machine]) -> None:
    bed = resolved("8139cp", None, None)
    with bed.open(pooled=True) as dut:
        first = dut.machine
    # It has been told to rewind already; the next time it is told so with a file that is not there.
    first.rpc.rewound()
    first.rpc.rewind("/nowhere/state")
    with bed.open(pooled=True) as dut:
        assert dut.machine is not first
        dut.run("true")
