# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters of the DUT's kernel, and its complaints."""

from __future__ import annotations

from irqlab.dut import counters
from irqlab.dut.counters import Counters
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

INTERRUPTS = """           CPU0       CPU1
  0:        156          1   IO-APIC   2-edge      timer
 10:       5000         23   IO-APIC  10-fasteoi   eth1
 11:          7          0   IO-APIC  11-fasteoi   eth0
 24:         40          2   PCI-MSI 65536-edge      eth0-rx-0
 25:          3          0   PCI-MSI 65537-edge      eth0, eth1
 26:          9          0   PCI-MSI 65537-edge      veth01
LOC:        629          0   Local timer interrupts
"""


def test_interrupts_by_interface() -> None:
    assert counters.parse_interrupts(INTERRUPTS) == {"eth1": 5023, "eth0": 49, "eth0+eth1": 3}


def test_behind_a_usb_the_controller_s_interrupts_count() -> None:
    text = "           CPU0\n 24:       2510   PCI-MSI 65536-edge      xhci_hcd\n 26:  0  lan78xx-irqs  17  usb-001:002:01\n"
    assert counters.parse_interrupts(text) == {"xhci_hcd": 2510}
    text = "           CPU0       CPU1\n 11:         10          7   IO-APIC  11-fasteoi   xhci-hcd:usb1\n"
    assert counters.parse_interrupts(text) == {"xhci_hcd": 17}, "INTx"


def test_missing_files_count_as_nothing() -> None:
    read = counters.parse({}, "")
    assert read.interrupts == {}
    assert read.interfaces["eth0"]["rx_dropped"] == 0


def test_softnet_is_hexadecimal_and_summed() -> None:
    text = "00000010 0000000a 00000002 0\n00000010 00000001 00000001 0\n"
    read = counters.parse({"/proc/net/softnet_stat": text}, "qdisc fq_codel 0: dev eth0\n Sent 5 bytes (dropped 3, overlimits 0)")
    assert (read.backlog_drops, read.time_squeezes, read.qdisc_drops) == (11, 3, 3)


def test_difference() -> None:
    before = counters.parse({"/proc/interrupts": " 1: 5 x eth0\n", "/proc/stat": "cpu 1 2 3 4 5 6 7\n"}, "dropped 1")
    after = counters.parse({"/proc/interrupts": " 1: 9 x eth0\n", "/proc/stat": "cpu 2 2 3 9 5 6 7\n"}, "dropped 4")
    between = counters.difference(before, after)
    assert between.interrupts == {"eth0": 4}
    assert between.cpu_ticks["idle"] == 5
    assert between.qdisc_drops == 3


ETHTOOL_S = """NIC statistics:
     rx_interrupts: 5
     tx_interrupts: 0
     [0]: tx_packets: 7
     Tx Queue: 3
"""


def test_a_drivers_own_counters() -> None:
    before = counters.parse({}, "", {"eth0": ETHTOOL_S, "eth1": "no stats available\n"})
    assert before.driver == {
        "eth0": {"rx_interrupts": 5, "tx_interrupts": 0, "[0]: tx_packets": 7, "Tx Queue": 3}, "eth1": {},
    }  # fmt: skip
    after = counters.parse({}, "", {"eth0": ETHTOOL_S.replace("5", "25"), "eth1": ""})
    assert counters.difference(before, after).driver["eth0"]["rx_interrupts"] == 20


def test_interrupts_by_cause_are_known_where_the_driver_counts_them() -> None:
    of_driver = {"eth0": {"rx_interrupts": 30, "tx_interrupts": 0}, "eth1": {"rx_interrupts": 0, "tx_interrupts": 0, "x": 1}}

    def trial(counted: dict[str, dict[str, int]]) -> ForwardingResult:
        ports = [{"received": 100, "refused": 0}, {"received": 20, "refused": 0}]
        return ForwardingResult(ForwardingTrial(()), [], ports, 1, 0, Counters(driver=counted), 0, [])

    known = trial(of_driver)
    assert (known.caused_per_frame("rx"), known.caused_per_frame("tx")) == (0.25, 0.0)
    assert known.to_json()["driver_counters"] == {"eth0": {"rx_interrupts": 30}, "eth1": {"x": 1}}
    assert trial({"eth0": {"rx_ok": 3}}).caused_per_frame("rx") is None


def test_what_was_not_there_before_counts_from_zero() -> None:
    before = Counters(interrupts={"eth0": 1}, softirqs={"NET_RX": 5}, interfaces={}, driver={})
    after = Counters(
        interrupts={"eth0": 3, "eth1": 4}, softirqs={"NET_RX": 7}, interfaces={"eth0": {"rx_packets": 6}},
        driver={"eth0": {"rx_polls": 8}},
    )  # fmt: skip
    found = counters.difference(before, after)
    assert (found.interrupts, found.softirqs) == ({"eth0": 2, "eth1": 4}, {"NET_RX": 2})
    assert (found.interfaces, found.driver) == ({"eth0": {"rx_packets": 6}}, {"eth0": {"rx_polls": 8}})


def test_softirqs_and_statistics_are_read_from_their_files() -> None:
    files = {"/proc/softirqs": "   CPU0\n NET_RX: 12\n RCU: 5\n", "/sys/class/net/eth1/statistics/rx_dropped": "3\n"}
    found = counters.parse(files, "")  # type: ignore[arg-type]
    assert found.softirqs == {"NET_RX": 12}
    assert (found.interfaces["eth1"]["rx_dropped"], found.interfaces["eth0"]["rx_dropped"]) == (3, 0)
    assert (found.interrupts, found.cpu_ticks) == ({}, {})


def test_every_counter_comes_from_its_place() -> None:
    files = {
        "/proc/interrupts": "  CPU0 CPU1\n 5: 3 4 x eth9\n 6: 1 1 x eth0\n",
        "/proc/softirqs": (
            "  CPU0 CPU1\n HI: 1 2\n TIMER: 3 4\n NET_TX: 5 6\n NET_RX: 7 8\n"
            " BLOCK: 1 1\n TASKLET: 9 10\n HRTIMER: 11 12\n RCU: 1 1\n"
        ),
        "/proc/stat": "\ncpu 1 2 3 4 5 6 7 8\ncpu0 9 9 9 9 9 9 9\n",
    } | {f"/sys/class/net/eth9/statistics/{name}": f"{n}\n" for n, name in enumerate(counters.STATISTICS)}
    found = counters.parse(files, "", {"eth9": "NIC statistics:\n     polls: 5\n"}, ["eth9"])  # type: ignore[arg-type]
    assert found.interrupts == {"eth9": 7}
    assert found.softirqs == {"HI": 3, "TIMER": 7, "NET_TX": 11, "NET_RX": 15, "TASKLET": 19, "HRTIMER": 23}
    assert found.cpu_ticks == {"user": 1, "nice": 2, "system": 3, "idle": 4, "iowait": 5, "irq": 6, "softirq": 7}
    assert found.interfaces == {"eth9": {name: n for n, name in enumerate(counters.STATISTICS)}}
    assert found.driver == {"eth9": {"polls": 5}}


def test_the_files_that_are_read() -> None:
    assert counters.paths(["eth9"]) == (
        "/proc/interrupts", "/proc/softirqs", "/proc/stat", "/proc/net/softnet_stat",
        *(f"/sys/class/net/eth9/statistics/{name}" for name in counters.STATISTICS),
    )  # fmt: skip
    assert counters.paths(("eth0", "eth1")) == counters.PATHS


def test_a_file_without_the_line_that_counts() -> None:
    assert counters.parse_stat("intr 5\n\ncpu0 1 2\n") == {}
    assert counters.parse_softirqs("") == {}
