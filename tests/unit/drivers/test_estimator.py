# SPDX-License-Identifier: GPL-2.0-or-later
"""The hybrid scheme's estimator, compiled from the same file as in the kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests import ROOT

SOURCE = ROOT / "drivers" / "irqmod" / "tests" / "estimator_test.c"


def test_estimator_in_user_space(tmp_path: Path) -> None:
    program = tmp_path / "estimator_test"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert not [line for line in lines if line.startswith("not ok")], done.stdout
    assert done.returncode == 0
    assert f"1..{sum(line.startswith('ok ') for line in lines)}" == lines[-1]
