# SPDX-License-Identifier: GPL-2.0-or-later
"""Gets a backtrace from the kernel of a DUT that no longer answers.

The CPU is made to call address 0 from its present position. The kernel then prints an oops with a trace that names every
function, including those in modules, and panics (oops=panic), which ends QEMU. This works in any context, even with interrupts
off, and needs no symbol table.
"""

from __future__ import annotations

import contextlib
import re
import struct
import subprocess
import time
from dataclasses import dataclass

from irqlab.qemu import gdb
from irqlab.qemu.gdb import Gdb, GdbError
from irqlab.qemu.machine import CONSOLE, Machine
from irqlab.qemu.qmp import QmpError
from irqlab.qemu.watchdog import DEPTH_BYTES

OOPS_S = 15.0
"""Real time, in seconds, for the kernel to print its trace."""
TRIES = 20
"""Attempts to stop the CPU inside its loop, since it may be in an interrupt handler."""
FRAMES = 20
OOPS = "BUG: kernel NULL pointer dereference, address: 0000000000000000"

_FRAME = re.compile(r"[\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[\w+\])?")


@dataclass(frozen=True)
class Backtrace:
    """A kernel backtrace."""

    functions: tuple[str, ...]
    """Innermost first, as the kernel prints them: name, offset, module; empty if there is no trace."""
    console: tuple[str, ...]
    """Console output before the oops."""

    def __str__(self) -> str:
        if not self.functions:
            return "no backtrace of its kernel could be obtained"
        innermost, *callers = self.functions
        return "\n  ".join([f"its kernel is in {innermost}" + (", called from:" if callers else ""), *callers])


def take(machine: Machine, rsp: int | None = None) -> Backtrace:
    """Takes a backtrace. `rsp`: the stack pointer in an endless loop, if known. Ends the machine."""
    with contextlib.suppress(GdbError, QmpError, subprocess.TimeoutExpired):
        _oops(machine, rsp)
        machine.process.wait(OOPS_S)
    try:
        return parse((machine.directory / CONSOLE).read_text(errors="replace"))
    except OSError:
        return parse("")


def parse(console: str) -> Backtrace:
    """Parses a console with the oops that `take` caused."""
    lines = [re.sub(r"^\[[ 0-9.]+\] ?", "", line).rstrip() for line in console.replace("\0", "").splitlines()]
    end = next((n for n, line in enumerate(lines) if OOPS in line), len(lines))
    return Backtrace(tuple(_trace(lines[end:])), tuple(line for line in lines[:end] if line))


def _trace(lines: list[str]) -> list[str]:
    """The functions of the first trace, innermost first, without those the kernel marks as unreliable."""
    begins = next((n + 1 for n, line in enumerate(lines) if line.strip() == "Call Trace:"), len(lines))
    frames: list[str] = []
    for line in (line.strip() for line in lines[begins:]):
        if line.startswith("Modules linked in:"):
            break
        if match := _FRAME.fullmatch(line):
            frames.append(match[0])
    return frames[:FRAMES]


def _oops(machine: Machine, rsp: int | None) -> None:
    """Makes the CPU call address 0; from inside the loop if its stack pointer is known."""
    for _ in range(TRIES):
        with gdb.attached(machine.monitor, machine.directory) as stub:
            registers = stub.registers()
            now, at = (_register(registers, number) for number in (gdb.RSP, gdb.RIP))
            if rsp is None or abs(now - rsp) <= DEPTH_BYTES:
                _call_null(stub, registers, now, at)
                stub.detach()
                return
            stub.detach()
        time.sleep(0.05)


def _call_null(stub: Gdb, registers: bytearray, rsp: int, rip: int) -> None:
    stub.write(rsp - 8, struct.pack("<Q", rip))  # the kernel has no red zone below its stack pointer (-mno-red-zone)
    struct.pack_into("<Q", registers, 8 * gdb.RSP, rsp - 8)
    struct.pack_into("<Q", registers, 8 * gdb.RIP, 0)
    stub.set_registers(registers)


def _register(registers: bytes | bytearray, number: int) -> int:
    return int(struct.unpack_from("<Q", registers, 8 * number)[0])
