# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs on which processor, in the words of the options."""

from __future__ import annotations

import pytest

from irqlab.config.placement import Interrupts, Placement, mask, processors
from irqlab.errors import IrqlabError


def _placed(placement: Placement, interface: str, queue: int, count: int) -> int:
    return placement.processor_of(interface, int(interface[-1]), queue, 2, count)


def test_by_default_interrupts_come_in_turn_first_queues_first() -> None:
    free = Placement()
    names = [("eth0", 0), ("eth1", 0), ("eth0", 1), ("eth1", 1)]
    assert [_placed(free, *name, 4) for name in names] == [0, 1, 2, 3]
    assert [_placed(free, *name, 2) for name in names] == [0, 1, 0, 1]
    assert [_placed(free, *name, 1) for name in names] == [0, 0, 0, 0]


def test_a_queue_is_placed_before_its_interface() -> None:
    asked = Placement.of("eth0=1,eth0-1=3", None, None, None, None)
    assert asked.affinity == (Interrupts("eth0", None, 1), Interrupts("eth0", 1, 3))
    assert [_placed(asked, "eth0", queue, 4) for queue in (0, 1, 2)] == [1, 3, 1]
    assert _placed(asked, "eth1", 0, 4) == 1


def test_words_become_processors_and_masks() -> None:
    asked = Placement.of(None, "0,2-3", "0-1:2", "1", 2)
    assert (asked.rps, asked.xps, asked.napi, asked.application) == ((0, 2, 3), ((0, 1), (2,)), (1,), 2)
    assert asked.to_json() == {"rps": (0, 2, 3), "xps": ((0, 1), (2,)), "napi": (1,), "application": 2}
    assert Placement().to_json() == {}
    assert mask((0, 2, 3)) == "d"


@pytest.mark.parametrize("text", ["", "a", "3-1", "0,", "64", "-1"])
def test_what_is_no_list_of_processors_is_refused(text: str) -> None:
    with pytest.raises(IrqlabError, match=r"^--rps .*: must be processors, as in 0,2-3"):
        processors("--rps", text)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"affinity": "eth0"}, r"^--affinity eth0: must be INTERFACE=PROCESSOR"),
        ({"application": -1}, r"^--app-cpu -1: allowed are 0 or more"),
    ],
)
def test_what_is_no_placement_is_refused(given: dict[str, str], complaint: str) -> None:
    with pytest.raises(IrqlabError, match=complaint):
        Placement.of(**{"affinity": None, "rps": None, "xps": None, "napi": None, "application": None, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("placement", "count", "complaint"),
    [
        (Placement(rps=(0, 2)), 2, r"^--rps: processor 2: the DUT has 0 to 1 \(--cpus 2\)"),
        (Placement((Interrupts("eth1", None, 1),)), 1, r"^--affinity: processor 1: the DUT has 0 and no others: add --cpus"),
        (Placement(application=4), 4, r"^--app-cpu: processor 4"),
        (Placement(napi=(9,)), 4, r"^--napi-cpus: processor 9"),
        (Placement(xps=((0,), (7,))), 4, r"^--xps: processor 7"),
    ],
)
def test_a_processor_that_is_not_there_is_refused(placement: Placement, count: int, complaint: str) -> None:
    placement.check(8 if count == 1 and not placement.affinity else 64)
    with pytest.raises(IrqlabError, match=complaint):
        placement.check(count)
