# SPDX-License-Identifier: GPL-2.0-or-later
"""The TAP scripts of drivers/tests, for every driver; those for every combination of schemes once for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from irqlab.config.schemes import COMBINATIONS, Combination
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload


def runs() -> Iterator[Any]:
    for script in tap.scripts():
        marks = [pytest.mark.long] if script.long else []
        for combination in COMBINATIONS if script.every_combination else (None,):
            name = f"{script.name}-{combination}" if combination else script.name
            yield pytest.param(script, combination, id=name, marks=marks)


@pytest.mark.parametrize(("script", "combination"), list(runs()))
def test_in_the_dut(overload: Overload, script: tap.Script, combination: Combination | None) -> None:
    report = tap.run(overload, script, combination)
    print(report.text)
    assert report.failures == []
    if report.skipped_whole:
        pytest.skip(report.skipped[0])
