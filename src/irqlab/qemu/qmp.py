# SPDX-License-Identifier: GPL-2.0-or-later
"""The subset of QEMU's machine protocol (QMP) that is needed to write a snapshot.

QMP runs in host time, so it is used only while the DUT is paused. Source: QEMU's docs/interop/qmp-spec.txt.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from irqlab.errors import IrqlabError


class QmpError(IrqlabError):
    """QEMU rejected a monitor command, or went away."""


class Qmp:
    """A QMP monitor on a connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lines = sock.makefile("rb")
        self._events: list[str] = []
        self._read()  # greeting
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: Any) -> Any:
        """Runs one command and returns its result."""
        request = {"execute": command, "arguments": arguments}
        try:
            self._sock.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise QmpError("QEMU closed its monitor") from error
        while True:
            message = self._read()
            if "return" in message:
                return message["return"]
            if "error" in message:
                raise QmpError(f"QEMU refused {command}: {message['error'].get('desc')}")

    def wait_event(self, name: str) -> None:
        """Blocks until the event `name` has come since the last call."""
        while name not in self._events:
            self._read()
        self._events.clear()

    def save(self, command: str) -> None:
        """Writes the paused machine's state to the standard input of a shell command."""
        self.execute("migrate", uri=f"exec:{command}")
        while (state := self.execute("query-migrate").get("status")) != "completed":
            if state in ("failed", "cancelled"):
                raise QmpError(f"QEMU could not write the snapshot ({state})")
            time.sleep(0.01)

    def close(self) -> None:
        """Closes the monitor's socket."""
        self._lines.close()
        self._sock.close()

    def _read(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except OSError as error:
            raise QmpError("QEMU closed its monitor") from error
        if not line:
            raise QmpError("QEMU closed its monitor")
        message: dict[str, Any] = json.loads(line)
        if "event" in message:
            self._events.append(message["event"])
        return message
