# SPDX-License-Identifier: GPL-2.0-or-later
"""What every PCI card of the tester's own is tried with, by the driver that was written for the silicon."""

from __future__ import annotations

import json
from collections.abc import Iterable

from irqlab import Lab
from irqlab.dut import kernel_log

FIND = """set -e
device=$(basename "$(readlink -f /sys/class/net/eth0/device)")
driver=$(readlink -f /sys/class/net/eth0/device/driver)
"""
RESTART = """ip link set eth0 promisc on
ip link set eth0 promisc off
ip link set eth0 down
ip link set eth0 up
echo devices >/sys/power/pm_test
echo 0 >/sys/module/suspend/parameters/pm_test_delay
echo mem >/sys/power/state
echo "$device" >"$driver/unbind"
echo "$device" >"$driver/bind"
ip addr add 198.18.0.1/24 dev eth0
ip link set eth0 up
sleep 4
ping -c 20 -i 0.01 -W 1 198.18.0.2
"""
"""The end of what an interface goes through: modes, down and up, suspend, unbind."""


def forwards_and_repeats(lab: Lab, loads: Iterable[tuple[float, int]]) -> None:
    """No frame is lost at these loads (frames/s, bytes), and a trial gives the same document twice."""
    for rate_pps, size in loads:
        one = lab.trial(rate_pps, size=size, duration_ns=50_000_000)
        assert one.total("lost") == one.total("corrupted") == one.total("reordered") == 0
        assert json.dumps(one.to_json()) == json.dumps(lab.trial(rate_pps, size=size, duration_ns=50_000_000).to_json())


def survives(lab: Lab, commands: str, *expected: str) -> None:
    """The interface goes through `commands` of ethtool and ip, then through RESTART; messages are harmless or `expected`."""
    with lab.testbed.open() as dut:
        dut.play_hosts(lab.testbed.nic.line_rate_bps)
        dut.kernel_log.news()
        assert " 0% packet loss" in dut.run("sh", "-c", FIND + commands + RESTART)
        assert kernel_log.notable(dut.kernel_log.news(), expected) == []
