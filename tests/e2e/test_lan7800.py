# SPDX-License-Identifier: GPL-2.0-or-later
"""The tester's USB NIC with the kernel's own driver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irqlab import Lab
from irqlab.dut.router import LabDut
from irqlab.qemu.machine import save, start


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("lan78xx", cached=False)


def test_the_in_tree_driver_forwards_and_repeats(lab: Lab) -> None:
    one = lab.trial(50_000)
    assert one.total("lost") == one.total("corrupted") == one.total("reordered") == 0
    # The prototype: 4,170 instructions a frame, loss-free up to 56 kpps.
    assert one.instructions_per_frame is not None
    assert 3_500 < one.instructions_per_frame < 5_000
    assert one.counters.interrupts["xhci_hcd"] > 0
    assert json.dumps(one.to_json()) == json.dumps(lab.trial(50_000).to_json())


def test_a_frame_waits_for_the_bulk_in_delay(lab: Lab) -> None:
    latency = lab.trial(1_000).streams[0].latency
    assert 136_533 < latency.min_ns < 300_000


def test_large_frames_are_held_up_by_the_bus_and_overflow_the_fifo(lab: Lab) -> None:
    # 53.2 MB/s; 1514 bytes, FCS and command words are 1528 in a transfer.
    fits, does_not = lab.trial(20_000, size=1518), lab.trial(60_000, size=1518)
    assert fits.total("lost") == 0
    dropped = does_not.drops()["nic"]
    assert dropped > 0
    counted = sum(c.get("RX Dropped Frames", 0) for c in does_not.counters.driver.values())
    assert counted == dropped
    assert does_not.forwarded_pps <= 53.3e6 / 1528


def test_a_snapshot_during_transfers_continues_identically(lab: Lab, tmp_path: Path) -> None:
    """A DUT that is saved and restored again forwards as before."""
    with start(lab.testbed.machine, lab.testbed.prepared.state, to_save=True) as machine:
        save(machine, tmp_path / "again")
    with start(lab.testbed.machine, tmp_path / "again") as machine:
        dut = LabDut(machine)
        result = lab.trial(20_000).spec.measure_again(dut, lab.testbed.conditions)
    assert result.total("lost") == 0
    assert not any("lan78xx" in line for line in result.kernel_log)


def test_unplugged_and_plugged_in_again(lab: Lab) -> None:
    with lab.testbed.open() as dut:
        for _ in range(2):
            dut.rpc.call("plug", port=0, plugged=False)
            dut.sleep(500_000_000)
            assert dut.read("/sys/class/net/eth0/address")["/sys/class/net/eth0/address"] is None
            dut.rpc.call("plug", port=0, plugged=True)
            dut.sleep(1_000_000_000)
            assert dut.read("/sys/class/net/eth0/address")["/sys/class/net/eth0/address"] is not None
        dut.kernel_log.check()


def test_fault_injection_corrupts_as_requested(lab: Lab) -> None:
    damaged = []
    for _ in range(2):
        with lab.testbed.open() as dut:
            dut.play_hosts(lab.testbed.nic.line_rate_bps)
            dut.rpc.call("hostile", port=0, seed=1, permille=200)
            dut.attempt("ping", "-c", "50", "-i", "0.02", "-W", "1", "198.18.0.2")
            damaged.append(dut.rpc.call("hostile", port=0, seed=None, permille=0)["damaged"])
    assert damaged[0] > 0
    assert damaged[0] == damaged[1]
