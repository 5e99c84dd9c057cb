# SPDX-License-Identifier: GPL-2.0-or-later
"""Second events before each instruction of each path, on a DUT that is a formula."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from irqlab.dut.agent import NotSupportedError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.errors import IrqlabError
from irqlab.hunting import paths
from irqlab.hunting.cases import Case
from irqlab.hunting.pairs import Limits
from irqlab.qemu.cancellation import CancelledError
from irqlab.trials.hunt import SETTLE_NS, Cued, HuntResult, HuntTrial, Path, Received
from tests.unit.fakes import FakeBench, stand_on

ALONE_NS = 20_000
LIMITS = Limits(ALONE_NS, 100_000)
PERIOD_NS = HuntTrial.period_ns
EVERY = 32
"""The last pair of so many takes another path, as where a ring ends."""
COMMON = tuple((0x1000 + n, n) for n in range(400))
RARE = (*COMMON[:200], *((0x1000 + n, 10_000 + n) for n in range(200, 264)), *COMMON[264:])
"""64 instructions later the way there is forgotten."""
CODE = ((0x1000, 0x2000),)


@dataclass
class Formula(FakeBench):
    """Leaves a frame that comes before the instruction at `bad` until the next one comes."""

    bad: int = 0
    deaf: bool = False
    """No frame comes out after the first that was left."""
    dies_at: int = 0
    stopped_after: int = 10**6
    only_cued: bool = False
    """By time nothing goes wrong."""
    awake: bool = False
    """What is late comes out by itself, and the processor does not idle."""
    broken: Exception | None = None
    hunts: list[HuntTrial] = field(default_factory=list)

    def forwarded(self, spec: Any) -> Any:
        assert isinstance(spec, HuntTrial)
        if len(self.hunts) >= self.stopped_after:
            raise CancelledError("stopped")
        self.hunts.append(spec)
        if self.broken:
            raise self.broken
        cued: list[Cued] = []
        second: list[int | None] = []
        pcs = []
        left_before = False
        for pair in range(spec.pairs):
            way = RARE if pair % EVERY == EVERY - 1 else COMMON
            point = spec.cues.points[pair] if spec.cues else None
            address = 0 if point is None else way[point][0]
            if spec.cues is None:
                address = 0x1000 + spec.gaps_ns[pair] // 4
            if point is None:
                cued.append(Cued(len(way), hash(way) & 0xFFFF, way[-1][1], None, 0, 0))
            else:
                booked_ns = 40
                at_ns = SETTLE_NS + pair * PERIOD_NS + point * 4 + booked_ns
                cued.append(Cued(point, 0, way[point][1], at_ns, booked_ns, address))
            if self.dies_at and address == self.dies_at:
                raise KernelProblemError("BUG: 1")
            left = None if spec.last_alone and pair == spec.pairs - 1 and not self.awake else PERIOD_NS
            wrong = self.bad and address == self.bad and (spec.cues or not self.only_cued)
            wrong = bool(wrong or (self.deaf and left_before))
            left_before = left_before or wrong
            second.append(left if wrong else ALONE_NS)
            pcs.append(address)
        ways = [COMMON, RARE][: 1 + (spec.pairs >= EVERY)] if spec.cues and None in spec.cues.points else []
        return HuntResult(
            spec,
            Received((ALONE_NS,) * spec.pairs),
            Received(tuple(second), pcs=tuple(pcs)),
            (),
            [],
            cued=tuple(cued) if spec.cues else (),
            paths=tuple(Path(hash(way) & 0xFFFF, way) for way in ways),
        )


@pytest.fixture(autouse=True)
def code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "code_around", lambda _: CODE)


CASE = Case("arrivals", "same", HuntTrial(1, 0, 0, frames=0), HuntTrial(1, 0, 0))


def tried(most: int = 20_000, **formula: Any) -> tuple[paths.Tried, Formula]:
    bench = Formula(lambda offered: offered, **formula)
    found = paths.hunt_paths(stand_on(bench), CASE, LIMITS, most)
    assert found is not None
    return found, bench


def test_each_place_of_each_path_is_tried_those_of_common_paths_several_times() -> None:
    found, bench = tried()
    assert (found.paths, len(found.known), found.covered) == (2, 464, 464)
    assert found.known == set(COMMON) | set(RARE)
    times: dict[tuple[int, int], set[int]] = {}
    for trial in bench.hunts[1:]:
        assert trial.cues is not None
        for pair, point in enumerate(trial.cues.points):
            assert point is not None
            way = RARE if pair % EVERY == EVERY - 1 else COMMON
            times.setdefault(way[point], set()).add(pair)
    assert min(len(times[place]) for place in COMMON) >= paths.TIMES - 1, "from different states"
    assert not found.missed


def test_it_tries_no_more_than_it_may() -> None:
    found, _ = tried(1_500)
    assert len(found.pairs) <= 1_500
    assert 0 < found.covered < len(found.known)


def test_what_is_missed_is_seen_again_by_time() -> None:
    found, bench = tried(bad=0x1000 + 77)
    assert {one.cued.address for one in found.missed} == {0x1000 + 77}
    ((finding, places),) = paths.found_on_paths(stand_on(bench), CASE, found, LIMITS, 4)
    assert places == {(0x1000 + 77, one.pair.what) for one in found.missed}
    assert (finding.what, finding.at_ns, finding.lead, finding.pc) == ("left", 77 * 4, 0, 0x1000 + 77)
    assert finding.replay is not None
    assert finding.instants == len(found.missed) >= paths.TIMES


def test_a_nic_that_is_deaf_from_a_pair_on_is_that_pairs_fault() -> None:
    found, _ = tried(bad=0x1000 + 77, deaf=True)
    assert {one.cued.address for one in found.missed} == {0x1000 + 77}
    assert all(one.pair.number == one.trial.pairs - 1 for one in found.missed)


def test_a_dut_that_dies_is_a_finding_with_few_pairs() -> None:
    found, bench = tried(dies_at=0x1000 + 5)
    assert found.broken
    finding, _ = next(iter(paths.found_on_paths(stand_on(bench), CASE, found, LIMITS, 4)))
    assert (finding.what, finding.instants, finding.said) == ("message", 1, "BUG: 1")
    assert (finding.at_ns, finding.lead) == (None, None), "--at cannot replay it"


@pytest.mark.parametrize(("awake", "what"), [(False, "left"), (True, "held")])
def test_what_is_not_seen_again_by_time_is_weighed_too(awake: bool, what: str) -> None:
    found, bench = tried(bad=0x1000 + 77, only_cued=True, awake=awake)
    ((finding, _),) = paths.found_on_paths(stand_on(bench), CASE, found, LIMITS, 4)
    assert (finding.what, finding.lead, finding.replay) == (what, None, None)


def test_findings_are_kept_if_the_user_does_not_wait_for_the_shortest_trials() -> None:
    found, bench = tried(bad=0x1000 + 77)
    bench.stopped_after = len(bench.hunts)
    ((finding, _),) = paths.found_on_paths(stand_on(bench), CASE, found, LIMITS, 4)
    assert (finding.what, finding.lead, finding.pc) == ("late", None, 0x1000 + 77)


def test_a_dut_that_dies_before_there_are_cues_is_a_finding() -> None:
    found, bench = tried(broken=KernelProblemError("BUG: 1"))
    ((finding, _),) = paths.found_on_paths(stand_on(bench), CASE, found, LIMITS, 4)
    assert (finding.what, finding.said) == ("message", "BUG: 1")


def test_without_a_tester_that_can_nothing_is_tried() -> None:
    bench = Formula(lambda offered: offered, broken=NotSupportedError("start: cues: this QEMU does not let the tester stop"))
    assert paths.hunt_paths(stand_on(bench), CASE, LIMITS, 1_000) is None


@pytest.mark.parametrize("after", [0, 1, 2])
def test_what_was_tried_before_ctrl_c_is_kept(after: int) -> None:
    found, _ = tried(stopped_after=after)
    assert found.interrupted
    assert len(found.pairs) == min(after, 1) * paths.LEADS + max(after - 1, 0) * paths.LEADS


def test_without_the_drivers_code_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: Any) -> Any:
        raise IrqlabError("the DUT does not say where the code is")

    monkeypatch.setattr(paths, "code_around", unknown)
    assert paths.hunt_paths(stand_on(Formula(lambda offered: offered)), CASE, LIMITS, 1_000) is None
