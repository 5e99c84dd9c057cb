# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip that our driver refuses: it says so, leaves nothing behind, and the kernel's driver can have the chip."""

from __future__ import annotations

from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.setup import modules
from irqlab.trials.testbed import Testbed

OURS, THEIRS = "irqmod_i8255x", "e100"
REFUSAL = "an 82557 cannot mask individual causes; use e100"


def test_an_82557(kernel_spec: str | None) -> None:
    testbed = Testbed.resolve(TestbedConfig(THEIRS, kernel=kernel_spec, nic="irqlab-82557", dut=DutConfig(may_log=(REFUSAL,))))
    loaded = {module.name for module in testbed.modules}
    with testbed.open() as dut:
        dut.play_hosts(testbed.nic.line_rate_bps)
        function = dut.run("sh", "-c", "basename $(readlink -f /sys/class/net/eth0/device)").strip()
        dut.write(f"/sys/bus/pci/drivers/{THEIRS}/unbind", function)
        dut.kernel_log.news()
        dut.load([module for module in modules.load(testbed.machine.kernel, OURS) if module.name not in loaded])
        assert f"{OURS} {function}: {REFUSAL}" in dut.kernel_log.lines
        left = dut.run("ls", f"/sys/bus/pci/devices/{function}").split()
        assert not {"driver", "net"} & set(left)
        assert OURS not in dut.run("cat", "/proc/iomem", "/proc/interrupts")
        dut.write(f"/sys/bus/pci/drivers/{THEIRS}/bind", function)
        dut.run("sh", "-c", "ip addr add 198.18.0.1/24 dev eth0 && ip link set eth0 up && sleep 4 && ping -c 5 198.18.0.2")
