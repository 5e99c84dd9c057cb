# SPDX-License-Identifier: GPL-2.0-or-later
"""The RFC 2544 methods against DUTs that are formulas."""

from __future__ import annotations

import pytest

from irqlab.errors import IrqlabError
from irqlab.methods import burst, latency, loss, recovery, throughput
from irqlab.methods.stand import RELATIVE_WIDTH, Plan
from tests.unit.fakes import FakeBed, stand_on


def plateau(top: float) -> FakeBed:
    return FakeBed(lambda offered: min(offered, top))


def livelock(top: float) -> FakeBed:
    return FakeBed(lambda offered: min(offered, max(0.0, 1.5 * top - offered / 2)))


@pytest.mark.parametrize("top", [537.0, 12_345.0, 54_321.0, 148_000.0])
@pytest.mark.parametrize("make", [plateau, livelock])
def test_throughput_is_found_within_the_stated_width(make, top) -> None:
    bed = make(top)
    found = throughput.run(stand_on(bed), Plan(duration_ns=10**9))
    # Rates are tried to the frame only: a load of top + 0.5 loses nothing in a second.
    assert top * (1 - RELATIVE_WIDTH) - 1 <= throughput.rate_per_direction(found) <= top + 1
    assert not found.at_wire_rate
    assert len(bed.specs) <= 20
    assert all(p["passed"] == (p["rate_pps"] <= top + 0.5) for p in found.points)


def test_throughput_at_wire_rate_takes_one_trial() -> None:
    bed = plateau(1e9)
    found = throughput.run(stand_on(bed), Plan(size=512))
    assert len(bed.specs) == 1
    assert found.at_wire_rate
    assert found.throughput_mbps == pytest.approx(100, rel=1e-3)
    assert found.throughput_pps == pytest.approx(23_496, rel=1e-3)


@pytest.mark.parametrize("expected_pps", [49_900.0, 20_000.0, 3e5, 1e6])
def test_a_search_around_an_expected_throughput_finds_the_same(expected_pps: float) -> None:
    plain = throughput.run(stand_on(livelock(50_000)), Plan(duration_ns=10**9))
    found = throughput.run(stand_on(livelock(50_000)), Plan(duration_ns=10**9, expected_pps=expected_pps))
    assert found.throughput_pps == pytest.approx(plain.throughput_pps, rel=0.003)
    if expected_pps == 49_900.0:
        assert len(found.trials) < len(plain.trials)


def test_a_search_around_more_than_the_wire_carries_takes_one_trial() -> None:
    found = throughput.run(stand_on(plateau(50_000)), Plan(size=1518, duration_ns=10**9, expected_pps=50_000.0))
    assert found.at_wire_rate
    assert len(found.trials) == 1


def test_throughput_counts_both_directions_but_states_mbps_per_interface() -> None:
    found = throughput.run(stand_on(plateau(20_000)), Plan(bidirectional=True, duration_ns=10**9))
    assert found.throughput_pps == pytest.approx(40_000, rel=0.003)
    assert found.throughput_mbps == pytest.approx(20_000 * 84 * 8 / 1e6, rel=0.003)


def test_a_late_frame_fails_a_trial() -> None:
    bed = plateau(1e9)
    bed.late = lambda offered: offered > 30_000
    found = throughput.run(stand_on(bed), Plan())
    assert throughput.rate_per_direction(found) == pytest.approx(30_000, rel=0.003)


def test_loss_tolerance_raises_the_throughput() -> None:
    strict = throughput.run(stand_on(plateau(50_000)), Plan(duration_ns=10**9))
    tolerant = throughput.run(stand_on(plateau(50_000)), Plan(duration_ns=10**9, loss_tolerance=0.1))
    assert throughput.rate_per_direction(tolerant) == pytest.approx(50_000 / 0.9, rel=0.003)
    assert throughput.rate_per_direction(strict) == pytest.approx(50_000, rel=0.003)


def test_a_dut_that_forwards_nothing_is_an_error() -> None:
    with pytest.raises(IrqlabError, match="loses frames even at"):
        throughput.run(stand_on(FakeBed(lambda _: 0.0)), Plan())


def test_loss_curve_of_a_plateau_and_of_a_livelock() -> None:
    flat = loss.run(stand_on(plateau(50_000)), Plan())
    assert flat.found["plateau_ratio"] == pytest.approx(1, rel=0.01)
    assert flat.found["collapse_load"] is None
    assert [p["over_wire"] for p in flat.points] == [p["offered_pps"] > 148_810 for p in flat.points]
    falling = loss.run(stand_on(livelock(50_000)), Plan())
    assert falling.found["collapse_load"] == 3.0
    assert falling.found["plateau_ratio"] == 0


def test_latency_has_a_point_per_share_and_direction() -> None:
    found = latency.run(stand_on(plateau(50_000)), Plan(bidirectional=True))
    assert [(p["load"], p["direction"]) for p in found.points] == [
        (share, direction) for share in latency.SHARES for direction in ([0, 1], [1, 0])
    ]
    assert all(t.spec.histogram for t in found.trials)


@pytest.mark.parametrize("frames", [1, 15, 16, 95, 5_000])
def test_burst_is_found_to_the_frame(frames: int) -> None:
    bed = plateau(1e9)
    bed.burst_frames = frames
    assert burst.run(stand_on(bed), Plan()).found["longest_burst_frames"] == frames


def test_burst_without_limit_ends_at_the_limit() -> None:
    bed = plateau(1e9)
    bed.burst_frames = 10**9
    found = burst.run(stand_on(bed), Plan(size=1518)).found
    assert found["longest_burst_frames"] == found["limit_frames"] == int(2 * 100e6 / (1538 * 8))


def test_recovery_counts_from_the_reduction() -> None:
    found = recovery.run(stand_on(plateau(50_000)), Plan())
    assert [p["overload"] for p in found.points] == [1.1, 4.0]
    assert all(p["recovery_ns"] == 0 and p["lost_after_reduction"] == 0 for p in found.points)
    assert [p["reduced_pps"] for p in found.points] == [pytest.approx(25_000, rel=0.003)] * 2
    bad = FakeBed(lambda offered: offered if 45_000 < offered < 50_000 else 0.0)
    known = throughput.run(stand_on(plateau(50_000)), Plan())
    assert all(p["recovery_ns"] == 5_000 for p in recovery.run(stand_on(bad), Plan(), known).points)
