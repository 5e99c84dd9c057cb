# SPDX-License-Identifier: GPL-2.0-or-later
"""What is to be typed."""

from __future__ import annotations

from irqlab.config.change import Chosen
from irqlab.tuning.commands import files, script

CHANGES = (
    Chosen("file", "irqmod/rx_scheme", "hybrid"),
    Chosen("coalesce", "adaptive-rx", "off"),
    Chosen("coalesce", "rx-usecs", "20"),
    Chosen("coalesce", "rx-usecs-irq", "5"),
    Chosen("ring", "rx", "512"),
    Chosen("file", "irqmod/rx_weight", "8"),
    Chosen("sysctl", "net.core.netdev_budget", "64"),
    Chosen("interrupts", "1", "0"),
    Chosen("rps", "", "0,1"),
)


def test_the_script() -> None:
    found = script(CHANGES, ("eth0",))
    assert found[0] == "ethtool -G eth0 rx 512"
    assert found[1] == "ethtool -C eth0 adaptive-rx off rx-usecs 20 rx-usecs-irq 5"
    assert found[2:4] == [
        "echo 8 > /sys/class/net/eth0/irqmod/rx_weight",  # a scheme starts with its settings
        "echo hybrid > /sys/class/net/eth0/irqmod/rx_scheme",
    ]
    assert found[-1] == "sysctl -w net.core.netdev_budget=64"
    assert "echo 3 > $queue" in found[4]
    assert len(script(CHANGES, ("eth0", "eth1"))) > len(found)
    assert any("/proc/irq/" in line and "eth1" in line for line in script(CHANGES, ("eth0", "eth1")))


def test_files_for_every_boot() -> None:
    found = dict(files(CHANGES, ("eth0",)))
    assert found["/etc/systemd/network/10-irqlab-eth0.link"] == [
        "[Match]", "OriginalName=eth0", "", "[Link]", "UseAdaptiveRxCoalesce=no", "RxCoalesceSec=20us", "RxBufferSize=512",
    ]  # fmt: skip
    rules = found["/etc/udev/rules.d/90-irqlab.rules"]
    assert 'ATTR{irqmod/rx_weight}="8", ATTR{irqmod/rx_scheme}="hybrid", ATTR{queues/rx-0/rps_cpus}="3"' in rules[0]
    assert 'RUN+="/usr/sbin/ethtool -C eth0 rx-usecs-irq 5"' in rules[1]
    assert found["/etc/sysctl.d/90-irqlab.conf"] == ["net.core.netdev_budget = 64"]
    assert dict(files((), ("eth0",))) == {}
