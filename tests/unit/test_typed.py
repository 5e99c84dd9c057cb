# SPDX-License-Identifier: GPL-2.0-or-later
"""Types that several threads use for the first time at once."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from irqlab.typed import typed

RACE = """
import sys, threading, types

import msgspec

from irqlab.typed import typed

TEXT = (
    "from __future__ import annotations\\nfrom dataclasses import dataclass\\n"
    "@dataclass\\nclass Inner:\\n" + "".join(f"    a{n}: int | None = None\\n" for n in range(40))
    + "@dataclass\\nclass Outer:\\n" + "".join(f"    b{n}: list[Inner] | None = None\\n" for n in range(40))
)
sys.setswitchinterval(1e-6)
for number in range(150):
    module = sys.modules[f"of{number}"] = types.ModuleType(f"of{number}")
    exec(TEXT, module.__dict__)
    together = threading.Barrier(4)

    def use():
        together.wait()
        READ({"b0": [{"a0": 1}]}, module.Outer)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_use_a_type_first_do_not_crash() -> None:
    """With msgspec.convert in place of typed this crashes within a few rounds."""
    done = subprocess.run([sys.executable, "-c", RACE.replace("READ", "typed")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_data_that_do_not_fit_are_refused() -> None:
    assert typed([1, 2], list[int]) == [1, 2]
    with pytest.raises(msgspec.ValidationError):
        typed(["one"], list[int])
