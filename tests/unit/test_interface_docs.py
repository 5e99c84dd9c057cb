# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written about the engine's interfaces: its files in sysfs, and the functions that chips call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irqlab.setup import drivers

ENGINE = drivers.home() / "irqmod"
SOURCES = sorted(ENGINE.glob("*.c"))
ATTRIBUTE = re.compile(r"(?:DEVICE_ATTR_R[WO]\(|IRQMOD_(?:SETTING|RESTARTING|CHOICE)\(struct \w+, )(\w+)")
WHAT = re.compile(r"^(?:What:)?\t+/sys/class/net/<iface>/irqmod/(\w+)$", re.MULTILINE)


def test_each_file_in_sysfs_is_described() -> None:
    described = WHAT.findall((ENGINE / "sysfs-class-net-irqmod").read_text())
    assert sorted(described) == sorted(name for path in SOURCES for name in ATTRIBUTE.findall(path.read_text()))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_exported_functions_have_kernel_doc(path: Path) -> None:
    text = path.read_text()
    for name in re.findall(r"^EXPORT_SYMBOL_GPL\((\w+)\);", text, re.MULTILINE):
        comment = rf"^/\*\*\n \* {name}\(\) - .*?^ \*/\n"
        doc = re.search(rf"{comment}[a-z][a-z0-9_ ]*[ *]{name}\(([^)]*)\)", text, re.MULTILINE | re.DOTALL)
        assert doc, name
        parameters = re.findall(r"(\w+)(?:,|$)", doc[1])
        assert all(f"\n * @{parameter}: " in doc[0] for parameter in parameters), name
