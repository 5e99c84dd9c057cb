# SPDX-License-Identifier: GPL-2.0-or-later
"""For all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from irqlab.qemu import machine

pytest_plugins = ["tests.leftovers"]


@pytest.fixture(autouse=True)
def not_cancelled() -> Iterator[None]:
    """A test of Ctrl-C, or of a run that fails, cancels no later test."""
    yield
    machine._cancelled.clear()
