# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip whose receiver does not start: the interface stays down, and the chip writes nothing to memory."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.conftest import Cli
from tests.e2e.test_hunt import planted

COMMANDS = """hexdump -v -n 96 /dev/mem
ip link set eth0 down
echo 1 >/sys/module/irqmod_i8255x/parameters/start_fails
ip link set eth0 up || echo refused
cat /sys/class/net/eth0/statistics/rx_packets
hexdump -v -n 96 /dev/mem
echo 0 >/sys/module/irqmod_i8255x/parameters/start_fails
ip link set eth0 up && echo up
"""
"""To read a counter the driver has the chip write its counters to memory, unless it knows that the interface is down. After a
failed start the address was 0 (until 740a7ce3), where the BIOS's interrupt vectors are."""


def test_counters_are_not_dumped_after_a_failed_start(cli: Cli, tmp_path: Path) -> None:
    driver = str(planted("start_fails", tmp_path))
    done = cli("shell", "--driver", driver, "--nic", "irqlab-82559", typed=COMMANDS)
    assert done.returncode == 0, done.stderr
    before, refused, after = done.stdout.partition("refused\n")
    assert refused, done.stdout
    counter, _, after = after.partition("\n")
    assert counter.isdigit()
    assert set(before.split()[1:9]) - {"0000"}, "the interrupt vectors were read"
    assert after == f"{before}up\n"
