# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB's side: a server of the remote protocol between GDB and QEMU's stub, that can also go backwards.

Most packets are passed on. `bs` and `bc` (GDB's manual, appendix E, "Packets") are done here, with what a `Debuggee` can do.
QEMU's stub knows no reverse execution with -icount alone.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Generator
from dataclasses import dataclass, field

from irqlab.debug.debuggee import STEP, Debuggee, Goto, Motion, Pause, Run, Script
from irqlab.errors import IrqlabError
from irqlab.qemu.gdb import GdbError, framed, packet_in
from irqlab.units import duration

FEATURES = b";ReverseStep+;ReverseContinue+"
FIRST_WINDOW_NS = 64_000
"""How far back a breakpoint is looked for first; then this many times as far."""
WIDER = 8
BREAK, WATCHES = (b"0", b"1"), (b"2", b"3", b"4")
"""Types of `Z` packets: software and hardware breakpoints; watchpoints for writes, reads and both."""

_RESUME = re.compile(rb"[csCS](?![a-zA-Z])|vCont;")

Moves = Generator[Motion, Pause, tuple[Pause, bytes]]
"""Motions that end with a pause and what GDB is told of it."""


class Client:
    """GDB's end of the connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._received = b""

    def receive(self) -> bytes | None:
        """The next packet, acknowledged; None: GDB is gone."""
        while (found := packet_in(self._received)) is None:
            try:
                new = self.sock.recv(65536)
            except OSError:
                return None
            if not new:
                return None
            self._received += new
        packet, self._received = found
        self._send(b"+")
        return packet

    def reply(self, packet: bytes) -> None:
        """Sends an answer."""
        self._send(framed(packet))

    def _send(self, text: bytes) -> None:
        with contextlib.suppress(OSError):  # the next `receive` says that GDB is gone
            self.sock.sendall(text)


@dataclass
class Server:
    """A session with GDB."""

    debuggee: Debuggee
    client: Client
    _points: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Break- and watchpoints that GDB has inserted: type, address and size as in its packets."""

    def script(self, pause: Pause) -> Script[None]:
        """Serves GDB from a pause on, until it detaches."""
        while (packet := self.client.receive()) is not None:
            if packet == b"k":
                return
            if packet == b"D" or packet.startswith((b"vKill", b"D;")):
                self.client.reply(b"OK")  # then it closes the connection
                continue
            if packet == b"bs":
                pause, reply = yield from self._step_back(pause)
            elif packet == b"bc":
                pause, reply = yield from self._continue_back(pause)
            elif _RESUME.match(packet) and packet != b"vCont?":
                pause, reply = yield from self._resume(pause, packet)
            elif packet.startswith(b"qRcmd,"):
                pause, reply = yield from self._monitor(pause, bytes.fromhex(packet[6:].decode()).decode())
            else:
                reply = self._pass_on(packet)
            self.client.reply(reply)

    def _pass_on(self, packet: bytes) -> bytes:
        answer = self.debuggee.stub.ask(packet)
        if packet.startswith(b"qSupported"):
            return answer + FEATURES
        if packet[:1] in b"Zz" and answer == b"OK":
            kind, _, place = packet[1:].partition(b",")
            point = (kind, place.split(b";")[0])
            self._points = [known for known in self._points if known != point]
            if packet[:1] == b"Z":
                self._points.append(point)
        return answer

    # Forwards

    def _resume(self, pause: Pause, request: bytes) -> Moves:
        if pause.now_ns >= self.debuggee.end_ns:
            return pause, self._stopped(b"replaylog:end;")
        pause = yield Run(None, request)
        if pause.halted:
            return pause, self._stopped(b"replaylog:end;")
        return pause, pause.reply

    # Backwards

    def _step_back(self, pause: Pause) -> Moves:
        wanted = pause.instructions - 1
        self._insert(False)
        while pause.instructions > wanted:
            at_ns = pause.idle_since_ns - self.debuggee.instruction_ns
            if at_ns < self.debuggee.first_ns:
                self._insert(True)
                return pause, self._stopped(b"replaylog:begin;")
            pause = yield Goto(at_ns)
        self._insert(True)
        return pause, self._stopped()

    def _continue_back(self, here: Pause) -> Moves:
        """The last break- or watchpoint that the DUT passed: looked for in longer and longer times before this instant."""
        first_ns, window_ns = self.debuggee.first_ns, FIRST_WINDOW_NS
        while True:
            begin_ns = max(here.now_ns - window_ns, first_ns)
            self._insert(False)
            pause = yield Goto(begin_ns)
            hit = yield from self._last_hit(pause, here)
            self._insert(False)
            if hit is not None:
                pause, reply = hit
                # A watchpoint is noticed after the access. Backwards, the DUT stops before it.
                watched = b"watch:" in reply
                pause = yield Goto(pause.idle_since_ns - self.debuggee.instruction_ns if watched else pause.now_ns)
                self._insert(True)
                return pause, reply
            if begin_ns == first_ns:
                pause = yield Goto(first_ns)
                self._insert(True)
                return pause, self._stopped(b"replaylog:begin;")
            window_ns *= WIDER

    def _last_hit(self, pause: Pause, here: Pause) -> Generator[Motion, Pause, tuple[Pause, bytes] | None]:
        """The last hit from a pause up to `here`. A breakpoint there does not count; an access that was just made does."""
        hit = None
        while True:
            self._insert(True)
            pause = yield Run(here.now_ns)
            if pause.halted or pause.instructions > here.instructions:
                return hit
            watched = b"watch:" in pause.reply
            if pause.instructions == here.instructions and not watched:
                return hit
            hit = (pause, pause.reply)
            if watched:
                continue
            # QEMU does not step over a breakpoint by itself.
            self._insert(False, BREAK)
            before = pause.instructions
            self._insert(True, WATCHES)
            pause = yield STEP
            if b"watch:" in pause.reply and pause.instructions <= here.instructions:
                hit = (pause, pause.reply)
            if pause.instructions >= here.instructions or pause.instructions == before:
                return hit

    def _insert(self, wanted: bool, kinds: tuple[bytes, ...] = (*BREAK, *WATCHES)) -> None:
        """Has the stub insert the points, or remove them; it may have done so already."""
        for kind, place in self._points:
            if kind in kinds:
                if wanted:
                    self.debuggee.stub.ask(b"z%b,%b" % (kind, place))
                self.debuggee.stub.ask(b"%b%b,%b" % (b"Z" if wanted else b"z", kind, place))

    def _stopped(self, more: bytes = b"") -> bytes:
        answer = self.debuggee.stub.ask(b"qC")  # the only processor, as the stub names it
        thread = b"thread:%b;" % answer[2:] if answer.startswith(b"QC") else b""
        return b"T05" + more + thread

    # Commands of ours: GDB's `monitor`

    def _monitor(self, pause: Pause, command: str) -> Moves:
        words = command.split()
        said = ""
        try:
            if words[:1] == ["when"]:
                said = self._when(pause)
            elif words[:1] == ["goto"] and len(words) == 2:
                at_ns = round(float(words[1]))
                if not self.debuggee.first_ns <= at_ns <= self.debuggee.end_ns:
                    raise IrqlabError(f"allowed are {self.debuggee.first_ns} to {self.debuggee.end_ns} ns")
                self._insert(False)
                pause = yield Goto(at_ns)
                self._insert(True)
                said = self._when(pause)
            else:
                raise IrqlabError("allowed are when, and goto NS")
        except (ValueError, IrqlabError) as error:
            if isinstance(error, GdbError):
                raise
            said = f"{command}: {error}\n"
        return pause, said.encode().hex().encode() or b"OK"

    def _when(self, pause: Pause) -> str:
        idle = f", idle for {duration(pause.now_ns - pause.idle_since_ns)}" if pause.idle_since_ns < pause.now_ns else ""
        return f"{pause.now_ns} ns after the start of the window, {pause.instructions} instructions since power-on{idle}\n"
