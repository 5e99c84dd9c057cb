# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT of a hunt with two processors, and coverage that cannot be found out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.errors import IrqlabError
from irqlab.hunting.options import Options
from irqlab.methods import hunt
from irqlab.runner.runner import TrialRunner
from tests.unit.fakes import FakeTestbed, stand_on

TURNS = Options(what="processors")


def runner(version: tuple[int, int] = (7, 2), **changed: Any) -> TrialRunner:
    testbed: Any = FakeTestbed(lambda pps: pps)
    testbed.config = replace(TestbedConfig("racy", functional=False, cpus=1), **changed)
    testbed.machine = SimpleNamespace(qemu=SimpleNamespace(version=version, version_text="QEMU 10.0"))
    return stand_on(testbed)


def test_processors_take_turns_in_a_dut_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt.Testbed, "resolve", lambda config: ("resolved", config))
    given = runner()
    found: Any = hunt._in_turn(given, TURNS)
    assert found.testbed == ("resolved", replace(given.testbed.config, cpus=2, in_turn=True))
    assert (found.slots, found.progress) == (given.slots, given.progress)


@pytest.mark.parametrize("changed", [{"functional": True}, {"functional": True, "cpus": 2}, {"memory": "a board"}])
def test_processors_are_not_chosen_otherwise(changed: dict[str, Any]) -> None:
    with pytest.raises(IrqlabError, match=r"^--what processors: it chooses the processors itself: not with --functional, --cpus"):
        hunt._in_turn(runner(**changed), TURNS)


def test_processors_take_turns_only_with_one_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt.Testbed, "resolve", lambda config: config)
    with pytest.raises(IrqlabError, match=r"^--what processors: only with QEMU 7, and this is QEMU 10\.0$"):
        hunt._in_turn(runner((10, 7)), TURNS)
    assert hunt._in_turn(runner((7, 0)), TURNS)


def test_coverage_is_of_the_driver_or_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    given = replace(runner(), progress=said.append)
    monkeypatch.setattr(hunt, "coverage_of", lambda testbed, pcs: (testbed, pcs))
    assert hunt._covered(given, {7}) == (given.testbed, {7})

    def unknown(*_: Any) -> Any:
        raise IrqlabError("no symbols")

    monkeypatch.setattr(hunt, "coverage_of", unknown)
    assert hunt._covered(given, {7}) == ()
    assert said == ["no coverage: no symbols"]
