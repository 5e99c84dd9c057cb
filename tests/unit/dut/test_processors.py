# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written in the DUT to place interrupts, queues and threads."""

from __future__ import annotations

from typing import Any

import pytest

from irqlab.config.placement import Interrupts, Placement
from irqlab.dut import processors
from irqlab.dut.agent import DutError

INTERRUPTS = """\
           CPU0       CPU1
 11:          0          0   IO-APIC   11-fasteoi   eth1
 24:          7          0   PCI-MSI 65536-edge      eth0-rx-0
 25:          7          0   PCI-MSI 65537-edge      eth0-tx-1
NMI:          0          0   Non-maskable interrupts
"""


class Fake:
    """A DUT of files."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files, self.written, self.ran = files, {}, []  # type: tuple[dict[str, str], dict[str, str], list[tuple[str, ...]]]

    def read(self, *paths: str) -> dict[str, str | None]:
        """Files; a star is any part of a path."""
        found: dict[str, str | None] = {}
        for path in paths:
            parts = path.split("/")
            fits = [
                name
                for name in self.files
                if len(name.split("/")) == len(parts)
                and all(part in ("*", one) for part, one in zip(parts, name.split("/"), strict=True))
            ]
            found |= {name: self.files[name] for name in fits} or {path: None}
        return found

    def write(self, path: str, text: str) -> None:
        """Writes a file."""
        self.written[path] = text

    def run(self, *argv: str) -> str:
        """Runs a command."""
        self.ran.append(argv)
        return ""


def _dut(**more: str) -> Any:
    device = "/sys/class/net/eth{}/device"
    return Fake(
        {
            "/proc/interrupts": INTERRUPTS,
            f"{device.format(0)}/msi_irqs/25": "msix",
            f"{device.format(0)}/msi_irqs/24": "msix",
            f"{device.format(1)}/irq": "11\n",
            **more,
        }
    )


def test_interrupts_go_where_they_are_placed() -> None:
    dut = _dut()
    placement = Placement((Interrupts("eth0", 1, 3),))
    placed = processors.place_interrupts(dut, placement, ("eth0", "eth1"), 4)
    assert placed == {"eth0-rx-0": 0, "eth0-tx-1": 3, "eth1": 1}
    assert dut.written == {
        f"/proc/irq/{number}/smp_affinity_list": one for number, one in (("24", "0"), ("25", "3"), ("11", "1"))
    }


def test_an_interface_without_an_interrupt_is_an_error() -> None:
    with pytest.raises(DutError, match="eth2 has no interrupt of its own"):
        processors.place_interrupts(_dut(), Placement(), ("eth2",), 2)


def test_usb_nics_share_an_interrupt_that_is_left_alone() -> None:
    dut = _dut(**{f"/sys/class/net/eth{port}/device/bInterfaceNumber": "00" for port in (2, 3)})
    assert processors.place_interrupts(dut, Placement(), ("eth2", "eth3"), 4) == {}
    with pytest.raises(DutError, match="eth2 has no interrupt of its own"):
        processors.place_interrupts(dut, Placement((Interrupts("eth2", None, 1),)), ("eth2", "eth3"), 4)


def test_queues_get_masks() -> None:
    queues = "/sys/class/net/eth0/queues"
    dut = _dut(**{f"{queues}/rx-0/rps_cpus": "0", f"{queues}/rx-1/rps_cpus": "0"})
    processors.place_queues(dut, Placement(rps=(0, 1), xps=((0,), (2, 3))), ("eth0",))
    expected = {f"{queues}/rx-{queue}/rps_cpus": "3" for queue in (0, 1)}
    assert dut.written == expected | {f"{queues}/tx-0/xps_cpus": "1", f"{queues}/tx-1/xps_cpus": "c"}


def test_threads_are_placed_in_turn() -> None:
    names = {"12": "napi/eth0-2", "9": "napi/eth0-1", "30": "napi/eth1-3", "1": "init"}
    dut = _dut(**{f"/proc/{pid}/comm": f"{name}\n" for pid, name in names.items()})
    processors.place_napi(dut, Placement(napi=(1, 0)), ("eth0", "eth1"))
    assert dut.ran == [("taskset", "-p", mask, pid) for mask, pid in (("2", "9"), ("1", "12"), ("2", "30"))]
    with pytest.raises(DutError, match="add --napi-threads on"):
        processors.place_napi(_dut(), Placement(napi=(0,)), ("eth0",))
    processors.place_napi(_dut(), Placement(), ("eth0",))


def test_a_command_runs_on_a_processor_or_anywhere() -> None:
    assert (processors.on(None), processors.on(3)) == ([], ["taskset", "8"])
