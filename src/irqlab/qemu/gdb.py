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
RSP, RIP = 7, 16
"""Indices of 64-bit registers in the reply to `g` (GDB's org.gnu.gdb.i386.core)."""


class GdbError(IrqlabError):
    """The stub rejected a request, or closed the connection."""


class Gdb:
    """A connection to the stub; the DUT is stopped."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(TIMEOUT_S)
        self._sock = sock
        self._bytes = sock.makefile("rb")

    def registers(self) -> bytearray:
        """All registers, in the stub's layout."""
        return bytearray.fromhex(self._ask("g"))

    def set_registers(self, registers: bytes | bytearray) -> None:
        """Writes all registers, in the layout of `registers`."""
        self._expect_ok(f"G{registers.hex()}")

    def write(self, address: int, data: bytes) -> None:
        """Writes to the DUT's memory at a virtual address."""
        self._expect_ok(f"M{address:x},{len(data):x}:{data.hex()}")

    def detach(self) -> None:
        """Detaches; the DUT resumes."""
        self._expect_ok("D")

    def close(self) -> None:
        """Closes the socket."""
        self._bytes.close()
        self._sock.close()

    def _expect_ok(self, request: str) -> None:
        if (answer := self._ask(request)) != "OK":
            raise GdbError(f"QEMU's GDB stub answers {answer!r} to {request[:1]}")

    def _ask(self, request: str) -> str:
        try:
            self._sock.sendall(f"${request}#{sum(request.encode()) % 256:02x}".encode())
            while True:
                while (byte := self._bytes.read(1)) != b"$":
                    if not byte:
                        raise GdbError("QEMU closed its GDB stub")
                answer = b""
                while (byte := self._bytes.read(1)) not in (b"#", b""):
                    answer += byte
                self._bytes.read(2)
                self._sock.sendall(b"+")
                if answer[:1] not in (b"T", b"S"):  # stop notification, sent once on connecting
                    return answer.decode()
        except OSError as error:
            raise GdbError(f"QEMU's GDB stub does not answer: {error}") from error


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
