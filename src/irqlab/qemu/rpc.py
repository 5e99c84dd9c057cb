# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's end of the tester's socket: one JSON object a line (docs/protocol.md, link 1).

Virtual time stands still in the DUT between two calls.
"""

from __future__ import annotations

import json
import socket
from typing import Any

from irqlab.errors import IrqlabError

PROTOCOL = 1

AGENT_LIMIT_NS = 60_000_000_000
"""Virtual time within which the agent must have answered an ordinary command."""


class TesterError(IrqlabError):
    """The tester or the agent refused a command; the message says why."""


class ConnectionLostError(IrqlabError):
    """QEMU, and the tester in it, went away."""


class Rpc:
    """Calls to the tester, and through it to the agent in the DUT."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lines = sock.makefile("rb")
        self.agent_limit_ns = AGENT_LIMIT_NS

    def greet(self) -> None:
        """Waits until the agent has first asked for work. Raises on another protocol version."""
        hello = self._answer()
        if hello.get("protocol") != PROTOCOL:
            raise TesterError(f"the tester speaks protocol {hello.get('protocol')}, this lab {PROTOCOL}; run make setup")

    def call(self, op: str, **arguments: Any) -> Any:
        """One command to the tester; returns the value of its answer. Raises TesterError or ConnectionLostError."""
        self._say(op, **arguments)
        return self._answer()

    def rewind(self, path: str) -> None:
        """Has the DUT put back to where it was restored from the snapshot file at `path`. Before anything else: `rewound`."""
        self._say("rewind", path=path)
        self.agent_limit_ns = AGENT_LIMIT_NS

    def rewound(self) -> None:
        """Waits until that is done, and the agent asks for work. Raises TesterError if it cannot be, or ConnectionLostError."""
        self.greet()

    def guest(self, command: str, limit_ns: int | None = None, **arguments: Any) -> Any:
        """One command to the agent in the DUT; virtual time runs until it has answered, or the limit is over (an error)."""
        return self.call("guest", do={command: arguments}, limit_ns=limit_ns or self.agent_limit_ns)

    def close(self) -> None:
        """Closes the socket, which ends QEMU at once."""
        self._lines.close()
        self._sock.close()

    def _say(self, op: str, **arguments: Any) -> None:
        line = json.dumps({"op": op, **arguments}, separators=(",", ":")).encode() + b"\n"
        try:
            self._sock.sendall(line)
        except OSError as error:
            raise ConnectionLostError("QEMU closed the connection") from error

    def _answer(self) -> Any:
        try:
            line = self._lines.readline()
        except OSError as error:
            raise ConnectionLostError("QEMU closed the connection") from error
        if not line:
            raise ConnectionLostError("QEMU closed the connection")
        answer = json.loads(line)
        if "error" in answer:
            raise TesterError(str(answer["error"]))
        return answer["ok"]
