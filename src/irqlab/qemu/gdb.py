# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of QEMU's GDB stub: stops the DUT, accesses its registers and memory, and resumes it.

Source: GDB's manual, appendix E, "GDB Remote Serial Protocol"; QEMU's docs/system/gdb.rst. It needs neither symbols nor GDB.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

from irqlab.errors import IrqlabError
from irqlab.qemu.hmp import Hmp

TIMEOUT_S = 10.0
MOST_BYTES = 1_024
"""Memory read at once: QEMU's packets have at most 4096 characters, two for each byte."""
RSP, RIP = 7, 16
"""Indices of 64-bit registers in the reply to `g` (GDB's org.gnu.gdb.i386.core)."""


class GdbError(IrqlabError):
    """The stub rejected a request, or closed the connection."""


class Gdb:
    """A connection to the stub; the DUT is stopped."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(TIMEOUT_S)
        self._sock = sock
        self._received = b""

    def registers(self) -> bytearray:
        """All registers, in the stub's layout."""
        return bytearray.fromhex(self._ask("g"))

    def set_registers(self, registers: bytes | bytearray) -> None:
        """Writes all registers, in the layout of `registers`."""
        self._expect_ok(f"G{registers.hex()}")

    def write(self, address: int, data: bytes) -> None:
        """Writes to the DUT's memory at a virtual address."""
        self._expect_ok(f"M{address:x},{len(data):x}:{data.hex()}")

    def read(self, address: int, size: int) -> bytes:
        """Reads the DUT's memory at a virtual address. Raises GdbError if it is not mapped."""
        found = b""
        while len(found) < size:
            part = min(size - len(found), MOST_BYTES)
            answer = self._ask(f"m{address + len(found):x},{part:x}")
            if answer.startswith("E") or not answer:
                raise GdbError(f"{address + len(found):#x} is not mapped in the DUT")
            found += bytes.fromhex(answer)
        return found

    def breakpoint(self, address: int, wanted: bool) -> None:
        """Sets a breakpoint, or removes it."""
        self._expect_ok(f"{'Z' if wanted else 'z'}1,{address:x},1")

    def ask(self, request: bytes) -> bytes:
        """Passes on a debugger's request that does not resume the DUT; returns the answer. Both without frame and checksum."""
        self.send(request)
        while (answer := self._packet())[:1] in (b"T", b"S") and request != b"?":
            pass
        return answer

    def send(self, request: bytes) -> None:
        """Sends a request, such as one that resumes the DUT."""
        try:
            self._sock.sendall(framed(request))
        except OSError as error:
            raise GdbError(f"QEMU's GDB stub does not answer: {error}") from error

    def stop_reply(self) -> bytes:
        """The notification that the DUT has stopped, which it has after a request that resumed it."""
        while (answer := self._packet())[:1] not in (b"T", b"S", b"W", b"X"):
            pass
        return answer

    def interrupt(self) -> None:
        """Stops the DUT while it runs."""
        self._sock.sendall(b"\x03")

    def detach(self) -> None:
        """Detaches; the DUT resumes."""
        self._expect_ok("D")

    def close(self) -> None:
        """Closes the socket."""
        self._sock.close()

    def _expect_ok(self, request: str) -> None:
        if (answer := self._ask(request)) != "OK":
            raise GdbError(f"QEMU's GDB stub answers {answer!r} to {request[:1]}")

    def _ask(self, request: str) -> str:
        return self.ask(request.encode()).decode()  # a stop notification, as on connecting, is no answer

    def _packet(self) -> bytes:
        """The next packet; it is acknowledged."""
        try:
            while (found := packet_in(self._received)) is None:
                new = self._sock.recv(65536)
                if not new:
                    raise GdbError("QEMU closed its GDB stub")
                self._received += new
            packet, self._received = found
            self._sock.sendall(b"+")
        except OSError as error:
            raise GdbError(f"QEMU's GDB stub does not answer: {error}") from error
        return packet


def framed(packet: bytes) -> bytes:
    """A packet as it is sent."""
    return b"$%b#%02x" % (packet, sum(packet) % 256)


def packet_in(received: bytes) -> tuple[bytes, bytes] | None:
    """The first whole packet, and what follows it; None: it has not arrived yet. Acknowledgements before it are dropped."""
    begin = received.find(b"$")
    end = received.find(b"#", begin)
    if begin < 0 or end < 0 or len(received) < end + 3:
        return None
    return received[begin + 1 : end], received[end + 3 :]


@contextlib.contextmanager
def attached(monitor: Hmp, directory: Path) -> Iterator[Gdb]:
    """Connects to the stub of a running machine; the socket is in `directory`. Raises GdbError."""
    path = directory / "gdb"
    monitor.ask(f"gdbserver unix:{path},server=on,wait=off")
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(str(path))
    except OSError as error:
        sock.close()
        raise GdbError(f"QEMU's GDB stub cannot be reached: {error}") from error
    stub = Gdb(sock)
    try:
        yield stub
    finally:
        stub.close()
