# SPDX-License-Identifier: GPL-2.0-or-later
"""The TAP scripts of drivers/tests, for every driver; those for every combination of schemes once for each.

`make test` runs those of the engine with one driver, and some of those of a chip not here, but on its model.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from irqlab.config.schemes import COMBINATIONS, Combination
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from tests.chips import OF_CHIPS
from tests.drivers.conftest import DRIVERS

OF_THE_ENGINE = {
    "backstop": "irqmod_i8255x",
    "bad_input": "irqmod_rtl8139cp",
    "instruments": "irqmod_rtl8139cp",
    "interface": "irqmod_i8255x",
    "memory_back": "irqmod_rtl8139cp",
    "refill_retry": "irqmod_rtl8139cp",
    "threaded": "irqmod_rtl8139cp",
    "timer_share": "irqmod_rtl8139cp",
    "timers": "irqmod_rtl8139cp",
}
"""Scripts for what the engine does, the same with every driver, and the driver with which `make test` runs them."""

ON_A_CARD = {"commands", "registers", "stale_wake"}
"""Scripts that take long, which `make test` runs on the tester's models of the chips alone (test_wire.py)."""


def is_long(script: tap.Script, driver: str) -> bool:
    """Whether `make test` leaves the script out with this driver."""
    return script.long or script.name in ON_A_CARD or OF_THE_ENGINE.get(script.name, driver) != driver


def runs() -> Iterator[Any]:
    for driver, script in product(DRIVERS, tap.scripts()):
        marks = [pytest.mark.long] if is_long(script, driver) else []
        for combination in COMBINATIONS if script.every_combination else (None,):
            name = f"{driver}-{script.name}" + (f"-{combination}" if combination else "")
            yield pytest.param(driver, script, combination, id=name, marks=marks)


def test_what_is_left_out_is_run_elsewhere() -> None:
    assert {script.name for script in tap.scripts() if script.engine} >= OF_THE_ENGINE.keys()
    assert set(OF_THE_ENGINE.values()) <= set(DRIVERS)
    assert set(OF_CHIPS) >= ON_A_CARD


@pytest.mark.parametrize(("overload", "script", "combination"), list(runs()), indirect=["overload"])
def test_in_the_dut(overload: Overload, script: tap.Script, combination: Combination | None) -> None:
    report = tap.run(overload, script, combination)
    print(report.text)
    assert report.failures == []
    if report.skipped_whole:
        pytest.skip(report.skipped[0])
