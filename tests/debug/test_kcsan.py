# SPDX-License-Identifier: GPL-2.0-or-later
"""KCSAN finds a data race that is put into a driver: two processors increment a plain counter.

So a run in which it reports nothing says something: that it watches, that the DUT's processors run in parallel, and that the
lab's reader of the kernel log lets a race of the driver through.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from irqlab.setup import drivers, kernel
from irqlab.setup.kernel_trees import Options
from irqlab.trials.testbed import Testbed

DRIVER = "irqmod_i8255x"
DEBUG = ("kcsan",)
SHOW = re.compile(r"static ssize_t setting_show\([^{]*\{\n")
"""A file that each interface has, so that two processes can read two of them at once: no lock is shared."""
PLANTED = """static unsigned int planted;

static noinline void plant(void)
{
	int i;

	for (i = 0; i < 100000; i++) {
		planted++;
		barrier();
	}
}

"""
SCRIPT = """#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Two processes make the driver increment its counter.
. "${0%/*}/tap.sh"

for i in $IF0 $IF1; do
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do get "$i" rx_weight >/dev/null; done &
done
wait
check "the counter was incremented" get "$IF0" rx_weight
done_testing
"""


def _planted(root: Path) -> None:
    """A copy of our drivers with the race in it."""
    shutil.copytree(drivers.home(), root)
    file = root / "irqmod/sysfs.c"
    text, places = SHOW.subn(lambda found: f"{PLANTED}{found[0]}\tplant();\n", file.read_text())
    assert places == 1
    file.write_text(text)
    (root / "tests/planted.sh").write_text(SCRIPT)


def test_the_race_can_be_planted(tmp_path: Path) -> None:
    _planted(tmp_path / "drivers")


@pytest.mark.debug
def test_a_planted_race_is_found(tmp_path: Path) -> None:
    root = tmp_path / "drivers"
    _planted(root)
    driver = drivers.find(DRIVER, root)
    assert driver is not None
    module = drivers.module_file(kernel.resolve("6.12", Options((), DEBUG)), driver, root=root)
    testbed = Testbed.resolve(TestbedConfig(str(module), kernel="6.12", debug=DEBUG, cpus=2, functional=True))
    report = tap.run(Overload(testbed), tap.Script.read(root / "tests/planted.sh"))
    print(report.text)
    assert "not ok" not in report.text
    assert any(re.search(r"BUG: KCSAN: data-race in plant \[irqmod\] / plant \[irqmod\]", line) for line in report.failures)
