# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's human monitor (HMP).

Every machine has one. A QMP monitor would need a thread, which QEMU wakes at every timer of the virtual clock
(`qemu_clock_notify`); that takes a quarter of a trial's CPU time. HMP has no thread. It answers while the DUT runs or is paused,
but not while the agent waits for a command. Source: QEMU's docs/system/monitor.rst.
"""

from __future__ import annotations

import re
import socket
import time

from irqlab.qemu.qmp import QmpError

PROMPT = b"(qemu) "


class Hmp:
    """A monitor on a connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._said = b""
        self._open = True
        """A reply, or the first prompt, is pending."""
        self._finish()

    def ask(self, command: str) -> str:
        """Runs one command and returns what it prints. Raises QmpError if QEMU went away."""
        self._finish()
        self.post(command)
        return self._finish()

    def post(self, command: str) -> None:
        """Starts a command; `poll` returns its output. No other command may be pending. Raises QmpError if QEMU went away."""
        assert not self._open
        try:
            self._sock.sendall(command.encode() + b"\n")
        except OSError as error:
            raise QmpError("QEMU closed its monitor") from error
        self._open = True

    def poll(self) -> str | None:
        """The output of the pending command, or None if it has not finished. Never blocks. Raises QmpError if QEMU went away."""
        while self._open:
            try:
                self._receive(socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
        return self._answer()

    @property
    def busy(self) -> bool:
        """Whether a command is pending."""
        return self._open

    def resume(self) -> None:
        """Resumes the DUT."""
        self.ask("cont")

    def wait_status(self, status: str) -> None:
        """Polls until the run state is `status`."""
        while not re.search(rf"^VM status: {status}$", self.ask("info status"), re.MULTILINE):
            time.sleep(0.002)

    def close(self) -> None:
        """Closes the monitor's socket."""
        self._sock.close()

    def _finish(self) -> str:
        while self._open:
            self._receive(0)
        return self._answer()

    def _receive(self, flags: int) -> None:
        try:
            new = self._sock.recv(65536, flags)
        except BlockingIOError:
            raise
        except OSError as error:
            raise QmpError("QEMU closed its monitor") from error
        if not new:
            raise QmpError("QEMU closed its monitor")
        self._said += new
        self._open = not self._said.endswith(PROMPT)

    def _answer(self) -> str:
        said, self._said = self._said, b""
        text = said.removesuffix(PROMPT).decode(errors="replace").replace("\r\n", "\n")
        _echo, _, answer = text.partition("\n")
        return answer
