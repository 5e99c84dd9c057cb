# SPDX-License-Identifier: GPL-2.0-or-later
"""Places interrupts, queues and threads of a DUT on its processors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from irqlab.config.placement import Placement, mask
from irqlab.dut.agent import Agent, DutError
from irqlab.qemu.rpc import TesterError

_LINE = re.compile(r"^\s*(\d+):.*\s(\S.*?)$")
_QUEUE = re.compile(r"-(\d+)$")


def place_interrupts(dut: Agent, placement: Placement, interfaces: Sequence[str], processors: int) -> dict[str, int]:
    """Chooses the processor of each interrupt; returns it by the interrupt's name. It moves when it comes the next time.

    USB NICs share their controller's interrupt, which stays where it is: {}. Raises DutError if another interface has no
    interrupt of its own, or --affinity asks for one.
    """
    names = _names(dut.read("/proc/interrupts")["/proc/interrupts"] or "")
    placed = {}
    for port, interface in enumerate(interfaces):
        numbers = _numbers(dut, interface)
        if not numbers and not placement.affinity and _is_usb(dut, interface):
            continue
        if not numbers:
            raise DutError(f"{interface} has no interrupt of its own: only those of PCI devices can go to a chosen processor")
        for number in sorted(numbers, key=int):
            name = names.get(number, interface)
            queue = _QUEUE.search(name)
            one = placement.processor_of(interface, port, int(queue[1]) if queue else 0, len(interfaces), processors)
            try:
                dut.write(f"/proc/irq/{number}/smp_affinity_list", str(one))
            except TesterError as error:
                raise DutError(f"{interface}: interrupt {number}: {error}") from error
            placed[name] = one
    return placed


def place_queues(dut: Agent, placement: Placement, interfaces: Sequence[str]) -> None:
    """Chooses the processors that receive queues hand frames to, and those that use a transmit queue. Raises DutError."""
    for interface in interfaces:
        queues = f"/sys/class/net/{interface}/queues"
        if placement.rps:
            for path in dut.read(f"{queues}/*/rps_cpus"):
                if "/rx-" in path:
                    _write(dut, path, mask(placement.rps))
        for queue, chosen in enumerate(placement.xps):
            _write(dut, f"{queues}/tx-{queue}/xps_cpus", mask(chosen))


def place_napi(dut: Agent, placement: Placement, interfaces: Sequence[str]) -> None:
    """Chooses the processors of NAPI's kernel threads. Raises DutError if there are none, or one must stay where it is."""
    if not placement.napi:
        return
    found = [pid for interface in interfaces for pid in _threads(dut, interface)]
    if not found:
        raise DutError("--napi-cpus: NAPI has no kernel threads here: add --napi-threads on")
    for place, pid in enumerate(found):
        dut.run("taskset", "-p", mask((placement.napi[place % len(placement.napi)],)), str(pid))


def on(processor: int | None) -> list[str]:
    """What comes before a command that is to run on a processor; None: anywhere."""
    return [] if processor is None else ["taskset", mask((processor,))]


def _write(dut: Agent, path: str, value: str) -> None:
    try:
        dut.write(path, value)
    except TesterError as error:
        raise DutError(f"{path}: {value}: {error}") from error


def _numbers(dut: Agent, interface: str) -> list[str]:
    device = f"/sys/class/net/{interface}/device"
    messages = [path.rpartition("/")[2] for path, text in dut.read(f"{device}/msi_irqs/*").items() if text is not None]
    line = dut.read(f"{device}/irq")[f"{device}/irq"]
    return [number for number in messages if number.isdigit()] or ([line.strip()] if line else [])


def _is_usb(dut: Agent, interface: str) -> bool:
    path = f"/sys/class/net/{interface}/device/bInterfaceNumber"
    return dut.read(path)[path] is not None


def _names(text: str) -> dict[str, str]:
    """The name behind each interrupt's last column, by its number (/proc/interrupts)."""
    lines = (_LINE.match(line) for line in text.splitlines())
    return {found[1]: found[2].rpartition("  ")[2].split()[-1] for found in lines if found}


def _threads(dut: Agent, interface: str) -> Iterator[int]:
    names = dut.read("/proc/*/comm").items()
    found = (path.split("/")[2] for path, name in names if (name or "").startswith(f"napi/{interface}-"))
    yield from sorted(int(pid) for pid in found)
