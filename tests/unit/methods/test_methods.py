# SPDX-License-Identifier: GPL-2.0-or-later
"""The RFC 2544 methods against DUTs that are formulas."""

from __future__ import annotations

import pytest

from irqlab.config.costs import Costs
from irqlab.config.traffic import Load
from irqlab.config.workload import RELATIVE_WIDTH, Workload
from irqlab.errors import IrqlabError
from irqlab.methods import burst, latency, loss, recovery, throughput
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingTrial
from tests.unit.fakes import FakeBench, stand_on


def plateau(top: float) -> FakeBench:
    return FakeBench(lambda offered: min(offered, top))


def livelock(top: float) -> FakeBench:
    return FakeBench(lambda offered: min(offered, max(0.0, 1.5 * top - offered / 2)))


@pytest.mark.parametrize("top", [537.0, 12_345.0, 54_321.0, 148_000.0])
@pytest.mark.parametrize("make", [plateau, livelock])
def test_throughput_is_found_within_the_stated_width(make, top) -> None:
    testbed = make(top)
    found = throughput.run(stand_on(testbed), Workload(duration_ns=10**9))
    # Rates are tried to the frame only: a load of top + 0.5 loses nothing in a second.
    assert top * (1 - RELATIVE_WIDTH) - 1 <= throughput.rate_per_direction(found) <= top + 1
    assert not found.line_rate_limited
    assert len(testbed.specs) <= 20
    assert all(p.passed == (p.rate_pps <= top + 0.5) for p in found.samples)


def test_throughput_at_wire_rate_takes_one_trial() -> None:
    testbed = plateau(1e9)
    found = throughput.run(stand_on(testbed), Workload(size=512))
    assert len(testbed.specs) == 1
    assert found.line_rate_limited
    assert found.per_interface_throughput_mbps == pytest.approx(100, rel=1e-3)
    assert found.total_throughput_pps == pytest.approx(23_496, rel=1e-3)


@pytest.mark.parametrize("expected_pps", [49_900.0, 20_000.0, 3e5, 1e6])
def test_a_search_around_an_expected_throughput_finds_the_same(expected_pps: float) -> None:
    plain = throughput.run(stand_on(livelock(50_000)), Workload(duration_ns=10**9))
    found = throughput.run(stand_on(livelock(50_000)), Workload(duration_ns=10**9, expected_pps=expected_pps))
    assert found.total_throughput_pps == pytest.approx(plain.total_throughput_pps, rel=0.003)
    if expected_pps == 49_900.0:
        assert len(found.trials) < len(plain.trials)


def test_a_search_ends_whose_bracket_is_as_wide_as_asked_for() -> None:
    """MLRsearch's rounding of loads does not end with such a bracket."""
    workload = Workload(duration_ns=10**9, expected_pps=50_000.0, relative_width=0.01)
    found = throughput.run(stand_on(livelock(49_500)), workload)
    assert found.total_throughput_pps == pytest.approx(49_500, rel=0.01)


def test_a_search_around_more_than_the_wire_carries_takes_one_trial() -> None:
    found = throughput.run(stand_on(plateau(50_000)), Workload(size=1518, duration_ns=10**9, expected_pps=50_000.0))
    assert found.line_rate_limited
    assert len(found.trials) == 1


def test_throughput_counts_both_directions_but_states_mbps_per_interface() -> None:
    found = throughput.run(stand_on(plateau(20_000)), Workload(bidirectional=True, duration_ns=10**9))
    assert found.total_throughput_pps == pytest.approx(40_000, rel=0.003)
    assert found.per_interface_throughput_mbps == pytest.approx(20_000 * 84 * 8 / 1e6, rel=0.003)


def test_a_late_frame_fails_a_trial() -> None:
    testbed = plateau(1e9)
    testbed.late = lambda offered: offered > 30_000
    found = throughput.run(stand_on(testbed), Workload())
    assert throughput.rate_per_direction(found) == pytest.approx(30_000, rel=0.003)


def test_loss_tolerance_raises_the_throughput() -> None:
    strict = throughput.run(stand_on(plateau(50_000)), Workload(duration_ns=10**9))
    tolerant = throughput.run(stand_on(plateau(50_000)), Workload(duration_ns=10**9, loss_tolerance=0.1))
    assert throughput.rate_per_direction(tolerant) == pytest.approx(50_000 / 0.9, rel=0.003)
    assert throughput.rate_per_direction(strict) == pytest.approx(50_000, rel=0.003)


def test_a_dut_that_forwards_nothing_is_an_error() -> None:
    with pytest.raises(IrqlabError, match="loses frames even at"):
        throughput.run(stand_on(FakeBench(lambda _: 0.0)), Workload())


def test_loss_curve_of_a_plateau_and_of_a_livelock() -> None:
    flat = loss.run(stand_on(plateau(50_000)), Workload())
    assert flat.summary.plateau_ratio == pytest.approx(1, rel=0.01)
    assert flat.summary.collapse_load is None
    assert [p.above_line_rate for p in flat.samples] == [p.offered_pps > 148_810 for p in flat.samples]
    falling = loss.run(stand_on(livelock(50_000)), Workload())
    assert falling.summary.collapse_load == 3.0
    assert falling.summary.plateau_ratio == 0


def test_latency_has_a_point_per_share_and_direction() -> None:
    found = latency.run(stand_on(plateau(50_000)), Workload(bidirectional=True))
    assert [(p.load, p.direction) for p in found.samples] == [
        (share, direction) for share in latency.SHARES for direction in ((0, 1), (1, 0))
    ]
    assert all(t.spec.histogram for t in found.trials)


@pytest.mark.parametrize("frames", [1, 15, 16, 95, 5_000])
def test_burst_is_found_to_the_frame(frames: int) -> None:
    testbed = plateau(1e9)
    testbed.burst_frames = frames
    assert burst.run(stand_on(testbed), Workload()).summary.longest_burst_frames == frames


def test_burst_without_limit_ends_at_the_limit() -> None:
    testbed = plateau(1e9)
    testbed.burst_frames = 10**9
    found = burst.run(stand_on(testbed), Workload(size=1518)).summary
    assert found.longest_burst_frames == found.limit_frames == int(2 * 100e6 / (1538 * 8))


def test_recovery_counts_from_the_reduction() -> None:
    found = recovery.run(stand_on(plateau(50_000)), Workload())
    assert [p.overload for p in found.samples] == [1.1, 4.0]
    assert all(p.recovery_ns == 0 and p.lost_after_reduction == 0 for p in found.samples)
    assert [p.reduced_pps for p in found.samples] == [pytest.approx(25_000, rel=0.003)] * 2
    bad = FakeBench(lambda offered: offered if 45_000 < offered < 50_000 else 0.0)
    known = throughput.run(stand_on(plateau(50_000)), Workload())
    assert all(p.recovery_ns == 5_000 for p in recovery.run(stand_on(bad), Workload(), known).samples)


def test_a_burst_is_sent_at_the_wires_rate_and_doubled_then_bisected() -> None:
    testbed = FakeBench(lambda pps: pps, burst_frames=100)
    workload, said = Workload(size=128, bidirectional=True, seed=7, costs=Costs(irq=1)), []
    runner = TrialRunner(testbed, progress=said.append)
    found = burst.run(runner, workload)
    assert [spec.loads[0].count for spec in testbed.specs] == [16, 32, 64, 128, 96, 112, 104, 100, 102, 101]
    wire = runner.wire_pps(workload)
    assert testbed.specs[0] == ForwardingTrial(
        (Load(wire, 128, count=16),), bidirectional=True, duration_ns=int(18 * 1e9 / wire) + 1_000_000, warmup_ns=0,
        drain_ns=200_000_000, seed=7, costs=Costs(irq=1),
    )  # fmt: skip
    assert [(s.burst_frames, s.passed) for s in found.samples][2:5] == [(64, True), (128, False), (96, True)]
    assert (found.method, found.summary) == ("burst", burst.Summary(100, int(burst.LIMIT_S * wire)))
    assert said[2:4] == ["64 frames pass", "128 frames lose some"]
