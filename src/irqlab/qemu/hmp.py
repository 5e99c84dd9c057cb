# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's monitor for people, for machines that trials run on.

QMP's has a thread of its own, which QEMU wakes at every timer of the virtual clock (`qemu_clock_notify`): a quarter of a trial's
CPU time. This one has none. Source: QEMU's docs/system/monitor.rst; used while the DUT is paused, or hangs.
"""

from __future__ import annotations

import re
import socket
import time

from irqlab.qemu.qmp import QmpError

PROMPT = b"(qemu) "


class Hmp:
    """A monitor on a connected socket."""

    MODE = "readline"

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._until_prompt()

    def ask(self, command: str) -> str:
        """Runs one command and returns what it prints. Raises QmpError if QEMU went away."""
        try:
            self._sock.sendall(command.encode() + b"\n")
        except OSError as error:
            raise QmpError("QEMU closed its monitor") from error
        _echo, _, answer = self._until_prompt().partition("\n")
        return answer

    def resume(self) -> None:
        """The DUT goes on."""
        self.ask("cont")

    def wait_status(self, status: str) -> None:
        """Polls until the run state is `status`."""
        while not re.search(rf"^VM status: {status}$", self.ask("info status"), re.MULTILINE):
            time.sleep(0.002)

    def close(self) -> None:
        """Closes the monitor's socket."""
        self._sock.close()

    def _until_prompt(self) -> str:
        said = b""
        while not said.endswith(PROMPT):
            try:
                new = self._sock.recv(65536)
            except OSError as error:
                raise QmpError("QEMU closed its monitor") from error
            if not new:
                raise QmpError("QEMU closed its monitor")
            said += new
        return said.removesuffix(PROMPT).decode(errors="replace").replace("\r\n", "\n")
