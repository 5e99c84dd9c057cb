# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU 7's CMPXCHG16B corrupts RFLAGS, which occasionally crashed DUTs (plugin/src/workarounds/cmpxchg_flags.rs)."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

from irqlab.config.testbed import TestbedConfig
from irqlab.trials.testbed import Testbed

PROGRAM = Path(__file__).parent / "programs" / "flags.c"
COMPILE = ("gcc", "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-mno-red-zone", "-s")
UNPACK = "base64 -d /run/flags.b64 >/run/flags; chmod +x /run/flags; /run/flags"
SYSTEM_FLAGS = 0xFFFF_FFFF_FFFF_F700
"""All but CF, PF, AF, ZF, SF, OF and their neighbours (Intel SDM, volume 1, 3.4.3)."""
IF, ZF = 1 << 9, 1 << 6


def test_cmpxchg16b_leaves_valid_flags(tmp_path: Path) -> None:
    subprocess.run([*COMPILE, "-o", tmp_path / "flags", PROGRAM], check=True)
    with Testbed.resolve(TestbedConfig(driver="8139cp")).open() as dut:
        dut.write("/run/flags.b64", base64.b64encode((tmp_path / "flags").read_bytes()).decode())
        flags = int(dut.run("sh", "-c", UNPACK), 16)
    assert flags & SYSTEM_FLAGS == IF, hex(flags)
    assert flags & ZF
