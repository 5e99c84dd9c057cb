# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab reproduce hybrid` on a DUT that is a formula: what is measured under which condition."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.costs import Costs
from irqlab.config.testbed import DutConfig
from irqlab.config.traffic import Load
from irqlab.errors import IrqlabError
from irqlab.reproduce import find, patches
from irqlab.reproduce.hybrid import conditions, measure, schemes, softirqs
from irqlab.reproduce.hybrid.conditions import PATCHED, Condition
from irqlab.reproduce.hybrid.measure import ConditionRow, Tables
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.loads import PLAN
from irqlab.reproduce.table import Table
from tests.unit.fake_session import FakeSession
from tests.unit.paper_tables import hybrid
from tests.unit.reproduce.salah2009.test_salah2009 import bench


@pytest.fixture(autouse=True)
def _no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "kernel", lambda *_: "tree:/linux")


def session(kernel: str | None = None, scheme: str | None = "napi", long: bool = False) -> FakeSession:
    config = SimpleNamespace(kernel=kernel, dut=DutConfig(ring=64))
    return FakeSession(lambda *_, **__: bench(scheme=scheme), quick=True, config=config, long=long)


def test_every_kernel_has_its_cliff_and_every_scheme() -> None:
    asked = session()
    tables: Tables = measure.measure(asked)  # type: ignore[arg-type]
    assert tables.kernels == measure.QUICK_KERNELS
    assert {row.kernel for row in tables.cliff} == set(measure.QUICK_KERNELS)
    assert [row.scheme for row in tables.throughput.by(lambda r: (r.kernel, r.load_of_cliff))["6.1", 2.0]] == [*schemes.SERIES]
    assert {row.condition for row in tables.conditions} == {one.name for one in conditions.QUICK_CONDITIONS}
    full = session()
    full.quick = False
    tables = measure.measure(full)  # type: ignore[arg-type]
    assert {row.condition for row in tables.conditions} == {one.name for one in conditions.CONDITIONS}
    assert {"kernel": "6.1", "cost_model": True} in [changes for _, changes in full.made]


def test_what_is_received_is_held_against_the_better_of_the_others_but_not_against_more_than_is_offered() -> None:
    tables: Tables = measure.measure(session())  # type: ignore[arg-type]
    assert [row.to_best for row in tables.throughput] == [1.0] * len(tables.throughput.rows)
    beyond = tables.throughput.where(lambda r: r.load_of_cliff == 4.0)
    assert beyond
    assert all(row.application_pps < row.offered_pps for row in beyond)


def test_what_only_the_old_rule_can_tell_is_not_claimed_of_another_kernel() -> None:
    words = "nice 19 alone"
    told = {kernel: measure.measure(session(kernel)) for kernel in (None, "7.3")}  # type: ignore[arg-type]
    assert any(words in one.claim for one in find("hybrid").findings(told[None]))
    assert not any(words in one.claim for one in find("hybrid").findings(told["7.3"]))


def test_a_condition_is_the_difference_to_the_first_row() -> None:
    tables: Tables = measure.measure(session())  # type: ignore[arg-type]
    first = {(r.scheme, r.load_of_cliff): r.application_pps for r in tables.conditions if r.condition == conditions.BASE.name}
    assert all(row.off_pps == first[row.scheme, row.load_of_cliff] for row in tables.conditions)


@pytest.mark.parametrize(
    ("asked", "names", "kernels"),
    [
        (None, conditions.CONDITIONS, {"6.1", "6.12"}),
        ("7.3", tuple(one for one in conditions.CONDITIONS if one.kernel is None), {"7.3"}),
    ],
)
def test_the_kernel_that_is_asked_for_has_the_conditions_that_it_can_have(
    asked: str | None, names: tuple[Condition, ...], kernels: set[str]
) -> None:
    found = conditions.conditions(asked)
    assert [one.name for one in found] == [one.name for one in names]
    assert {one.kernel for one in found} == kernels


def test_a_patched_kernel_has_its_sysctls_its_options_and_the_ring_that_was_asked_for() -> None:
    asked = session(long=True)
    tables: Tables = measure.measure(asked)  # type: ignore[arg-type]
    on_tree = [changes for _, changes in asked.made if changes["kernel"] == "tree:/linux"]
    both = (conditions.ROUNDS_ONLY, conditions.SPARES_USERS)
    assert [changes["dut"].sysctls for changes in on_tree] == [(), (), (), (both[0],), (both[1],), both, both]
    assert {changes["dut"].ring for changes in on_tree} == {64}
    assert {changes["kconfig"] for changes in on_tree} == {(str(softirqs.KCONFIG),)}
    assert "CONFIG_SCHEDSTATS=y" in softirqs.KCONFIG.read_text()
    assert tables.softirqs is not None
    assert {(row.condition, row.kernel) for row in tables.softirqs} == {(one.name, softirqs.NAME) for one in PATCHED}
    assert softirqs.NAME in {row.kernel for row in tables.cliff}
    assert softirqs.NAME not in tables.kernels


def test_a_patched_kernel_is_measured_only_if_asked_for_and_on_no_other() -> None:
    assert measure.measure(session()).softirqs is None  # type: ignore[arg-type]
    assert measure.measure(session("7.3", long=True)).softirqs is None  # type: ignore[arg-type]


def test_level_is_no_win() -> None:
    made = hybrid(True)
    level = [replace(row, application_pps=1e4) if row.scheme != schemes.PACED else row for row in made.conditions]
    found = find("hybrid").findings(replace(made, conditions=Table("c", ConditionRow, tuple(level))))
    assert not next(one for one in found if "where ksoftirqd does not hold" in one.claim).agrees


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (conditions.NICE, {"nice": 19}),
        (conditions.COST, {"costs": Costs(irq=5000.0)}),
        (conditions.POISSON, {"load": Load(1000.0, arrivals="poisson")}),
        (conditions.BURSTS, {"load": Load(2000.0, arrivals="bursts")}),
    ],
)
def test_a_condition_changes_one_thing(condition: Condition, expected: dict[str, Any]) -> None:
    made = conditions.trial(condition, rows.de(), 1000.0, PLAN)
    usual = {"nice": None, "costs": None, "load": Load(1000.0)}
    assert {"nice": made.tuning.ksoftirqd_nice, "costs": made.costs, "load": made.load} == {**usual, **expected}


def test_a_driver_without_schemes_is_refused() -> None:
    with pytest.raises(IrqlabError, match="has no receive scheme that can be set"):
        measure.measure(session(scheme=None))  # type: ignore[arg-type]
