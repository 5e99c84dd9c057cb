# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of our own drivers, in a DUT."""

from __future__ import annotations

from functools import cache

import pytest

from irqlab.bed import Bed, BedConfig

DRIVERS = ("irqmod_i8255x", "irqmod_rtl8139cp")


@cache
def bed_of(driver: str) -> Bed:
    """A bed per driver, so that what was measured of it is measured once."""
    return Bed.resolve(BedConfig(driver))


@pytest.fixture(params=DRIVERS)
def bed(request: pytest.FixtureRequest) -> Bed:
    return bed_of(request.param)
