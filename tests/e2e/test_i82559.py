# SPDX-License-Identifier: GPL-2.0-or-later
"""The tester's own PCI cards with the kernel's e100, which was written for the silicon."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab import Lab
from irqlab.dut.router import LabDut
from irqlab.qemu.machine import save, start

from .pci_cards import forwards_and_repeats, survives

LIFE = """ethtool -t eth0 offline >/dev/null
ethtool -d eth0 >/dev/null
ethtool -e eth0 >/dev/null
ethtool -G eth0 rx 64 tx 64
ethtool -G eth0 rx 256 tx 256
ethtool -s eth0 speed 10 duplex full autoneg off
sleep 3
ethtool -s eth0 autoneg on
sleep 4
"""
"""What an interface goes through. e100's self-test sends frames in loopback, in the chip and in the PHY."""
EXPECTED = "e100_hw_init"
"""e100 logs its own initialisation as an error."""


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("e100", nic="irqlab-82558", cached=False)


def test_e100_forwards_and_repeats(lab: Lab) -> None:
    forwards_and_repeats(lab, ((50_000, 64), (8_000, 1518)))


def test_e100_survives_what_an_interface_goes_through(lab: Lab) -> None:
    survives(lab, LIFE, EXPECTED)


@pytest.mark.long
def test_a_snapshot_under_load_continues_identically(lab: Lab, tmp_path: Path) -> None:
    with start(lab.testbed.machine, lab.testbed.prepared.state, to_save=True) as machine:
        save(machine, tmp_path / "again")
    with start(lab.testbed.machine, tmp_path / "again") as machine:
        dut = LabDut(machine)
        result = lab.trial(20_000).spec.measure_again(dut, lab.testbed.conditions)
    assert result.total("lost") == 0


@pytest.mark.long
@pytest.mark.parametrize("nic", ["irqlab-82557", "irqlab-82559", "irqlab-82551"])
def test_e100_forwards_on_every_revision(nic: str) -> None:
    one = Lab("e100", nic=nic, cached=False).trial(20_000)
    assert one.total("lost") == one.total("corrupted") == 0


@pytest.mark.long
def test_a_card_that_vanishes_does_no_harm(lab: Lab) -> None:
    with lab.testbed.open() as dut:
        dut.play_hosts(lab.testbed.nic.line_rate_bps)
        dut.rpc.call("plug", port=0, plugged=False)
        dut.attempt("ping", "-c", "5", "-i", "0.1", "-W", "1", "198.18.0.2")
        dut.attempt("ip", "link", "set", "eth0", "down")
        dut.kernel_log.check()
