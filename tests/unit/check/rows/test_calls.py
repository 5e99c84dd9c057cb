# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that fail: what goes wrong with one does not hide what goes wrong with others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.check import load
from irqlab.check.rows import calls
from irqlab.check.rows.calls import Action, Failing
from irqlab.dut.agent import DutError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.trials.hunt import NEVER

NOTHING = Action("a setting", lambda _: None, lambda _: None, lambda _: None)
WARNING = "the DUT's kernel logged a problem: WARNING: CPU: 0 PID: 74 at kernel/irq/manage.c:1887 free_irq+0x1d3/0x340"


class Place:
    """A workplace whose DUTs do nothing; `opened` counts them."""

    def __init__(self) -> None:
        self.testbed = None
        self.allowance = SimpleNamespace(part=lambda _: SimpleNamespace(over=False))
        self.doing = ""
        self.opened = 0

    def progress(self, text: str) -> None:
        """Nothing."""

    @contextmanager
    def dut(self) -> Iterator[Any]:
        """A DUT."""
        self.opened += 1
        log = SimpleNamespace(check=lambda messages: None, forget=lambda: None)
        yield SimpleNamespace(wait_forwarding=lambda: 0, kernel_log=log)


def failing(monkeypatch: pytest.MonkeyPatch, wrong: dict[tuple[str, int], Exception], counts: dict[str, int]) -> Place:
    """A driver that calls functions so often, and with which these calls go wrong."""
    names = list(counts)

    def meanwhile(_: Any, __: Action, probes: dict[str, int], call: int = NEVER) -> list[Any]:
        if call == NEVER:
            return [[number, 0, 0, False] for number, name in enumerate(names) for _ in range(counts[name])]
        (name,) = probes
        if error := wrong.get((name, call)):
            raise error
        return [[0, 0, 0, True]]

    monkeypatch.setattr(calls, "functions", lambda _: None)
    monkeypatch.setattr(calls, "used", lambda *_: {name: number for number, name in enumerate(names)})
    monkeypatch.setattr(calls, "_meanwhile", meanwhile)
    monkeypatch.setattr(load, "passes", lambda *_: True)
    return Place()


def test_all_calls_fail_in_one_dut(monkeypatch: pytest.MonkeyPatch) -> None:
    place = failing(monkeypatch, {}, {"kmalloc": 3, "build_skb": 1})
    found = Failing(place).all([NOTHING])  # type: ignore[arg-type]
    assert (found.status, place.opened) == ("pass", 1)
    assert "4 of 4 calls failed" in found.said


def test_a_fault_does_not_hide_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: dict[tuple[str, int], Exception] = {("kmalloc", call): KernelProblemError(WARNING) for call in range(40)}
    wrong["build_skb", 0] = DutError("no frames pass any more")
    place = failing(monkeypatch, wrong, {"kmalloc": 40, "build_skb": 1})
    found = Failing(place).all([NOTHING])  # type: ignore[arg-type]
    assert found.status == "fail"
    assert found.said == f"a setting: call 0 of kmalloc() failed, and all was set up again: {WARNING} (and 1 more)"
    assert found.kinds == (
        "a setting: kmalloc(): WARNING at kernel/irq/manage.c free_irq()",
        "a setting: build_skb(): no frames pass any more",
    )
    assert place.opened == 4, "two calls of kmalloc() and one of build_skb() failed, each of which cost a DUT"
