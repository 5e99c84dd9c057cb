# SPDX-License-Identifier: GPL-2.0-or-later
"""irqlab's end of the tester's socket: one JSON object per line (docs/inside/protocol.md, link 1).

Virtual time stops in the DUT between two calls.
"""

from __future__ import annotations

import json
import select
import socket
from typing import Any, Protocol

from irqlab.errors import IrqlabError
from irqlab.qemu.watchdog import NoAnswerError, Watchdog

PROTOCOL = 2

AGENT_LIMIT_NS = 60_000_000_000
"""Virtual time within which the agent must answer an ordinary command."""


class Attendant(Protocol):
    """What a debugger does about the DUT while its agent executes a command."""

    def paused(self, place: dict[str, Any]) -> None:
        """The machine was paused (docs/inside/protocol.md, `halt`). Returns when it runs again."""

    def wait(self, tester: socket.socket) -> None:
        """Returns when the tester has sent something."""


class TesterError(IrqlabError):
    """The tester or the agent rejected a command; the message says why."""


class UnsupportedError(TesterError):
    """This QEMU, these NICs or their driver cannot do what a command asks for."""


class ConnectionLostError(IrqlabError):
    """QEMU, and the tester in it, went away."""


_ERRORS: dict[str, type[IrqlabError]] = {
    "refused": TesterError,
    "unsupported": UnsupportedError,
    "silent": NoAnswerError,
}
"""By the kind of an error (docs/inside/protocol.md, link 1)."""


class Rpc:
    """Calls to the tester, and through it to the agent in the DUT.

    `watchdog` observes the DUT while its agent does not answer.
    """

    def __init__(self, sock: socket.socket, watchdog: Watchdog | None = None) -> None:
        self._sock = sock
        self._watchdog = watchdog
        self._hung: NoAnswerError | None = None
        """Set once the agent has hung. No further call is possible: the tester accepts commands only while the agent waits."""
        self._lines = sock.makefile("rb")
        self.agent_limit_ns = AGENT_LIMIT_NS
        self._attendant: Attendant | None = None

    def attend(self, attendant: Attendant) -> None:
        """From now on, a debugger attends to the DUT while its agent does not answer; there is no watchdog any more."""
        self._attendant, self._watchdog = attendant, None

    def greet(self) -> None:
        """Waits for the agent's first request. Raises TesterError if the protocol version differs."""
        hello = self._answer()
        if hello.get("protocol") != PROTOCOL:
            raise TesterError(f"the tester has protocol version {hello.get('protocol')}, irqlab {PROTOCOL}: run make setup")

    def call(self, op: str, **arguments: Any) -> Any:
        """Sends a command to the tester; returns the value of its reply. Raises the error of its kind, or ConnectionLostError."""
        self._send(op, **arguments)
        return self._answer()

    def rewind(self, path: str) -> None:
        """Starts to reset the DUT to the state restored from the snapshot file at `path`. The next call must be `rewound`."""
        self._send("rewind", path=path)
        self.agent_limit_ns = AGENT_LIMIT_NS

    def rewound(self) -> None:
        """Waits for the end of `rewind` and the agent's request. Raises TesterError if it failed, or ConnectionLostError."""
        self.greet()

    def guest(self, command: str, limit_ns: int | None = None, watched: bool = True, **arguments: Any) -> Any:
        """Sends a command to the agent; virtual time runs until it has answered. Raises NoAnswerError, and as `call`.

        `limit_ns`: the agent's time limit in virtual time. `watched`: detect a hung DUT.
        """
        return self.run("guest", watched, do={command: arguments}, limit_ns=limit_ns or self.agent_limit_ns)

    def run(self, op: str, watched: bool = True, **arguments: Any) -> Any:
        """Sends a command that takes virtual time; returns the value of its reply. Raises NoAnswerError, and as `call`.

        `watched`: detect a hung DUT.
        """
        self._send(op, **arguments)
        try:
            if watched and self._watchdog is not None:
                self._watch(self._watchdog)
            return self._answer()
        except NoAnswerError as error:
            self._hung = error
            raise

    def _send(self, op: str, **arguments: Any) -> None:
        if self._hung is not None:
            raise NoAnswerError(str(self._hung), self._hung.rsp)
        line = json.dumps({"op": op, **arguments}, separators=(",", ":")).encode() + b"\n"
        try:
            self._sock.sendall(line)
        except OSError as error:
            raise ConnectionLostError("QEMU closed the connection") from error

    def _watch(self, watchdog: Watchdog) -> None:
        """Returns when there is a reply, or the connection was closed."""
        answer = select.poll()
        answer.register(self._sock, select.POLLIN)
        watchdog.begin()
        while not answer.poll(watchdog.pause_s * 1000):
            watchdog.look()

    def close(self) -> None:
        """Closes the socket, which ends QEMU at once."""
        self._lines.close()
        self._sock.close()

    def _answer(self) -> Any:
        answer = self._line()
        while self._attendant is not None and "paused" in (answer.get("ok") or ()):
            self._attendant.paused(answer["ok"]["paused"])
            self._attendant.wait(self._sock)
            answer = self._line()
        if "error" in answer:
            raise _ERRORS[answer["kind"]](str(answer["error"]))
        return answer["ok"]

    def _line(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except OSError as error:
            raise ConnectionLostError("QEMU closed the connection") from error
        if not line:
            raise ConnectionLostError("QEMU closed the connection")
        answer: dict[str, Any] = json.loads(line)
        return answer
