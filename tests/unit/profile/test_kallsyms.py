# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read of the DUT's /proc/kallsyms."""

from __future__ import annotations

import re
from typing import Any

from irqlab.profile.kallsyms import FUNCTIONS, INTERFACES, of_types
from irqlab.profile.lines import DATA
from tests.unit.fake_dut import FakeDut

TEXT = """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T startup_64
ffffffff81000070 t verify_cpu
ffffffff81c00000 W arch_thing
ffffffff82000000 D init_net
ffffffff82000100 D init_net_initialized
ffffffff82000200 r __func__.1
ffffffffc0000000 t cp_poll\t[8139cp]
ffffffffc0000000 d init_net\t[other]
"""


def grep(*argv: str) -> str:
    assert (argv[:2], argv[-1]) == (("grep", "-F"), "/proc/kallsyms")
    words = argv[3:-1:2]
    return "".join(line for line in TEXT.splitlines(keepends=True) if any(word in line for word in words))


def read(types: str, *also: str) -> list[Any]:
    text = of_types(FakeDut({"run": grep}), types, *also)
    return re.findall(r"\S+ (\S) ([^\n]+)\n", text)


def test_functions_and_one_variable() -> None:
    names = [("T", "startup_64"), ("t", "verify_cpu"), ("W", "arch_thing"), ("D", "init_net"), ("t", "cp_poll\t[8139cp]")]
    assert read(FUNCTIONS, INTERFACES) == names


def test_variables() -> None:
    assert [name for _, name in read(DATA)] == [
        "fixed_percpu_data", "arch_thing", "init_net", "init_net_initialized", "__func__.1", "init_net\t[other]",
    ]  # fmt: skip
