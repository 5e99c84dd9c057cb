# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials are the same on an idle host, on one core and under load: nothing may depend on when the host runs which thread."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from irqlab import Lab

BURN = [sys.executable, "-c", "while True: pass"]
RATES_PPS = (2_000, 23_496.24, 110_000)
"""An idle DUT, one at half its throughput, and an overload."""


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Everything that is started runs on one core."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@contextlib.contextmanager
def load() -> Iterator[None]:
    """Two busy loops for each core."""
    with contextlib.ExitStack() as burning:
        for _ in range(2 * len(os.sched_getaffinity(0))):
            burning.callback(burning.enter_context(subprocess.Popen(BURN)).kill)
        yield


@contextlib.contextmanager
def one_core_with_a_load() -> Iterator[None]:
    """Both."""
    with one_core(), load():
        yield


def measure(lab: Lab, jobs: int) -> list[str]:
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda rate: json.dumps(lab.trial(rate, duration_ns=50_000_000).to_json()), RATES_PPS))


@pytest.mark.parametrize("driver", ["8139cp", pytest.param("lan78xx", marks=pytest.mark.long)])
def test_the_host_changes_nothing(driver: str) -> None:
    lab = Lab(driver, jobs=len(RATES_PPS), cached=False)
    alone = measure(lab, jobs=1)
    assert len(set(alone)) == len(RATES_PPS)
    for disturbance in (one_core, load, one_core_with_a_load):
        with disturbance():
            assert measure(lab, jobs=len(RATES_PPS)) == alone, disturbance.__name__
