# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices and registers by address."""

from __future__ import annotations

from irqlab.profile.devices import NIC_PORTS, OTHER_PORTS, Devices, accesses, total
from irqlab.profile.symbols import Symbols

IOMEM = """\
00001000-0009fbff : System RAM
febf0000-febf1fff : 0000:00:04.0
  febf0000-febf1fff : e100
febf2000-febf20ff : 0000:00:05.0
fed00000-fed003ff : HPET 0
  fed00000-fed003ff : PNP0103:00
fee00000-fee00fff : Local APIC
"""
KALLSYMS = """\
ffffffff81000000 T ip_rcv
ffffffff81000100 T ioread8
ffffffffc0000000 t nic_poll	[nic]
ffffffffc0000100 t nic_end	[nic]
"""
DEVICES = Devices.parse(IOMEM, {"0000:00:04.0": "eth0", "0000:00:05.0": "eth1"})


def test_an_address_is_an_interface_or_a_name() -> None:
    assert DEVICES.at(0xFEBF0018) == ("eth0", 0x18)
    assert DEVICES.at(0xFEBF203E) == ("eth1", 0x3E)
    assert DEVICES.at(0xFEE000B0) == ("Local APIC", 0xB0)
    assert DEVICES.at(0xFE000000) == ("unknown", 0xFE000000)


def test_accesses_by_function_and_register() -> None:
    kernel, nic = 0xFFFFFFFF81000000, 0xFFFFFFFFC0000000
    answer = {
        "nodes": [
            [-1, nic, "softirq", 9, 1], [0, kernel + 0x100, "softirq", 9, 1], [-1, kernel, "softirq", 9, 1],
            [0, kernel, "softirq", 9, 1], [3, nic, "softirq", 9, 1],
        ],
        "io": [
            [0, "mmio", 0xFEBF0018, 2, 1], [4, "mmio", 0xFEBF0018, 1, 0], [1, "port", 0, 5, 0], [2, "port", 0, 0, 7],
            [2, "mmio", 0xFEE000B0, 0, 4],
        ],
    }  # fmt: skip
    rows = accesses(answer, Symbols.parse(KALLSYMS, "nic 4096 0 - Live 0xffffffffc0000000\n"), DEVICES, ["nic"])
    found = {(r["function"], r["device"], r["register"]): (r["reads"], r["writes"]) for r in rows}
    assert found == {
        ("nic_poll", "eth0", 0x18): (3, 1),
        ("ioread8", NIC_PORTS, None): (5, 0),
        ("ip_rcv", OTHER_PORTS, None): (0, 7),
        ("ip_rcv", "Local APIC", 0xB0): (0, 4),
    }
    assert (total(rows, "reads"), total(rows, "writes")) == (8, 1)
