# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of a measurement that ends early."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.results.document import MethodResult
from irqlab.runner.measure import Outcome, measure
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed
from tests.data.sample_documents import dut
from tests.unit.fakes import FakeTestbed


class NamedTestbed(FakeTestbed):
    label = "formula"

    def describe(self) -> dict[str, Any]:
        return dut(self.driver, self.nic.model)


def failing(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
    runner.trial(runner.spec(workload, 1000.0))
    raise IrqlabError("the DUT is gone")


@pytest.mark.parametrize(("name", "files_under"), [("demo", "throughput"), ("compare", "throughput"), ("loss", "loss")])
def test_what_is_cut_short_is_a_row_of_a_method(monkeypatch: pytest.MonkeyPatch, name: str, files_under: str) -> None:
    testbed = NamedTestbed(lambda pps: pps)
    testbed.nic = SimpleNamespace(model="paper", line_rate_bps=100_000_000, note="")
    testbed.machine = SimpleNamespace(mips=250, kernel=SimpleNamespace(release="6.1"))
    monkeypatch.setattr(Testbed, "resolve", lambda _: testbed)
    outcome: Outcome = measure([TestbedConfig("formula")], [Workload()], 1, failing, name, files_under)
    assert outcome.error is not None
    (row,) = outcome.results
    assert (row.method, row.complete, row.summary, len(row.trials)) == (files_under, False, None, 1)
    assert files_under in catalogue.methods()


def rowing(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
    return [runner.result("burst", workload)]


@pytest.mark.parametrize(("count", "expected"), [(1, [None]), (2, [0, 1])])
def test_a_row_names_its_dut_if_there_are_several(
    monkeypatch: pytest.MonkeyPatch, count: int, expected: list[int | None]
) -> None:
    testbed = NamedTestbed(lambda pps: pps)
    testbed.nic = SimpleNamespace(model="paper", line_rate_bps=100_000_000, note="")
    testbed.machine = SimpleNamespace(mips=250, kernel=SimpleNamespace(release="6.1"))
    monkeypatch.setattr(Testbed, "resolve", lambda _: testbed)
    outcome = measure([TestbedConfig("formula")] * count, [Workload()], 1, rowing, "burst", "burst")
    assert [row.dut for row in outcome.results] == expected
    assert all(("dut" in row.to_json()) == (count > 1) for row in outcome.results)
