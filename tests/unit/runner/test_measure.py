# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of a measurement that ends early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.dut.agent import DutError
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue, latency, loss
from irqlab.qemu import machine
from irqlab.qemu.failure import MachineError
from irqlab.report import view
from irqlab.results.document import MethodResult
from irqlab.runner.measure import Outcome, measure
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from irqlab.trials.testbed import Testbed
from tests.unit.fakes import FakeBench


def failing(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
    runner.trial(runner.spec(workload, 1000.0))
    raise IrqlabError("the DUT is gone")


@pytest.mark.parametrize(("name", "files_under"), [("demo", "throughput"), ("compare", "throughput"), ("loss", "loss")])
def test_what_is_cut_short_is_a_row_of_a_method(monkeypatch: pytest.MonkeyPatch, name: str, files_under: str) -> None:
    bench = FakeBench(lambda pps: pps)
    monkeypatch.setattr(Testbed, "resolve", lambda _: bench)
    outcome: Outcome = measure([TestbedConfig("formula")], [Workload()], 1, failing, name, files_under)
    assert outcome.error is not None
    (row,) = outcome.results
    assert (row.method, row.complete, row.summary, len(row.trials)) == (files_under, False, None, 1)
    assert files_under in catalogue.methods()


@dataclass
class FragileBench(FakeBench):
    """Breaks in the trials that `breaks` names."""

    breaks: Callable[[ForwardingTrial], bool] = lambda _: False

    def forwarded(self, spec: ForwardingTrial) -> ForwardingResult:
        if self.breaks(spec):
            raise IrqlabError("the DUT is gone")
        return super().forwarded(spec)


def of_loss(spec: ForwardingTrial) -> bool:
    return spec.loads[0].rate_pps > 160_000


def of_latency(spec: ForwardingTrial) -> bool:
    return spec.histogram and spec.loads[0].rate_pps > 40_000


@pytest.mark.parametrize(("method", "breaks", "samples"), [(loss, of_loss, 11), (latency, of_latency, 2)])
def test_what_was_measured_of_a_method_that_is_cut_short_is_shown_and_marked(
    monkeypatch: pytest.MonkeyPatch, method: Any, breaks: Callable[[ForwardingTrial], bool], samples: int
) -> None:
    bench = FragileBench(lambda pps: min(pps, 50_000.0), breaks=breaks)
    monkeypatch.setattr(Testbed, "resolve", lambda _: bench)
    name = method.METHOD.name
    outcome = measure([TestbedConfig("formula")], [Workload()], 1, lambda r, w: [method.run(r, w)], name, name)
    (result,) = outcome.results
    assert (result.method, result.complete, len(result.samples)) == (name, False, samples)
    assert [sample.load for sample in result.samples] == sorted(sample.load for sample in result.samples)
    result.trials = []  # of formulas: not as in a document
    rows = catalogue.rows([outcome.document])
    (table, *_) = method.METHOD.printed(rows, method.METHOD.options())
    assert len(table.rows) == samples + 1
    assert [cell.text for line in table.rows for cell in line if getattr(cell, "text", "") == "cut short"] == ["cut short"]
    page = view.build([outcome.document])
    assert name in [section.id for section in page.sections]
    assert page.notices[0].items


def rowing(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
    return [runner.result("burst", workload)]


@pytest.mark.parametrize(("count", "expected"), [(1, [UNSET]), (2, [0, 1])])
def test_a_row_names_its_dut_if_there_are_several(
    monkeypatch: pytest.MonkeyPatch, count: int, expected: list[int | UnsetType]
) -> None:
    bench = FakeBench(lambda pps: pps)
    monkeypatch.setattr(Testbed, "resolve", lambda _: bench)
    outcome = measure([TestbedConfig("formula")] * count, [Workload()], 1, rowing, "burst", "burst")
    assert [row.dut for row in outcome.results] == expected
    assert all(("dut" in row.to_json()) == (count > 1) for row in outcome.results)


class UnpreparedBench(FakeBench):
    """A bench that cannot be prepared: its driver kills the DUT."""

    def describe(self) -> dict[str, Any]:
        raise DutError("insmod: the DUT went away")


class StartingBench(FakeBench):
    """A bench that starts a machine, but for the files that it needs."""

    def describe(self) -> dict[str, Any]:
        missing = Path("/nonexistent/tester.so")
        config: Any = SimpleNamespace(
            functional=False, cpus=1, tester=missing, initrd=missing, kernel=SimpleNamespace(vmlinux=missing)
        )
        with pytest.raises(MachineError, match=r"tester.so is missing"):
            machine.start(config)
        return super().describe()


def test_after_a_driver_that_kills_the_dut_others_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, error in ((UnpreparedBench, "formula: insmod: the DUT went away"), (StartingBench, "None")):
        bench = kind(lambda pps: pps)
        monkeypatch.setattr(Testbed, "resolve", lambda _, bench=bench: bench)
        outcome = measure([TestbedConfig("formula")], [Workload()], 1, rowing, "burst", "burst")
        assert str(outcome.error) == error
