# SPDX-License-Identifier: GPL-2.0-or-later
"""Schemes that a driver cannot have are refused before anything boots."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.engine import MASK, MODERATION, TRANSFERS
from irqlab.config.schemes import Schemes
from irqlab.dut.schemes import SchemeError, check
from irqlab.setup import drivers

ENGINE: Any = SimpleNamespace(name=drivers.ENGINE, data=b"dim\0standard\0itr\0")
DRIVER: Any = SimpleNamespace(name="irqmod_x", data=b"")


@pytest.mark.parametrize(
    ("rx", "usb", "has"), [("dim", True, "USB hardware, which has --rx hybrid,napi"), ("standard", False, "this PCI")]
)
def test_schemes_of_the_other_bus_are_named(rx: str, usb: bool, has: str) -> None:
    with pytest.raises(SchemeError, match=f"--rx {rx}: not with {has}"):
        check(Schemes(rx=rx), [ENGINE, DRIVER], {TRANSFERS} if usb else {MASK})


def test_the_drivers_own_schemes_pass() -> None:
    check(Schemes(rx="dim"), [ENGINE, DRIVER], {MASK})
    check(Schemes(rx="standard"), [ENGINE, DRIVER], {TRANSFERS})
    check(Schemes(rx="itr"), [ENGINE, DRIVER], {MASK, MODERATION})
