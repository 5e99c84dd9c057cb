# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the tester on real ports, between veth pairs in network namespaces of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from irqlab.setup import network
from tests.live.bench import Bench, why_not

os.environ |= network.environment()
WHY_NOT = why_not()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A tester and a device that does nothing yet."""
    if WHY_NOT:
        pytest.skip(WHY_NOT)
    with Bench(tmp_path) as made:
        yield made


@pytest.fixture(params=["af_packet", "af_xdp"])
def kind(request: pytest.FixtureRequest, bench: Bench) -> str:
    """Both kinds of ports; AF_XDP only if the kernel lets us."""
    wanted = str(request.param)
    if wanted == "af_xdp" and (why := bench.refusal("--kind=af-xdp")):
        pytest.skip(why)
    return wanted


@pytest.fixture
def router(bench: Bench) -> Bench:
    """A tester and a router."""
    bench.route()
    return bench
