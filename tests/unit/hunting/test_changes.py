# SPDX-License-Identifier: GPL-2.0-or-later
"""What the DUT's agent is told to do in a pair, for each kind of change, and how long the pair takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from irqlab.config.schemes import COMBINATIONS, RX_SCHEMES, TX_SCHEMES, USB_RX_SCHEMES
from irqlab.hunting.changes import Change, changes
from irqlab.hunting.options import CHANGE_KINDS
from irqlab.trials.hunt import Step
from tests.unit.fake_hunted import HuntedTestbed

MS = 1_000_000
ASKS_ONCE = tuple(
    Step(0, f"/proc/sys/net/ipv4/neigh/{name}/{setting}", value)
    for name in ("eth0", "eth1", "default")
    for setting, value in (("mcast_solicit", "1"), ("retrans_time_ms", "4"))
)
"""The kernel holds frames for a neighbour for no more than 4 ms."""
FLAGS = "/sys/class/net/eth1/flags"


@pytest.fixture
def found(tmp_path):
    """The changes of a kind at the second interface of a DUT."""

    def of(kind: str, usb_speed: str = "", keeps_frames: bool = False, **running: Any) -> list[Change]:
        testbed = HuntedTestbed(tmp_path, **running)
        testbed.nic = replace(testbed.nic, usb_speed=usb_speed, keeps_frames=keeps_frames)
        every = list(changes(testbed, kind, "eth1"))
        assert all(one.before[: len(ASKS_ONCE)] == ASKS_ONCE for one in every)
        return [replace(one, before=one.before[len(ASKS_ONCE) :]) for one in every]

    return of


def schemes(rx: str = "napi", tx: str = "off", **more: int | None) -> dict[str, Any]:
    return {"rx": rx, "tx": tx, **more}


def test_a_driver_has_each_other_receive_scheme(found):
    path = "/sys/class/net/eth1/irqmod/rx_scheme"
    every = {one.name: one for one in found("rx-scheme", schemes=schemes(rx="napi"))}
    hybrid = Change("rx-scheme hybrid", (Step(0, path, "hybrid"), Step(50 * MS, path, "napi")), 120 * MS, ("late",))
    assert every["rx-scheme hybrid"] == hybrid
    assert list(every) == [f"rx-scheme {name}" for name in RX_SCHEMES if name != "napi"]


def test_a_driver_has_each_other_transmit_scheme(found):
    path = "/sys/class/net/eth1/irqmod/tx_scheme"
    every = {one.name: one for one in found("tx-scheme", schemes=schemes(tx="off"))}
    assert list(every) == [f"tx-scheme {name}" for name in TX_SCHEMES if name != "off"]
    assert every["tx-scheme poll"].steps == (Step(0, path, "poll"), Step(50 * MS, path, "off"))


def test_usb_drivers_have_receive_schemes_of_their_own(found):
    every = found("rx-scheme", usb_speed="high", schemes=schemes(rx="standard", tx="interrupt"))
    assert [one.name for one in every] == [f"rx-scheme {name}" for name in USB_RX_SCHEMES if name != "standard"]


def test_usb_drivers_have_no_other_transmit_scheme(found):
    assert found("tx-scheme", usb_speed="high", schemes=schemes(rx="napi", tx="interrupt")) == []


def test_a_scheme_that_does_not_go_with_the_other_directions_is_left_out(found):
    """The driver refuses it, and a hunt for such changes alone would end there."""
    every = found("rx-scheme", schemes=schemes(rx="napi", tx="poll"))
    assert [one.name for one in every] == [f"rx-scheme {one.rx}" for one in COMBINATIONS if one.tx == "poll" and one.rx != "napi"]
    every = found("tx-scheme", schemes=schemes(rx="interrupt", tx="off"))
    assert [one.name for one in every] == [
        f"tx-scheme {one.tx}" for one in COMBINATIONS if one.rx == "interrupt" and one.tx != "off"
    ]


@pytest.mark.parametrize("kind", ["rx-scheme", "tx-scheme"])
def test_a_driver_without_schemes_changes_none(found, kind):
    assert found(kind) == []


def test_the_interface_is_set_down_and_up(found):
    steps = (Step(0, FLAGS, "0x1002"), Step(20 * MS, FLAGS, "0x1003"))
    assert found("down-up") == [Change("down-up", steps, 5_500 * MS, ("lost",))]


def resized(rx: int, tx: int, at_ms: int) -> Step:
    return Step(at_ms * MS, argv=("ethtool", "-G", "eth1", "rx", str(rx), "tx", str(tx)))


def test_the_rings_are_halved_and_restored(found):
    steps = (resized(32, 64, 0), resized(64, 128, 2_750))
    assert found("ring", ring_rx=64, ring_tx=128) == [Change("ring", steps, 5_500 * MS, ("lost",))]


@pytest.mark.parametrize(("tx_frames", "ring_tx"), [(16, 64), (48, 96)])
def test_a_halved_ring_has_room_for_twice_the_frames_of_a_transmit_interrupt(found, tx_frames, ring_tx):
    (change,) = found("ring", ring_rx=64, ring_tx=128, schemes=schemes(tx_frames=tx_frames))
    assert change.steps[0] == resized(32, ring_tx, 0)


def test_a_driver_that_does_not_know_tx_frames_has_its_rings_halved(found):
    (change,) = found("ring", ring_rx=64, ring_tx=1, schemes=schemes(tx_frames=None))
    assert change.steps == (resized(32, 0, 0), resized(64, 1, 2_750))


def test_a_driver_that_does_not_say_how_large_its_ring_is_keeps_it(found):
    assert found("ring") == []


def test_the_mtu_is_lowered_and_restored(found):
    path = "/sys/class/net/eth1/mtu"
    assert found("mtu") == [Change("mtu", (Step(0, path, "1400"), Step(2_750 * MS, path, "1500")), 5_500 * MS, ("lost",))]


def test_promiscuous_mode_is_entered_and_left_without_a_loss(found):
    steps = (Step(0, FLAGS, "0x1103"), Step(40 * MS, FLAGS, "0x1003"))
    assert found("promisc") == [Change("promisc", steps, 100 * MS, ())]


def test_negotiation_is_restarted(found):
    steps = (Step(0, argv=("ethtool", "-r", "eth1")),)
    assert found("negotiate") == [Change("negotiate", steps, 5_500 * MS, ("lost",))]


def test_the_kernel_is_told_before_the_trial_that_suspending_is_a_test(found):
    before = (Step(0, "/sys/power/pm_test", "devices"), Step(0, "/sys/module/suspend/parameters/pm_test_delay", "0"))
    assert found("suspend") == [Change("suspend", (Step(0, "/sys/power/state", "mem"),), 5_500 * MS, ("lost",), before)]


def test_the_driver_is_unbound_and_bound_and_the_interface_configured(found):
    driver = "/sys/bus/pci/drivers/paper"
    steps = (
        Step(0, f"{driver}/unbind", "0000:00:05.0"),
        Step(20 * MS, f"{driver}/bind", "0000:00:05.0"),
        Step(100 * MS, argv=("ip", "addr", "add", "198.19.0.1/24", "dev", "eth1")),
        Step(100 * MS, argv=("ip", "link", "set", "eth1", "up")),
    )
    assert found("unbind") == [Change("unbind", steps, 5_600 * MS, ("lost",))]


def test_frames_that_the_nic_model_keeps_may_come_out_late(found):
    assert [one.tolerates for one in found("down-up", keeps_frames=True)] == [("lost", "late")]
    assert [one.tolerates for one in found("promisc", keeps_frames=True)] == [()]


def test_a_usb_driver_is_not_unbound(found):
    assert found("unbind", usb_speed="super") == []


def test_nothing_else_is_a_change(found):
    assert found("arrivals", ring_rx=64, ring_tx=64, schemes=schemes()) == []


def test_every_kind_of_change_has_one(found):
    running = {"ring_rx": 64, "ring_tx": 64, "schemes": schemes()}
    assert all(found(kind, **running) for kind in CHANGE_KINDS)
