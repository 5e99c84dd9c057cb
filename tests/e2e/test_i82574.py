# SPDX-License-Identifier: GPL-2.0-or-later
"""The tester's own 82574L with the kernel's e1000e, which was written for the silicon."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab import Lab
from irqlab.dut.router import LabDut
from irqlab.qemu.machine import save, start

from .pci_cards import forwards_and_repeats, survives

LIFE = """ethtool -t eth0 offline | tee /tmp/selftest
grep -q "test result is PASS" /tmp/selftest
ethtool -d eth0 >/dev/null
ethtool -e eth0 >/dev/null
ethtool -p eth0 1
ethtool -G eth0 rx 64 tx 64
ethtool -G eth0 rx 256 tx 256
ethtool -K eth0 rxhash off rxvlan off txvlan off tso off
ethtool -K eth0 rxhash on rxvlan on txvlan on tso on
ethtool -C eth0 rx-usecs 0
ethtool -C eth0 rx-usecs 3
ethtool -s eth0 speed 100 duplex full autoneg off
sleep 3
ethtool -s eth0 autoneg on
sleep 4
ip link set eth0 mtu 4000
ip link set eth0 mtu 9000
ip link set eth0 mtu 1500
"""
"""What an interface goes through. The self-test writes registers, interrupts, and sends frames in loopback."""


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("e1000e", nic="irqlab-82574", cached=False)


def test_e1000e_forwards_and_repeats(lab: Lab) -> None:
    forwards_and_repeats(lab, ((50_000, 64), (20_000, 1518)))


def test_e1000e_survives_what_an_interface_goes_through(lab: Lab) -> None:
    survives(lab, LIFE)


@pytest.mark.long
def test_a_snapshot_under_load_continues_identically(lab: Lab, tmp_path: Path) -> None:
    with start(lab.testbed.machine, lab.testbed.prepared.state, to_save=True) as machine:
        save(machine, tmp_path / "again")
    with start(lab.testbed.machine, tmp_path / "again") as machine:
        dut = LabDut(machine)
        result = lab.trial(20_000).spec.measure_again(dut, lab.testbed.conditions)
    assert result.total("lost") == 0


@pytest.mark.long
@pytest.mark.parametrize("mode", [0, 1])
def test_e1000e_forwards_with_a_line_and_with_one_message(mode: int) -> None:
    lab = Lab("e1000e", nic="irqlab-82574", cached=False, module_parameters=f"IntMode={mode},{mode}")
    one = lab.trial(20_000)
    assert one.total("lost") == one.total("corrupted") == 0


@pytest.mark.long
def test_a_card_that_vanishes_does_no_harm(lab: Lab) -> None:
    with lab.testbed.open() as dut:
        dut.play_hosts(lab.testbed.nic.line_rate_bps)
        dut.rpc.call("plug", port=0, plugged=False)
        dut.attempt("ping", "-c", "5", "-i", "0.1", "-W", "1", "198.18.0.2")
        dut.attempt("ip", "link", "set", "eth0", "down")
        dut.kernel_log.check()
