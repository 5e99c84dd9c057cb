# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine restarts under traffic: the driver's shutdown comes to an end, and the kernel says nothing."""

from __future__ import annotations

import re

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.qemu.failure import MachineError
from irqlab.robustness.overload import Overload
from irqlab.trials.testbed import Testbed
from tests.chips import CARDS

LOAD_PPS = 20_000
LASTS_NS = 3_000_000_000
"""The restart comes after one second."""
ENDED = r"the DUT went away: QEMU ended with exit code 0; the DUT's console:\n  \[ *[0-9.]+\] reboot: Restarting system"


def _restart(testbed: Testbed) -> None:
    with testbed.open() as dut:
        dut.play_hosts(0)
        dut.write("/proc/sys/kernel/printk", "5")  # warnings, too
        dut.rpc.guest("spawn", argv=["sh", "-c", "sleep 1; exec reboot -f"])
        Overload(testbed).offer(dut, LOAD_PPS, LASTS_NS, everywhere=True)


@pytest.mark.parametrize("driver", [*CARDS, "irqmod_lan78xx"])
def test_restart_under_traffic(driver: str, kernel_spec: str | None) -> None:
    testbed = Testbed.resolve(TestbedConfig(driver, kernel=kernel_spec, nic=CARDS.get(driver)))
    with pytest.raises(MachineError) as ended:
        _restart(testbed)
    assert re.fullmatch(ENDED, str(ended.value))
