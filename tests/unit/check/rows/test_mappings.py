# SPDX-License-Identifier: GPL-2.0-or-later
"""Mappings that fail, in one DUT after the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.check.rows import mappings
from irqlab.dut.agent import DutError
from irqlab.trials.testbed import Testbed


def run(monkeypatch: pytest.MonkeyPatch, wrong: dict[int, str]) -> tuple[Any, int]:
    """The outcome if mappings with these numbers go wrong, and how many DUTs there were."""
    opened = 0

    def in_one_dut(_: Any, __: Any, ___: int, ____: Any, tried: mappings._Tried) -> None:
        nonlocal opened
        opened += 1
        while tried.number < mappings.CALLS:
            tried.number += 1
            if tried.number in wrong:
                raise DutError(wrong[tried.number])
        tried.done = True

    monkeypatch.setattr(mappings, "_in_one_dut", in_one_dut)
    monkeypatch.setattr(mappings, "functions", lambda _: SimpleNamespace(address=lambda _: 0))
    monkeypatch.setattr(mappings, "used", lambda *_: {mappings.MAPS: 0})
    monkeypatch.setattr(mappings, "replace", lambda *_, **__: None)
    monkeypatch.setattr(Testbed, "resolve", lambda _: None)
    testbed = SimpleNamespace(config=SimpleNamespace(kernel_arguments=""), nic=SimpleNamespace(model="e1000"))
    return mappings._mappings(SimpleNamespace(testbed=testbed)), opened  # type: ignore[arg-type]


def test_a_mapping_does_not_hide_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found, opened = run(monkeypatch, {})
    assert (found.status, opened) == ("pass", 1)
    found, opened = run(monkeypatch, {1: "no frames pass any more", 5: "it hangs"})
    assert (found.status, opened) == ("fail", 3)
    assert found.kinds == ("no frames pass any more", "it hangs")
    assert found.said == "mapping 1 failed: no frames pass any more"


def test_two_of_a_kind_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    found, opened = run(monkeypatch, dict.fromkeys(range(1, 40), "no frames pass any more"))
    assert (found.status, opened) == ("fail", 2)
