# SPDX-License-Identifier: GPL-2.0-or-later
"""How pairs that went wrong become findings."""

from __future__ import annotations

import pytest

from irqlab.hunting.findings import Finding, group
from irqlab.hunting.pairs import Pair


def found(*pairs: Pair, step_ns: int = 4) -> list[Finding]:
    return group("transmit", "other", pairs, step_ns)


def late(gap_ns: int, latency_ns: int = 900) -> Pair:
    return Pair(gap_ns, latency_ns, "late")


def test_nothing_wrong_is_no_finding():
    assert found(Pair(40, 500, ""), Pair(44, None, "")) == []


def test_a_finding_says_where_and_what_and_how_bad():
    assert found(late(40), Pair(44, 5, ""), late(48, 1_200), late(52)) == [
        Finding("transmit", "other", "late", 40, 52, 3, 1_200, 48, None, arrival_ns=48)
    ]


def test_of_equally_bad_instants_the_first_is_the_one_to_replay():
    assert [(one.at_ns, one.worst_ns) for one in found(late(40), late(44), late(48))] == [(40, 900)]


def test_findings_are_in_the_order_of_instants():
    assert [one.at_ns for one in found(late(9_000), late(40), late(5_000))] == [40, 5_000, 9_000]


@pytest.mark.parametrize(("distance", "findings"), [(64, 1), (65, 2)])
@pytest.mark.parametrize("step_ns", [1, 4])
def test_instants_more_than_64_steps_apart_are_two_findings(distance, findings, step_ns):
    assert len(found(late(40), late(40 + distance * step_ns), step_ns=step_ns)) == findings


def test_a_finding_may_be_longer_than_its_instants_are_apart():
    assert [(one.from_ns, one.to_ns) for one in found(*(late(n * 200) for n in range(10)))] == [(0, 1_800)]


def test_what_goes_wrong_otherwise_is_another_finding():
    every = found(late(40), Pair(44, 5, "overtaken"), Pair(48, 5, "stuck"), Pair(52, 5, "stuck"))
    assert [(one.what, one.instants) for one in every] == [("late", 1), ("overtaken", 1), ("stuck", 2)]


def test_a_lost_frame_may_be_a_late_one_without_a_pair_behind_it():
    assert [(one.what, one.instants, one.at_ns) for one in found(Pair(40, None, "lost"), late(44))] == [("late", 2, 44)]
    assert [(one.what, one.instants, one.at_ns) for one in found(late(40), Pair(44, None, "lost"))] == [("late", 2, 40)]


def test_frames_that_are_all_lost_have_no_latency():
    (one,) = found(Pair(40, None, "lost"), Pair(44, None, "lost"))
    assert (one.what, one.worst_ns, one.at_ns) == ("lost", None, 40)


def test_packets_that_are_kept_are_as_bad_as_they_are_kept_long():
    kept = [Pair(40, 9_000, "kept", freed_ns=1_000), Pair(44, 500, "kept", freed_ns=3_000), Pair(48, 500, "kept", freed_ns=None)]
    (one,) = found(*kept)
    assert (one.what, one.worst_ns, one.at_ns, one.instants) == ("kept", 3_000, 44, 3)


def test_a_late_frame_is_as_bad_as_it_is_late_and_not_as_its_packet_is_kept_long():
    (one,) = found(Pair(40, 900, "late", freed_ns=1), Pair(44, 800, "late", freed_ns=9_000))
    assert (one.worst_ns, one.at_ns) == (900, 40)
