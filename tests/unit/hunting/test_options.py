# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be asked of a hunt, and the words with which the rest is refused."""

from __future__ import annotations

from typing import Any

import pytest

from irqlab.errors import IrqlabError
from irqlab.hunting.options import CHANGE_KINDS, KINDS, Options


def refused(**options: Any) -> str:
    with pytest.raises(IrqlabError) as caught:
        Options(**options)
    return str(caught.value)


def test_changes_is_all_changes():
    assert Options(what="changes,arrivals").kinds == (*CHANGE_KINDS, "arrivals")


def test_what_is_asked_for_twice_is_tried_once():
    assert Options(what="mtu,changes,mtu").kinds == ("mtu", *(kind for kind in CHANGE_KINDS if kind != "mtu"))
    assert Options(ports="other,same,other").chosen == ("other", "same")


def test_spaces_and_empty_words_do_not_matter():
    found = Options(what=" arrivals , ,transmit,", ports=" same ,")
    assert (found.kinds, found.chosen) == (("arrivals", "transmit"), ("same",))


def test_arrivals_at_both_ports_unless_asked_otherwise():
    assert (Options().kinds, Options().chosen) == (("arrivals",), ("same", "other"))


@pytest.mark.parametrize("ports", ["third", "same,third", ",", ""])
def test_other_ports_are_refused(ports):
    assert refused(ports=ports) == f"--ports {ports}: allowed are same, other"


@pytest.mark.parametrize("what", ["third", "arrivals,third", "", "Arrivals"])
def test_other_events_are_refused(what):
    assert refused(what=what) == f"--what {what}: allowed are {', '.join(KINDS)}"


LIMITS = [
    ("first", 1, 4_096, {"first_gap": 0.01}),
    ("burst", 1, 4_096, {}),
    ("irq_delay", 0, 1_000_000, {}),
    ("irq_after", 0, 1_000_000, {}),
    ("write_delay", 0, 1_000_000, {}),
    ("step", 1, 10_000_000_000, {}),  # `--instants 10` of `unbind` makes steps of 91 ms, and a replay needs the same
    ("instants", 1, 10_000_000, {}),
    ("lead", 0, 999, {"at": 1}),
    ("repeat", 1, 10_000, {"at": 1}),
    ("traces", 0, 100, {}),
    ("switches", 1, 16, {}),
    ("hunt_seed", 0, 4_294_967_295, {}),
]


@pytest.mark.parametrize(("name", "least", "most", "others"), LIMITS)
def test_a_number_has_limits(name, least, most, others):
    for value in (least, most):
        assert getattr(Options(**{name: value}, **others), name) == value
    option = "--" + name.replace("_", "-")
    for value in (least - 1, most + 1):
        assert refused(**{name: value}, **others) == f"{option} {value}: allowed are {least} to {most}"


def test_all_instants_are_tried_unless_asked_otherwise():
    assert Options().instants is None


def test_the_bound_has_limits():
    assert [Options(bound=bound).bound for bound in (0.0, 0.5, 1e6)] == [0.0, 0.5, 1e6]
    assert refused(bound=-0.5) == "--bound -0.5: allowed are 0 to 1000000 µs"
    assert refused(bound=1_000_001.0) == "--bound 1000001: allowed are 0 to 1000000 µs"


@pytest.mark.parametrize(("first", "first_gap"), [(1, 0.01), (2, 0.01), (1, 6_999.0), (70, 99.9)])
def test_the_first_frames_come_within_the_pair(first, first_gap):
    assert Options(first=first, first_gap=first_gap).first_gap == first_gap


@pytest.mark.parametrize(("first", "first_gap"), [(1, 7_000.0), (70, 100.0), (2, 0.009), (1, 0.0), (1, -1.0)])
def test_the_first_frames_have_to_come_within_the_pair_and_one_after_the_other(first, first_gap):
    said = refused(first=first, first_gap=first_gap)
    assert said == f"--first-gap {first_gap:g}: at least 0.01 µs, and all frames of --first within 7000 µs"


@pytest.mark.parametrize(("option", "name"), [("--from", "begin"), ("--until", "end")])
def test_a_range_is_within_ten_seconds(option, name):
    assert [getattr(Options(**{name: at}), name) for at in (0, 9_999_999_999)] == [0, 9_999_999_999]
    for at in (-1, 10_000_000_000):
        assert refused(**{name: at}) == f"{option}: allowed are instants before the next pair, less than 10000000000 ns"


def test_an_instant_to_replay_is_within_ten_seconds():
    assert [Options(at=at).at for at in (0, 9_999_999_999)] == [0, 9_999_999_999]
    for at in (-1, 10_000_000_000):
        assert refused(at=at).startswith("--at: allowed are instants before the next pair")


def test_a_range_ends_after_its_beginning():
    assert Options(begin=2_000, end=2_000).end == 2_000
    assert refused(begin=2_500, end=2_000) == "--from 2500: it is after --until 2000"


@pytest.mark.parametrize("options", [{"repeat": 2}, {"lead": 1}])
def test_only_an_instant_is_repeated_and_led_to(options):
    assert refused(**options) == "--repeat, --lead: they need --at"


@pytest.mark.parametrize("options", [{"begin": 1}, {"end": 1}, {"begin": 0}, {"end": 0}])
def test_an_instant_and_a_range_are_not_both_asked_for(options):
    assert refused(at=5, **options) == "--at: it cannot be combined with --from and --until"
