# SPDX-License-Identifier: GPL-2.0-or-later
"""Where methods refuse: ranges of options, both ends included, and testers that are too slow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import burst, latency, loss, profile, recovery, ring, rrul, soak, throughput
from irqlab.methods.options import MAX_LOAD, MAX_RATE_PPS
from irqlab.runner.runner import TrialRunner
from tests.data.formulas import Formula, plateau
from tests.unit.fakes import stand_on

RATE = r"--rate {}: allowed are 1 to 100000000 frames/s$"
ALLOWED: list[tuple[type, dict[str, Any]]] = [
    (ring.Options, {"rate": 1.0}),
    (ring.Options, {"rate": MAX_RATE_PPS}),
    (profile.Options, {"rate": 1.0}),
    (profile.Options, {"rate": MAX_RATE_PPS}),
    (profile.Options, {"load": f"{MAX_LOAD:g}x"}),
    (profile.Options, {"load": "0.01"}),
    (profile.Options, {"top": 1}),
    (soak.Options, {"load": 1.0}),
    (soak.Options, {"rate": 1.0}),
    (soak.Options, {"rate": MAX_RATE_PPS}),
    (soak.Options, {"duration": 2 * soak.MIN_INTERVAL_S}),
    (soak.Options, {"duration": soak.MAX_DURATION_S}),
    (soak.Options, {"duration": 1.0, "interval": soak.MIN_INTERVAL_S}),
    (soak.Options, {"duration": 1.0, "interval": 0.5}),
]
REFUSED: list[tuple[type, dict[str, Any], str]] = [
    (rrul.Options, {"interval": float("nan")}, r"^--interval nan: not a number of ms$"),
    (rrul.Options, {"interval": float("inf")}, r"^--interval inf: not a number of ms$"),
    (ring.Options, {"rate": 0.5}, RATE.format(r"0\.5")),
    (ring.Options, {"rate": 2 * MAX_RATE_PPS}, RATE.format(r"2e\+08")),
    (profile.Options, {"rate": 0.5}, RATE.format(r"0\.5")),
    (profile.Options, {"rate": 2 * MAX_RATE_PPS}, RATE.format(r"2e\+08")),
    (profile.Options, {"rate": 5.0, "load": "2x"}, r"^--load and --rate: give only one of them$"),
    (profile.Options, {"load": "x"}, r"^--load x: allowed are multiples"),
    (profile.Options, {"load": "0"}, r"^--load 0: allowed are multiples"),
    (profile.Options, {"iperf": "tcp-rx", "rate": 5.0}, r"^--iperf: TCP or line rate determines the load"),
    (profile.Options, {"top": 0}, r"^--top 0: allowed are 1 or more$"),
    (profile.Options, {"fields": "a.csv"}, r"^--fields: fields are only known with --memory$"),
    (soak.Options, {"load": 0.5, "rate": 5.0}, r"^--load and --rate: give only one of them$"),
    (soak.Options, {"rate": 0.5}, RATE.format(r"0\.5")),
    (soak.Options, {"interval": 30.5}, r"^--interval 30\.5: allowed are 0\.01 seconds to half of the duration$"),
]


@pytest.mark.parametrize(("kind", "given"), ALLOWED)
def test_the_ends_of_a_range_are_allowed(kind: type, given: dict[str, Any]) -> None:
    assert all(getattr(kind(**given), name) == value for name, value in given.items())


@pytest.mark.parametrize(("kind", "given", "why"), REFUSED)
def test_what_is_beyond_is_refused(kind: type, given: dict[str, Any], why: str) -> None:
    with pytest.raises(IrqlabError, match=why):
        kind(**given)


def test_a_ring_is_seen_only_of_the_testers_own_cards() -> None:
    other = Formula(plateau(1.0), nic=SimpleNamespace(model="e1000", pci_bus=False))
    with pytest.raises(IrqlabError, match=r"^e1000: the ring can be recorded only with the tester's own PCI cards"):
        ring.run(stand_on(other), Workload(), ring.Options())


def runner(ceiling_pps: float) -> TrialRunner:
    return stand_on(Formula(plateau(30_000.0), ceiling=ceiling_pps, burst_frames=3))


def test_bursts_need_a_tester_as_fast_as_the_line() -> None:
    wire_pps = runner(0.0).wire_pps(Workload())
    assert burst.run(runner(wire_pps), Workload()).summary.longest_burst_frames == 3
    with pytest.raises(IrqlabError, match=r"at line rate, 148810 frames/s, and the tester's own limit is 148809 frames/s"):
        burst.run(runner(wire_pps - 1), Workload())


def test_loads_beyond_the_testers_limit_are_left_out() -> None:
    known = throughput.run(runner(1e9), Workload())
    rate_pps = throughput.rate_per_direction(known)
    curve = loss.run(runner(rate_pps), Workload(), known=known)
    assert [sample.load for sample in curve.samples] == [0.25, 0.5, 0.75, 1.0]
    # The throughput itself is always tried: it was found with this tester.
    assert [sample.load for sample in loss.run(runner(0.5 * rate_pps), Workload(), known=known).samples][-1] == 1.0
    assert [sample.load for sample in loss.run(runner(2 * rate_pps), Workload(), known=known).samples][-1] == 2.0
    assert [sample.overload for sample in recovery.run(runner(4 * rate_pps), Workload(), known).samples] == [1.1, 4.0]
    assert [sample.overload for sample in recovery.run(runner(1.1 * rate_pps), Workload(), known).samples] == [1.1]
    with pytest.raises(IrqlabError, match=r"recovery needs 1.1 times the throughput of 29\d\d\d frames/s, and the line's or"):
        recovery.run(runner(rate_pps), Workload(), known)


def test_a_row_keeps_the_costs_of_the_search_that_it_is_relative_to() -> None:
    known = throughput.run(stand_on(Formula(plateau(30_000.0), rx="napi")), Workload())
    found = latency.run(stand_on(Formula(plateau(30_000.0), rx="napi")), Workload(), (0.5,), known)
    for name in ("instructions", "interrupts", "rx_interrupts", "tx_interrupts"):
        assert getattr(found, f"{name}_per_frame") == getattr(known, f"{name}_per_frame") is not None


def test_a_search_says_what_is_too_slow() -> None:
    tester = Formula(plateau(1e9), live=True, reaches=0.0)
    with pytest.raises(IrqlabError, match=r"^the tester itself is too slow, even at 100 frames/s: too slow$"):
        throughput.run(stand_on(tester), Workload())
    for live in (False, True):
        device = Formula(plateau(0.0), live=live)
        with pytest.raises(
            IrqlabError, match=r"^sample8139 on rtl8139 loses frames even at 100 frames/s \(20 of 20 lost, 0 late\)$"
        ):
            throughput.run(stand_on(device), Workload())
