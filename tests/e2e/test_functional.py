# SPDX-License-Identifier: GPL-2.0-or-later
"""Functional runs: several processors, without the instruction clock."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Cli, Refused


def test_the_dut_has_several_processors_and_forwards(cli: Cli) -> None:
    commands = "grep -c cx16 /proc/cpuinfo; nproc; cat /sys/devices/system/cpu/online; cat /sys/class/net/eth0/operstate; exit\n"
    done = cli("shell", "--driver", "e100", "--functional", "--cpus", "2", typed=commands)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0", "2", "0-1", "up"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("shell", "--functional", "--kernel-arguments", "highres=off"), "the DUT's timers expire with the tick"),
        (("throughput", "--functional", "--size", "64"), "--functional: nothing is measured without an instruction clock"),
        (("tap", "--functional", "--cpus", "1000"), "--cpus 1000: allowed are 1 to 64"),
    ],
)
def test_what_cannot_be_tested_or_measured_is_refused(refused: Refused, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in refused(*arguments, "--driver", "e100")
