# SPDX-License-Identifier: GPL-2.0-or-later
"""The link of irqmod_i8255x becomes slow between two looks of the driver. The chip hangs at 10 Mbit/s unless the driver knows."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

from irqlab.config.testbed import TestbedConfig
from irqlab.trials.testbed import Testbed

PROGRAM = Path(__file__).parent / "programs" / "renegotiate.c"
COMPILE = ("gcc", "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-mno-red-zone", "-s")
RENEGOTIATE = """
base64 -d /run/renegotiate.b64 >/run/renegotiate; chmod +x /run/renegotiate
ip link set eth0 down; ip link set eth0 up
until [ "$(cat /sys/class/net/eth0/carrier)" = 1 ]; do usleep 20000; done
/run/renegotiate || exit
sleep 4
ethtool eth0
"""
"""The driver has just looked, and looks again in 2 s. The link is down for 1.5 s."""


def test_a_renegotiation_that_the_driver_does_not_see(tmp_path: Path) -> None:
    subprocess.run([*COMPILE, "-o", tmp_path / "renegotiate", PROGRAM], check=True)
    bed = Testbed.resolve(TestbedConfig(driver="irqmod_i8255x", nic="irqlab-82559+resume-hang"))
    with bed.open() as dut:
        dut.play_hosts(bed.nic.line_rate_bps)
        dut.write("/run/renegotiate.b64", base64.b64encode((tmp_path / "renegotiate").read_bytes()).decode())
        assert "Speed: 10Mb/s" in dut.run("sh", "-c", RENEGOTIATE)
        assert " 0% packet loss" in dut.run("sh", "-c", "ping -q -c 20 -i 0.1 -W 1 198.18.0.2; true")
        dut.kernel_log.check()
