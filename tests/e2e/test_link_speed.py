# SPDX-License-Identifier: GPL-2.0-or-later
"""The link of irqmod_i8255x becomes slow between two looks of the driver. The chip hangs at 10 Mbit/s unless the driver knows."""

from __future__ import annotations

from irqlab.config.testbed import TestbedConfig
from irqlab.trials.testbed import Testbed

RENEGOTIATE = """
mdi=$(($(sed 's/ .*//;q' /sys/class/net/eth0/device/resource) + 0x10))
# phy REGISTER VALUE: writes it by the chip's MDI control register (8255x manual, 6.3.5), without the driver.
phy() { devmem $mdi 32 $((1 << 26 | 1 << 21 | $1 << 16 | $2)); usleep 1000; }
ip link set eth0 down; ip link set eth0 up
until [ "$(cat /sys/class/net/eth0/carrier)" = 1 ]; do usleep 20000; done
phy 4 0x61
phy 0 0x1200
for _ in $(seq 39); do usleep 100000; cat /sys/class/net/eth0/carrier; done
ethtool eth0
"""
"""The driver has just looked, and looks again in 2 s. The PHY advertises 10 Mbit/s only, and negotiates anew. The link is
down for 1.5 s. As if the partner did it: the driver does not take part."""


def test_a_renegotiation_that_the_driver_does_not_see() -> None:
    bed = Testbed.resolve(TestbedConfig("irqmod_i8255x", "irqlab-82559+resume-hang", kernel_arguments="iomem=relaxed"))
    with bed.open() as dut:
        dut.play_hosts(bed.nic.line_rate_bps)
        *carrier, said = dut.run("sh", "-c", RENEGOTIATE).split("\n", 39)
        assert set(carrier) == {"1"}
        assert "Speed: 10Mb/s" in said
        assert " 0% packet loss" in dut.run("sh", "-c", "ping -q -c 20 -i 0.1 -W 1 198.18.0.2; true")
        dut.kernel_log.check()
