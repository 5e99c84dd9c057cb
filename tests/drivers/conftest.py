# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of our own drivers, in a DUT, on the kernel that ``--kernel`` selects."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.robustness.overload import Overload
from irqlab.setup import SetupError, kernel
from irqlab.trials.testbed import Testbed

DRIVERS = ("irqmod_i8255x", "irqmod_rtl8139cp")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kernel", help="as for irqlab, e.g. 7.3; default: the one that make setup chose")


@pytest.fixture(scope="session")
def kernel_spec(pytestconfig: pytest.Config) -> str | None:
    """What ``--kernel`` says; pytest knows the option only if this directory is on its command line."""
    spec: str | None = pytestconfig.getoption("--kernel", default=None)
    try:
        kernel.resolve(spec)
    except SetupError as error:
        pytest.exit(f"irqlab: {error}", returncode=2)
    return spec


@pytest.fixture(scope="session")
def overload_of(kernel_spec: str | None) -> Callable[[str], Overload]:
    """One per driver, so that its capacities are measured once."""
    return cache(lambda driver: Overload(Testbed.resolve(TestbedConfig(driver, kernel=kernel_spec))))


@pytest.fixture(params=DRIVERS)
def overload(request: pytest.FixtureRequest, overload_of: Callable[[str], Overload]) -> Overload:
    return overload_of(request.param)
