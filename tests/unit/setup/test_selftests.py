# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests a Makefile of selftests names, and which files go into the DUT."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from irqlab.setup import SetupError, selftests


def test_the_makefile_names_the_programs(tmp_path: Path) -> None:
    makefile = tmp_path / "Makefile"
    makefile.write_text("TEST_INCLUDES := lib/py/env.py\n\nTEST_PROGS := \\\n\tping.py \\\n\tstats.py \\\n# end of TEST_PROGS\n")
    assert selftests.programs(makefile) == ("ping.py", "stats.py")
    makefile.write_text("TEST_PROGS = ping.py queues.py\n\ninclude ../../lib.mk\n")
    assert selftests.programs(makefile) == ("ping.py", "queues.py")
    makefile.write_text("all:\n")
    with pytest.raises(SetupError, match="names no TEST_PROGS"):
        selftests.programs(makefile)


CHANNELS = """Channel parameters for eth0:
Pre-set maximums:
RX:\t\tn/a
Combined:\t4
Current hardware settings:
RX:\t\tn/a
Combined:\t2
"""


@pytest.mark.parametrize(("shown", "combined"), [(CHANNELS, 2), (CHANNELS.replace("\t2", "\tn/a"), 0)])
def test_the_channels_are_told_as_json(tmp_path: Path, shown: str, combined: int) -> None:
    ethtool = tmp_path / "usr/sbin/ethtool"
    ethtool.parent.mkdir(parents=True)
    ethtool.write_text(f"#!/bin/sh\ncat <<'END'\n{shown}END\n")
    ethtool.chmod(0o755)
    script = selftests.ETHTOOL.replace("/usr/sbin/ethtool", str(ethtool))
    for words, said in ((["--json", "-l", "eth0"], f'[{{"ifname": "eth0", "combined": {combined}}}]\n'), (["-l", "eth0"], shown)):
        done = subprocess.run(["bash", "-c", script, "ethtool", *words], capture_output=True, text=True, check=True)
        assert done.stdout == said


@pytest.mark.parametrize("name", ["lib/python3.13/json/decoder.py", "ping.py", "lib/py/env.py", "bin/bash", "hw/irq.py"])
def test_what_is_needed_goes_into_the_dut(name: str) -> None:
    assert not selftests.UNWANTED.search(name)


@pytest.mark.parametrize(
    "name", ["usr/lib/python3.13/test/x.py", "netdevsim/hw.py", "lib/python3.13/__pycache__/a.pyc", "lib/libc.a"]
)
def test_the_rest_does_not(name: str) -> None:
    assert selftests.UNWANTED.search(name)
