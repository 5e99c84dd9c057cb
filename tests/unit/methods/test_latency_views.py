# SPDX-License-Identifier: GPL-2.0-or-later
"""Latencies as they are drawn: on a logarithmic axis, and by percentile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import latency, throughput
from irqlab.results.histogram import Histogram
from tests.data.formulas import Formula, plateau
from tests.unit.fakes import stand_on

KNOWN = throughput.run(stand_on(Formula(plateau(50_000.0))), Workload())


def test_a_logarithmic_axis_has_no_zero() -> None:
    assert [latency._us(ns) for ns in (0, 1, 1500)] == [None, 0.001, 1.5]


def test_a_distribution_is_drawn_from_the_first_value_to_the_last() -> None:
    found = latency._percentiles(Histogram(((1000, 50), (2000, 40), (3000, 10))))
    assert found[0] == (1.0, 1.0)
    assert [us for _, us in found[1:]] == [1.0, 2.0, 3.0]
    assert [place for place, _ in found[1:]] == pytest.approx([100 / 50.5, 100 / 10.5, 100 / 0.5])


def test_a_distribution_has_few_points_but_all_its_steps() -> None:
    flat = Histogram(tuple((1000 + n, 1) for n in range(20_000)))
    found = latency._percentiles(flat)
    assert latency.MAX_POINTS / 2 < len(found) <= latency.MAX_POINTS + 2
    assert found[-1] == (40_000.0, 20.999)
    # Half of the values lie close together; a jump by more than a tenth, or by two thirds, is drawn where it is.
    steps = Histogram((*((1000 + n, 1) for n in range(1000)), (2500, 500), (4200, 500)))
    assert {1.999, 2.5} <= {us for _, us in latency._percentiles(steps)}


def record(p99_ns: int, count: int = 1) -> Any:
    return SimpleNamespace(p99_ns=p99_ns, count=count)


def test_loads_may_be_rates() -> None:
    found = latency.run(stand_on(Formula(plateau(50_000.0))), Workload(), known=KNOWN, rates_pps=(10_000.0, 60_000.0))
    assert [sample.rate_pps for sample in found.samples] == pytest.approx([10_000, 60_000])
    assert [sample.at for sample in found.samples] == [(0.0, pytest.approx(10_000)), (0.0, pytest.approx(60_000))]
    with pytest.raises(IrqlabError, match="--rate x: allowed are numbers"):
        latency.Options(rate="x")


def test_of_two_directions_the_slower_one_counts() -> None:
    samples = [(0.9, record(5)), (0.9, record(7)), (0.1, record(9)), (0.1, record(3)), (0.5, record(8, 0)), (0.5, record(2))]
    row: Any = SimpleNamespace(samples=[SimpleNamespace(at=(load, 0.0), latency=one) for load, one in samples])
    assert [(load, one.p99_ns) for load, one in latency._slower(row).items()] == [
        ((0.1, 0.0), 9),
        ((0.5, 0.0), 2),
        ((0.9, 0.0), 7),
    ]
