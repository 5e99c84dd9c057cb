# SPDX-License-Identifier: GPL-2.0-or-later
"""Goals, limits and figures."""

from __future__ import annotations

import math

import pytest

from irqlab.errors import IrqlabError
from irqlab.tuning.goal import METRICS, Figures, Wanted, awake, goals, limits
from tests.unit.tuning.spaces import figures


@pytest.mark.parametrize(
    ("text", "kept", "broken"),
    [
        ("p99 < 200 us", {"p99_ns": 199_000}, {"p99_ns": 201_000}),
        ("p99<0.2ms", {"p99_ns": 199_000}, {"p99_ns": 201_000}),
        ("loss = 0", {"loss": 0.0}, {"loss": 0.001}),
        ("loss < 1%", {"loss": 0.009}, {"loss": 0.011}),
        ("cpu <= 50 %", {"cpu": 0.5}, {"cpu": 0.51}),
        ("throughput > 40 kpps", {"passed": 40_001.0}, {"passed": 39_000.0}),
    ],
)
def test_limits(text: str, kept: dict[str, float], broken: dict[str, float]) -> None:
    (limit,) = limits(text)
    assert limit.violation(figures(**kept)) <= 0
    assert limit.violation(figures(**broken)) > 0


def test_a_limit_holds_at_every_load() -> None:
    (limit,) = limits("p99 < 200 us")
    assert limit.violation(Figures.of([figures(p99_ns=10_000), figures(p99_ns=300_000)])) > 0
    assert limit.violation(figures(p99_ns=None)) == math.inf


@pytest.mark.parametrize(
    "text", ["p99 200", "p99 < 200", "p99 < 200 kpps", "speed < 3 us", "throughput = 4 kpps", "cpu < 5", "p99 < 1.2.3 us", ""]
)
def test_bad_limits(text: str) -> None:
    with pytest.raises(IrqlabError, match="--keep"):
        limits(text)


def test_bad_goals() -> None:
    with pytest.raises(IrqlabError, match="--goal 'speed': allowed are throughput, p99, p50, cpu, awake"):
        goals("speed")


def test_several_loads() -> None:
    found = Figures.of([figures(p99_ns=10_000, cpu=0.2, passed=1000.0), figures(p99_ns=40_000, cpu=0.4, passed=3000.0)])
    assert (found.p99_ns, found.passed) == (20_000, 2000.0)
    assert found.cpu == pytest.approx(0.3)
    assert Figures.of([figures(), figures(p99_ns=None)]).p99_ns is None


def test_more_loss_than_the_defaults_is_no_gain() -> None:
    usual = figures()
    assert not Wanted(goals("p99")).kept(figures(p99_ns=1, loss=0.01), usual)
    assert Wanted(goals("p99"), limits("loss < 2 %")).kept(figures(p99_ns=1, loss=0.01), usual)
    assert Wanted(goals("throughput")).kept(figures(loss=0.01), usual)


def test_gains() -> None:
    usual = figures()
    assert Wanted(goals("p99")).gain(figures(p99_ns=75_000), usual) == pytest.approx(0.25)
    assert Wanted(goals("throughput")).gain(figures(passed=50_000.0), usual) == pytest.approx(0.25)
    assert Wanted(goals("p99,cpu")).gain(figures(p99_ns=50_000), usual) == pytest.approx(0.5)
    assert Wanted(goals("p99")).gain(figures(p99_ns=None), usual) == 0


def test_awake() -> None:
    assert awake(0.5, 10_000, 1) == pytest.approx(0.6)
    assert awake(0.5, 10_000, 4) == pytest.approx(0.525)
    assert awake(0.9, 1e6, 1) == 1.0
    assert METRICS["awake"].cost(figures(awake=None)) == math.inf
