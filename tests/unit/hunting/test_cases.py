# SPDX-License-Identifier: GPL-2.0-or-later
"""The cases that options ask for: the trial without a second event, and the one with it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from irqlab.errors import IrqlabError
from irqlab.hunting.cases import Case, cases
from irqlab.hunting.options import Options
from irqlab.trials.hunt import Failing, HuntTrial, Step, Switches
from tests.unit.fake_hunted import EXECUTED, FREED_AT, HIGH_XMIT, LOW_XMIT, HuntedTestbed, elf, module

ONE = HuntTrial(1, 0, 0, frames=3, frame_bytes=128, first_frames=2, first_every_ns=20, interrupt_delay_ns=5, write_delay_ns=7)
"""What all trials are made of."""
SENT = (FREED_AT, LOW_XMIT, HIGH_XMIT)
"""The functions that free packets and send them."""
MS = 1_000_000
NEVER = 1 << 40


@pytest.fixture
def testbed(tmp_path, monkeypatch):
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    return HuntedTestbed(tmp_path)


def asked(testbed: HuntedTestbed, **options: Any) -> list[Case]:
    return list(cases(testbed, ONE, Options(**options)))


def told(trial: HuntTrial) -> dict[str, Any]:
    """What is different from ONE."""
    every = {field.name: getattr(trial, field.name) for field in fields(trial)}
    return {name: value for name, value in every.items() if value != getattr(ONE, name)}


def names(found: list[Case]) -> list[tuple[str, str]]:
    return [(case.kind, case.port) for case in found]


def test_frames_arrive_at_either_port(testbed):
    same, other = asked(testbed, what="arrivals")
    assert names([same, other]) == [("arrivals", "same"), ("arrivals", "other")]
    assert (told(same.trial), told(other.trial)) == ({}, {"other_port": True})
    assert told(same.alone) == told(other.alone) == {"frames": 0, "pairs": 16}
    assert testbed.opened == 0


def test_transmitting_looks_at_when_packets_are_sent_and_freed(testbed):
    same, other = asked(testbed, what="transmit")
    assert told(same.trial) == {"probes": SENT, "transmits": True}
    assert told(other.trial) == {"probes": SENT, "transmits": True, "other_port": True}
    assert told(same.alone) == told(other.alone) == {"probes": SENT, "transmits": True, "frames": 0, "pairs": 16}
    assert names([same, other]) == [("transmit", "same"), ("transmit", "other")]


@pytest.mark.parametrize("kind", ["arrivals", "transmit", "interrupts"])
def test_only_the_ports_that_were_chosen_are_tried(testbed, kind):
    assert names(asked(testbed, what=kind, ports="other")) == [(kind, "other")]


@pytest.mark.parametrize(("ring_rx", "burst", "frames"), [(64, 1, 128), (64, 200, 200), (None, 1, 512), (None, 600, 600)])
def test_an_overrun_is_a_burst_of_twice_the_ring(tmp_path, ring_rx, burst, frames):
    (case,) = asked(HuntedTestbed(tmp_path, ring_rx=ring_rx), what="overruns", burst=burst)
    assert names([case]) == [("overruns", "same")]
    assert told(case.trial) == {"frames": frames, "check": True, "tolerates": ("lost", "late")}
    assert told(case.alone) == {"frames": 0, "pairs": 16}


def test_an_interrupt_may_follow_the_second_arrival(testbed):
    same, other = asked(testbed, what="arrivals", irq_after=700)
    assert told(same.trial) == {"interrupt": True, "interrupt_after_ns": 700}
    assert told(other.trial) == {"interrupt": True, "interrupt_after_ns": 700, "other_port": True}


def test_interrupts_without_a_cause_come_instead_of_frames(testbed):
    same, other = asked(testbed, what="interrupts")
    assert told(same.trial) == {"frames": 0, "interrupt": True}
    assert told(other.trial) == {"frames": 0, "interrupt": True, "other_port": True}
    assert told(same.alone) == told(other.alone) == {"frames": 0, "pairs": 16}
    assert names([same, other]) == [("interrupts", "same"), ("interrupts", "other")]


def test_two_processors_receive_from_one_nic_each_and_send_through_the_other(testbed):
    testbed.modules = [module("paper", elf((".text", EXECUTED, bytes(32))))]
    testbed.sections = {"paper": {".text": 0x2000}}
    (case,) = asked(testbed, what="processors")
    expected = {"other_port": True, "probes": SENT, "transmits": True, "switches": Switches(((0x2000, 0x2020),))}
    assert names([case]) == [("processors", "other")]
    assert told(case.trial) == expected
    assert told(case.alone) == expected | {"pairs": 16}


@pytest.mark.parametrize("what", ["arrivals", "transmit", "interrupts", "overruns"])
@pytest.mark.parametrize("instants", [None, 70])
def test_the_options_limit_the_instants(testbed, what, instants):
    assert [case.instants for case in asked(testbed, what=what, ports="same", instants=instants)] == [instants]


def test_the_options_limit_the_schedules_of_two_processors(testbed):
    testbed.modules = [module("paper", elf((".text", EXECUTED, bytes(32))))]
    testbed.sections = {"paper": {".text": 0x2000}}
    assert [case.instants for case in asked(testbed, what="processors", instants=70)] == [70]


@pytest.mark.parametrize(("instants", "most"), [(None, 1_000), (70, 70)])
def test_of_each_change_a_thousand_instants_are_tried_unless_the_options_say_how_many(testbed, instants, most):
    assert [case.instants for case in asked(testbed, what="mtu,negotiate", ports="same", instants=instants)] == [most] * 2


def test_a_change_comes_instead_of_the_first_frames(testbed):
    same, other = asked(testbed, what="mtu")
    assert names([same, other]) == [("mtu", "same"), ("mtu", "other")]
    before = same.trial.before
    assert before[0].path.startswith("/proc/sys/net/ipv4/neigh/")
    expected = {"first_frames": 0, "period_ns": 5_500 * MS, "check": True, "tolerates": ("lost",), "before": before}
    for case, interface in ((same, "eth0"), (other, "eth1")):
        path = f"/sys/class/net/{interface}/mtu"
        assert told(case.trial) == expected | {"steps": (Step(0, path, "1400"), Step(2_750 * MS, path, "1500"))}
    assert told(other.alone) == told(other.trial) | {"pairs": 6, "frames": 0}


def test_a_change_that_loses_no_frame_does_not_tolerate_it(testbed):
    (case,) = asked(testbed, what="promisc", ports="same")
    assert case.trial.tolerates == ()


def test_what_a_change_needs_is_done_before_the_trial(testbed):
    (case,) = asked(testbed, what="suspend", ports="same")
    told = [step.path for step in case.trial.before]
    assert told[-2:] == ["/sys/power/pm_test", "/sys/module/suspend/parameters/pm_test_delay"]
    assert case.alone.before == case.trial.before


def test_cases_are_in_the_order_of_the_options(testbed):
    found = asked(testbed, what="mtu,interrupts,arrivals", ports="other,same")
    assert names(found) == [(kind, port) for kind in ("mtu", "interrupts", "arrivals") for port in ("other", "same")]


def test_a_change_that_the_driver_does_not_know_is_left_out(testbed):
    assert names(asked(testbed, what="ring,mtu", ports="same")) == [("mtu", "same")]


def test_a_change_that_the_driver_does_not_know_is_refused_if_nothing_else_was_asked_for(testbed):
    with pytest.raises(IrqlabError, match=r"^--what ring: the driver paper has none$"):
        asked(testbed, what="ring")


@pytest.fixture
def allocating(testbed):
    """A driver that gets memory with two functions, and an interrupt."""
    testbed.modules = [module("paper", b"\0request_threaded_irq\0dma_alloc_attrs\0build_skb\0")]
    testbed.symbols |= {"dma_alloc_attrs": 0x100, "build_skb": 0x200, "request_threaded_irq": 0x300}
    return testbed


def test_each_allocator_of_the_driver_fails(allocating):
    found = asked(allocating, what="failures")
    assert names(found) == [(f"failures {name}", "same") for name in ("build_skb", "dma_alloc_attrs", "request_threaded_irq")]
    expected = {"frames": 0, "check": True, "tolerates": ("lost", "late"), "transmits": True}
    assert told(found[0].trial) == expected | {"probes": (*SENT, 0x200), "failing": Failing(3, 0, 0)}
    assert told(found[0].alone) == told(found[0].trial) | {"pairs": 3, "failing": Failing(3, 0, 0, NEVER)}
    assert [case.instants for case in found] == [None] * 3


def test_a_function_that_fails_returns_null_or_an_error(allocating):
    found = asked(allocating, what="failures")
    assert [case.trial.failing.value for case in found] == [0, 0, (1 << 64) - 12]
    assert [case.trial.probes[case.trial.failing.probe] for case in found] == [0x200, 0x100, 0x300]


def test_allocators_fail_from_shortly_before_the_interface_is_set_up(allocating):
    found = asked(allocating, what="failures-up")
    assert names(found)[2:4] == [("failures-up request_threaded_irq", "same"), ("failures-up build_skb", "other")]
    flags = "/sys/class/net/eth1/flags"
    case = found[3]
    assert told(case.trial) == {
        "first_frames": 0, "frames": 0, "period_ns": 5_950 * MS, "check": True, "tolerates": ("lost", "late"),
        "steps": (
            Step(0, flags, "0x1002"),
            Step(150 * MS, flags, "0x1003", may_fail=True),
            Step(300 * MS, flags, "0x1002"),
            Step(450 * MS, flags, "0x1003"),
        ),
        "probes": (*SENT, 0x200),
        "failing": Failing(3, 0, 150 * MS - 1_000, until_ns=300 * MS),
    }  # fmt: skip
    assert told(case.alone) == told(case.trial) | {"pairs": 3, "failing": Failing(3, 0, 150 * MS - 1_000, NEVER, 300 * MS)}


def test_allocators_fail_at_the_interfaces_of_the_chosen_ports(allocating):
    (*_, case) = asked(allocating, what="failures-up", ports="same")
    assert {step.path for step in case.trial.steps} == {"/sys/class/net/eth0/flags"}
    assert case.port == "same"
