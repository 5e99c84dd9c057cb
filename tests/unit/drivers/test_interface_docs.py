# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written about the engine's interfaces: its files in sysfs, and the functions that chips call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irqlab.setup import drivers

ENGINE = drivers.home() / "irqmod"
SOURCES = sorted(ENGINE.rglob("*.c"))
DESCRIPTIONS = sorted(ENGINE.rglob("sysfs-class-net-irqmod"))
ATTRIBUTE = re.compile(r"(?:DEVICE_ATTR_RW\(|{ IRQMOD_SETTING\(\w+, |{ \.name = \")(\w+)")
MEASURE = re.compile(r"^MEASURE\((\w+)\);", re.MULTILINE)
WHAT = re.compile(r"^(?:What:)?\t+/sys/class/net/<iface>/(irqmod(?:_usb)?/\w+)$", re.MULTILINE)


def test_each_file_in_sysfs_is_described() -> None:
    described = [name for path in DESCRIPTIONS for name in WHAT.findall(path.read_text())]
    engine = [f"irqmod/{name}" for path in SOURCES for name in ATTRIBUTE.findall(path.read_text())]
    usb = [f"irqmod_usb/{name}" for name in MEASURE.findall((drivers.home() / "lan78xx" / "measures.c").read_text())]
    assert sorted(described) == sorted(engine + usb)


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda path: path.parent.name)
def test_descriptions_have_the_fields_of_the_kernels(path: Path) -> None:
    """Documentation/ABI/README."""
    for entry in path.read_text().strip().split("\n\nWhat:"):
        assert [field for field in ("Date:", "KernelVersion:", "Contact:", "Description:") if f"\n{field}" not in entry] == []


def _operations() -> set[str]:
    """Functions for the kernel's structures, which describe them: those declared below a comment that says so."""
    parts = [part for path in ENGINE.glob("*.h") for part in path.read_text().split("\n\n")]
    paragraphs = [part for part in parts if part.startswith("/* For struct ")]
    return {name for part in paragraphs for name in re.findall(r"^\w+ (irqmod_\w+)\(", part, re.MULTILINE)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_exported_functions_have_kernel_doc(path: Path) -> None:
    text, operations = path.read_text(), _operations()
    assert "irqmod_get_ringparam" in operations
    for name in re.findall(r"^}\nEXPORT_SYMBOL_GPL\((\w+)\);", text, re.MULTILINE):
        if name in operations:
            continue
        comment = rf"^/\*\*\n \* {name}\(\) - .*?^ \*/\n"
        doc = re.search(rf"{comment}[a-z][a-z0-9_ ]*[ *]{name}\(([^)]*)\)", text, re.MULTILINE | re.DOTALL)
        assert doc, name
        parameters = re.findall(r"(\w+)(?:,|$)", doc[1])
        assert all(f"\n * @{parameter}: " in doc[0] for parameter in parameters), name


def test_what_chips_call_inline_has_kernel_doc() -> None:
    text = (ENGINE / "irqmod.h").read_text()
    inline = re.findall(r"^static inline [a-z][a-z_ ]*[ *](irqmod_\w+)\(", text, re.MULTILINE)
    assert inline
    assert [name for name in inline if f"/**\n * {name}() - " not in text] == []


@pytest.mark.parametrize(("header", "struct"), [("irqmod.h", "irqmod_ops"), ("device.h", "irqmod_device_ops")])
def test_each_operation_is_described(header: str, struct: str) -> None:
    ops = re.search(rf"^struct {struct} {{\n(.*?)^}};", (ENGINE / header).read_text(), re.MULTILINE | re.DOTALL)
    assert ops
    for name in re.findall(r"\(\*(\w+)\)\(struct", ops[1]):
        assert re.search(rf"/\*\*(?:\n\t \*)? @{name}: ", ops[1]), name
