# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make test-debug` runs, together, is everything that can run on debug kernels."""

from __future__ import annotations

import pytest

from irqlab.robustness import tap

from .test_debug import ALWAYS, BUILDS, IN_TURN, OF_PCI, OF_THE_CLOCK, OURS, SHARES, cases, combinations, of_others


@pytest.mark.parametrize("driver", OURS)
def test_the_selection_covers_each_combination_and_each_script(driver: str) -> None:
    usb = "lan78xx" in driver
    every = combinations(driver)
    planned = [case for build in SHARES for case in cases(build, driver)]
    assert {case.combination for case in planned if ALWAYS in case.scripts} == set(every)
    assert {name for case in planned for name in case.scripts} == {script.name for script in tap.scripts()} - {
        *OF_THE_CLOCK,
        *of_others(driver),
    }
    for name in IN_TURN:
        if not (usb and name in OF_PCI):
            assert {c.combination.rx for c in planned if name in c.scripts and c.combination} == {c.rx for c in every}


@pytest.mark.parametrize("driver", OURS)
@pytest.mark.parametrize("build", BUILDS)
def test_each_build_changes_at_random_stops_under_load_and_suspends(build: str, driver: str) -> None:
    planned = {name for case in cases(build, driver) for name in case.scripts}
    assert {"random", "together", ALWAYS, *IN_TURN} - {*of_others(driver)} <= planned
