# SPDX-License-Identifier: GPL-2.0-or-later
"""The tester's own RTL8139C+ with the kernel's 8139cp, which was written for the silicon, and with ours."""

from __future__ import annotations

import pytest

from irqlab import Lab
from irqlab.config.addresses import dut_mac, stream
from irqlab.dut.router import Dut
from irqlab.robustness import fuzz, nicport, tap
from irqlab.robustness.overload import Overload
from irqlab.trials.ring import RingTrial

from .pci_cards import forwards_and_repeats, survives

NIC = "irqlab-8139cp"
SMALL = {"kind": "fixed", "frame_bytes": 64}
LIFE = """ethtool -d eth0 >/dev/null
ethtool -S eth0 | grep -q tx_ok
ethtool -K eth0 rx on tx on sg on tso on
SPECIAL
ethtool -s eth0 speed 10 duplex full autoneg off
sleep 3
ethtool -s eth0 autoneg on
sleep 4
ip link set eth0 mtu 1400
ip link set eth0 mtu 1500
"""
"""What an interface goes through."""
OURS = """
ethtool -K eth0 tso off
ethtool -G eth0 rx 16 tx 8
ethtool -G eth0 rx 64 tx 64
ethtool -K eth0 tso on
"""
"""A packet with TSO needs more descriptors than a small ring has."""
SPECIAL = {"8139cp": "ethtool -e eth0 >/dev/null", "irqmod_rtl8139cp": OURS}


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("8139cp", nic=NIC, cached=False)


def test_8139cp_forwards_and_repeats(lab: Lab) -> None:
    forwards_and_repeats(lab, ((40_000, 64), (8_000, 1518)))


def _survives(lab: Lab) -> None:
    survives(lab, LIFE.replace("SPECIAL", SPECIAL[lab.testbed.driver]))


def test_8139cp_survives_what_an_interface_goes_through(lab: Lab) -> None:
    _survives(lab)


@pytest.mark.long
def test_ours_survives_what_an_interface_goes_through() -> None:
    _survives(Lab("irqmod_rtl8139cp", nic=NIC, cached=False))


@pytest.mark.long
@pytest.mark.parametrize(
    ("driver", "nic"),
    [
        ("8139cp", "lost-poll"),
        ("irqmod_rtl8139cp", "lost-poll"),
        ("irqmod_i8255x", "lost-rnr"),
        ("irqmod_i8255x", "slow-scb"),
        ("e100", "slow-scb"),
    ],
)
def test_drivers_survive_errata(driver: str, nic: str) -> None:
    lab = Lab(driver, nic=_card(nic), cached=False)
    with lab.testbed.open() as dut:
        dut.play_hosts(lab.testbed.nic.line_rate_bps)
        _overload(dut)
        assert dut.wait_forwarding(20_000_000_000) is not None
        dut.kernel_log.check()


@pytest.mark.long
@pytest.mark.parametrize(
    ("nic", "script"),
    [("lost-poll", "last_burst"), ("phy-off", "forced_link"), ("slow-scb", "hw_counters"), ("slow-scb", "modes")],
)
def test_our_drivers_pass_a_script_in_spite_of_an_erratum(nic: str, script: str) -> None:
    card = _card(nic)
    lab = Lab("irqmod_rtl8139cp" if card.startswith(NIC) else "irqmod_i8255x", nic=card, cached=False)
    report = tap.run(Overload(lab.testbed), *tap.find([script]))
    print(report.text)
    assert report.failures == []


def _card(erratum: str) -> str:
    return f"{NIC if erratum in ('lost-poll', 'phy-off') else 'irqlab-82559'}+{erratum}"


def _overload(dut: Dut) -> None:
    """More than the DUT can take, in both directions."""
    one = {"kind": "constant", "rate_pps": 120_000.0}
    streams = [stream(source, 1 - source, one, SMALL) for source in (0, 1)]
    dut.run_trial({"warmup_ns": 0, "duration_ns": 100_000_000, "drain_ns": 1_000_000}, streams)


@pytest.mark.long
def test_a_tcp_sender_fills_the_ring_of_a_card_whose_wire_takes_time() -> None:
    lab = Lab("irqmod_rtl8139cp", rx="napi", tx="coalesce", nic=NIC, cached=False)
    with lab.testbed.open() as dut:
        found = RingTrial(None).measure(dut, lab.testbed.conditions)
    assert max(int(fill) for fill in found.at_fill_ns) > 50
    assert sum(found.at_fill_ns.values()) == found.window_ns


@pytest.mark.long
def test_a_card_that_vanishes_does_no_harm(lab: Lab) -> None:
    with lab.testbed.open() as dut:
        dut.play_hosts(lab.testbed.nic.line_rate_bps)
        dut.rpc.call("plug", port=0, plugged=False)
        dut.attempt("ping", "-c", "5", "-i", "0.1", "-W", "1", "198.18.0.2")
        dut.attempt("ip", "link", "set", "eth0", "down")
        dut.kernel_log.check()


@pytest.mark.long
def test_an_address_that_was_misread_is_right_after_the_next_probe() -> None:
    testbed = Lab("irqmod_rtl8139cp", nic=NIC, cached=False).testbed
    with testbed.open() as dut:
        dut.play_hosts(testbed.nic.line_rate_bps)
        for seed in range(1, 40):
            nicport.take_from_driver(dut, 0, testbed)
            nicport.inject_faults(dut, 0, nicport.FaultPlan(seed, 150, "registers"))
            nicport.give_to_driver(dut, 0, testbed)
            nicport.inject_faults(dut, 0, None)
            if nicport.address(dut, 0) not in {None, dut_mac(0)}:
                break
        else:
            pytest.fail("no address was misread")
        assert nicport.replug(dut, 0, testbed), "frames pass"
        assert nicport.address(dut, 0) == dut_mac(0)


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["6.1", "7.3"])
def test_unbinding_and_binding_leaves_nothing_allocated(kernel: str) -> None:
    testbed = fuzz.checking(Lab("irqmod_rtl8139cp", nic=NIC, kernel=kernel, cached=False).testbed)
    with testbed.open() as dut:
        dut.play_hosts(testbed.nic.line_rate_bps)
        nicport.replug(dut, 0, testbed)
        before = fuzz.allocated(dut, testbed)
        for _ in range(fuzz.GROWTH + 8):
            nicport.take_from_driver(dut, 0, testbed)
            nicport.give_to_driver(dut, 0, testbed)
        kept = dut.run("grep", "-c", "unpurged vm_area", "/proc/vmallocinfo")
        assert int(kept) > fuzz.GROWTH, "what the kernel purges later"
        assert fuzz.growth(before, fuzz.allocated(dut, testbed)) == {}


READS = "while [ ! -e /tmp/over ]; do read -r missed </sys/class/net/eth0/statistics/rx_missed_errors; done"


@pytest.mark.long
def test_missed_frames_are_counted_while_the_counter_is_read() -> None:
    lab = Lab("irqmod_rtl8139cp", rx="napi", tx="off", nic=NIC, cached=False)
    with lab.testbed.open() as dut:
        dut.play_hosts(lab.testbed.nic.line_rate_bps)
        assert dut.wait_forwarding() is not None
        before = _arrived(dut)
        pid = dut.rpc.guest("spawn", argv=["sh", "-c", READS])["pid"]
        one = {"kind": "constant", "rate_pps": 140_000.0}
        trial = {"warmup_ns": 0, "duration_ns": 1_000_000_000, "drain_ns": 10_000_000}
        (sent,) = dut.run_trial(trial, [stream(0, 1, one, SMALL)])["streams"]
        dut.write("/tmp/over", "")
        dut.rpc.guest("reap", limit_ns=1_000_000_000, pid=pid, signal=None)
        assert sent["received"] < sent["sent"], "an overload"
        assert _arrived(dut) - before == sent["sent"]


def _arrived(dut: Dut) -> int:
    """Frames that eth0 has received, or missed because its ring was full."""
    return sum(int(dut.run("cat", f"/sys/class/net/eth0/statistics/{name}")) for name in ("rx_packets", "rx_missed_errors"))
