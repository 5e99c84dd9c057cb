# SPDX-License-Identifier: GPL-2.0-or-later
"""How much memory a socket that nobody reads keeps from the kernel.

Each of its packets holds the chunk of pages that its head is in, while the socket is charged for the packet alone. It is worst
when a chunk holds one packet of the socket, and heads of other packets that were freed long ago (drivers/irqmod/heads.c).
"""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import Load
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed

PROGRAM = Path(__file__).parent / "programs" / "hoard.c"
COMPILE = ("gcc", "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-mno-red-zone", "-s")
EVERY = 180
"""One packet of so many is queued on the socket. A chunk holds fewer heads, so no two of them are in the same chunk."""
START = "base64 -d /run/hoard.b64 >/run/hoard; chmod +x /run/hoard; /run/hoard & echo $! >/run/hoard.pid; sleep 0.1; kill -0 $!"
STOP = "kill -KILL $(cat /run/hoard.pid); sleep 0.5"
FILL = ForwardingTrial(loads=(Load(20_000.0),), duration_ns=3_000_000_000)
PAGE_BYTES = 4096


def _free_bytes(zoneinfo: str) -> int:
    """Free memory in bytes, with the pages on the lists of CPUs."""
    free = re.findall(r"nr_free_pages +(\d+)", zoneinfo) + re.findall(r"^ +count: +(\d+)", zoneinfo, re.MULTILINE)
    return PAGE_BYTES * sum(map(int, free))


def _held_bytes(driver: str, program: Path) -> int:
    bed = Testbed.resolve(TestbedConfig(driver=driver))
    with bed.open() as dut:
        dut.write("/run/hoard.b64", base64.b64encode(program.read_bytes()).decode())
        dut.run("sh", "-c", START)
        FILL.measure(dut, bed.conditions)
        full = _free_bytes(dut.run("cat", "/proc/zoneinfo"))
        dut.run("sh", "-c", STOP)
        return _free_bytes(dut.run("cat", "/proc/zoneinfo")) - full


@pytest.mark.long
@pytest.mark.parametrize(
    ("ours", "in_tree"), [("irqmod_rtl8139cp", "8139cp"), ("irqmod_i8255x", "e100"), ("irqmod_lan78xx", "8139cp")]
)
def test_a_full_socket_holds_at_most_twice_what_it_holds_with_a_driver_of_the_tree(
    ours: str, in_tree: str, tmp_path: Path
) -> None:
    program = tmp_path / "hoard"
    subprocess.run([*COMPILE, f"-DEVERY={EVERY}", "-o", program, PROGRAM], check=True)
    theirs = _held_bytes(in_tree, program)
    assert theirs > 1 << 20
    assert _held_bytes(ours, program) <= 2 * theirs
