# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of our own drivers, in a DUT."""

from __future__ import annotations

from functools import cache

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.robustness.overload import Overload
from irqlab.trials.testbed import Testbed

DRIVERS = ("irqmod_i8255x", "irqmod_rtl8139cp")


@cache
def overload_of(driver: str) -> Overload:
    """One per driver, so that its capacities are measured once."""
    return Overload(Testbed.resolve(TestbedConfig(driver)))


@pytest.fixture(params=DRIVERS)
def overload(request: pytest.FixtureRequest) -> Overload:
    return overload_of(request.param)
