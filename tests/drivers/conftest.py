# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of our own drivers, in a DUT."""

from __future__ import annotations

from functools import cache

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.trials.testbed import Testbed

DRIVERS = ("irqmod_i8255x", "irqmod_rtl8139cp")


@cache
def bed_of(driver: str) -> Testbed:
    """One testbed per driver, so that its results are measured only once."""
    return Testbed.resolve(TestbedConfig(driver))


@pytest.fixture(params=DRIVERS)
def testbed(request: pytest.FixtureRequest) -> Testbed:
    return bed_of(request.param)
