# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver of the USB NICs: it forwards, rejects unsupported schemes, and passes its TAP scripts."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import pytest

from irqlab.config.schemes import RX_SCHEMES, USB_RX_SCHEMES
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import Load, wire_rate_pps
from irqlab.qemu import rpc
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed

OF_USB = ("autosuspend", "ltm", "netconsole_usb", "usb", "usb_phy")
OF_ALL = (
    "bad_input",
    "jumbo",
    "last_burst",
    "live_address",
    "memory_back",
    "modes",
    "refill_retry",
    "rxvlan",
    "stale_wake",
    "threaded",
    "tso",
    "vlan",
)
"""Scripts for what the PCI drivers have, too."""
PAUSE_LEVELS = {"lan7800": 1024 // 512 << 8 | 8704 // 512, "lan7800-superspeed": 4096 // 512 << 8 | 9216 // 512}
"""FCT_FLOW at either speed of the bus: how full the receive FIFO is when a pause ends, and when it begins, in 512 bytes."""
WRAPS_TWICE_NS = 1_500_000_000


@pytest.fixture
def overload(overload_of: Callable[[str], Overload]) -> Overload:
    return overload_of("irqmod_lan78xx")


@pytest.fixture
def usb(overload: Overload) -> Testbed:
    return overload.testbed


def test_forwards_twice_as_much_as_the_in_tree_driver(usb: Testbed) -> None:
    with usb.open() as dut:
        result = ForwardingTrial(loads=(Load(rate_pps=85_000.0, size=64),)).measure(dut, usb.conditions)
    assert result.streams[0].lost == 0
    assert result.instructions_per_frame is not None
    assert result.instructions_per_frame < 3_000


@pytest.mark.parametrize("nic", PAUSE_LEVELS)
def test_an_overload_asks_for_a_pause_if_the_partner_knows_that(nic: str, kernel_spec: str | None) -> None:
    testbed = Testbed.resolve(TestbedConfig("irqmod_lan78xx", nic=nic, kernel=kernel_spec))

    def asked(pauses: bool) -> int:
        with testbed.open() as dut:
            dut.rpc.call("partner", port=0, pauses=pauses)
            dut.run("ethtool", "-r", "eth0")
            dut.sleep(5_000_000_000)
            ForwardingTrial(loads=(Load(rate_pps=400_000.0, size=64),)).measure(dut, testbed.conditions)
            found = re.search(r"hw_tx_pause_frames: (\d+)", dut.run("ethtool", "-S", "eth0"))
            assert found
            return int(found[1])

    assert asked(pauses=True) > 0
    assert asked(pauses=False) == 0


@pytest.mark.parametrize("nic", PAUSE_LEVELS)
def test_the_levels_of_pauses_are_those_of_the_kernels_driver(nic: str, kernel_spec: str | None) -> None:
    testbed = Testbed.resolve(TestbedConfig("irqmod_lan78xx", nic=nic, kernel=kernel_spec, modules=("usbmon",)))
    watch = "cat /sys/kernel/debug/usb/usbmon/0u >/tmp/usbmon & sleep 1; ip link set eth0 down; ip link set eth0 up; kill $!"
    with testbed.open() as dut:
        dut.run("sh", "-c", watch)
        written = re.findall(r" s 40 a0 0000 00d0 0004 4 = (\w+)", dut.run("cat", "/tmp/usbmon"))
    assert written == [struct.pack("<I", PAUSE_LEVELS[nic]).hex()]


def test_counters_of_20_bits_are_added_up(overload: Overload) -> None:
    """At the line rate of the shortest frames the chip's counter wraps in 0.7 s, while the CPU is overloaded."""
    with overload.testbed.open() as dut:

        def received() -> int:
            found = re.search(r"hw_rx_64_bytes: (\d+)", dut.run("ethtool", "-S", "eth0"))
            assert found
            return int(found[1])

        dut.play_hosts(0)
        before = received()
        sent = overload.offer(dut, wire_rate_pps(64, overload.testbed.nic.line_rate_bps), WRAPS_TWICE_NS)["sent"]
        assert sent > 2 << 20
        assert received() - before == sent


def test_schemes_that_need_an_interrupt_are_refused(usb: Testbed) -> None:
    with usb.open() as dut:
        for name in {*RX_SCHEMES} - {*USB_RX_SCHEMES}:
            with pytest.raises(rpc.TesterError, match="not supported"):
                dut.write("/sys/class/net/eth0/irqmod/rx_scheme", name)
        for name in USB_RX_SCHEMES:
            dut.write("/sys/class/net/eth0/irqmod/rx_scheme", name)


@pytest.mark.long
@pytest.mark.parametrize("name", [*OF_USB, *OF_ALL])
def test_in_the_dut(overload: Overload, name: str) -> None:
    report = tap.run(overload, tap.find([name])[0])
    print(report.text)
    assert report.failures == []
    assert not report.skipped_whole
