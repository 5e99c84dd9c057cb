# SPDX-License-Identifier: GPL-2.0-or-later
"""A trial that can be stopped at any instant, stepped through, and taken back.

Trials repeat exactly. So an earlier instant is reached by restoring the snapshot and running the same trial up to it; nothing is
recorded. A script, a generator, says what to do: it yields motions and gets the pauses at which they end. QEMU's GDB stub gives
access to registers and memory meanwhile. Virtual time stands still in a pause, and goes on as if there had been none.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from irqlab.dut.router import LabDut
from irqlab.errors import IrqlabError
from irqlab.qemu import gdb
from irqlab.qemu.gdb import Gdb
from irqlab.qemu.machine import Machine
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial

T = TypeVar("T")
SINGLE_STEPS = b"Qqemu.sstep=1"
"""Interrupts and timers go on while single instructions are executed (QEMU's docs/system/gdb.rst), as they do without GDB."""


@dataclass(frozen=True)
class Pause:
    """The DUT stands still. Times are in ns from the start of the trial's window."""

    now_ns: int
    instructions: int
    """Executed since power-on."""
    idle_since_ns: int
    """When the last instruction was over; `now_ns` unless the processor idles."""
    halted: bool
    """The instant that was asked for is reached; False: a breakpoint, or a step."""
    reply: bytes
    """The stub's notification, if it was asked to resume the DUT."""


@dataclass(frozen=True)
class Goto:
    """Run to an instant; if that is over, from the snapshot."""

    at_ns: int


@dataclass(frozen=True)
class Run:
    """Resume, up to a breakpoint or an instant (None: the trial's end)."""

    until_ns: int | None = None
    request: bytes = b"c"
    """What the stub is asked: `c`, `s` for one instruction, or a debugger's own request."""


STEP = Run(request=b"s")
Motion = Goto | Run
Script = Generator[Motion, Pause, T]


class DetachedError(IrqlabError):
    """The debugger is gone."""


class _BackError(Exception):
    """Unwinds a trial that has to be started again."""


class _DoneError(Exception):
    """Unwinds a trial whose script has ended."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Dut(LabDut):
    """A DUT that tells when a trial was armed."""

    def __init__(self, machine: Machine, may_log: Sequence[str], armed: Callable[[int, int], None]) -> None:
        super().__init__(machine, may_log)
        self._tell = armed

    def run_trial(
        self, trial: dict[str, Any], streams: list[dict[str, Any]], meanwhile: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        """As LabDut's; tells the start of the window and how long after that the trial ends, in ns."""

        def armed(begin_ns: int) -> None:
            self._tell(begin_ns, int(trial["duration_ns"]) + int(trial["drain_ns"]))
            if meanwhile is not None:
                meanwhile(begin_ns)

        return super().run_trial(trial, streams, armed)


class Debuggee:
    """A trial on a testbed, under a script. `client`: the debugger's socket, heard while the DUT runs."""

    def __init__(self, testbed: Testbed, trial: Trial[Any], client: socket.socket | None = None) -> None:
        if testbed.config.memory is not None:
            raise IrqlabError(
                "--hardware: with a memory model an instruction takes no fixed time, so debug cannot go back to an instant"
            )
        if testbed.config.cpus > 1:
            raise IrqlabError("--cpus: only a DUT with one processor can be taken back to an instant")
        if testbed.config.functional:
            raise IrqlabError("--functional: without an instruction clock no instant can be reached again")
        self._testbed, self._trial = testbed, trial
        self.client = client
        self.instruction_ns = 1 << testbed.machine.shift
        self.first_ns, self.end_ns = 0, 0
        """The trial's first and last instant; known once the script has its first pause."""
        self.begin_ns = 0
        """The start of the window, in ns of virtual time."""
        self.stub: Gdb
        """QEMU's; may be used while the DUT stands still. After a `Goto` back it may be another one."""
        self._resumed = False
        self._has_stub = False
        self._halt_ns = 0
        """The instant that the tester was asked for last."""

    def run(self, script: Script[T]) -> T:
        """Runs the trial under a script, which must begin with a `Goto`. Raises IrqlabError."""
        first = next(script)
        assert isinstance(first, Goto)
        self._script, self._target_ns = script, first.at_ns
        while True:
            with ExitStack() as stack:
                machine = stack.enter_context(self._testbed.open()).machine
                self._stack, self._machine, self._has_stub = stack, machine, False
                machine.rpc.attend(self)
                while True:
                    try:
                        self._trial.measure(
                            _Dut(machine, self._testbed.config.dut.may_log, self._armed), self._testbed.conditions
                        )
                    except _DoneError as done:
                        value: T = done.value
                        return value
                    except _BackError:
                        if not self._testbed.nic.rewinds:
                            break
                        machine.rewind(self._testbed.prepared.state)
                        machine.rpc.rewound()
                    else:
                        raise IrqlabError("the trial ended before the instant was reached")

    # The tester's side

    def _armed(self, begin_ns: int, whole_ns: int) -> None:
        """The trial is about to begin."""
        now_ns = int(self._machine.rpc.call("clock")["now_ns"])
        self.begin_ns, self.first_ns, self.end_ns = begin_ns, now_ns - begin_ns, whole_ns
        if self._target_ns > self.end_ns:
            raise IrqlabError(
                f"--at {self._target_ns}: the trial ends {self.end_ns} ns after the start of its window, "
                f"and begins {-self.first_ns} ns before it"
            )
        self._halt_ns = max(self._target_ns, self.first_ns)
        self._machine.rpc.call("halt", at_ns=begin_ns + self._halt_ns)
        self._resumed = False

    def paused(self, place: dict[str, Any]) -> None:
        """The machine was paused: lets the script decide."""
        if not self._has_stub:
            self.stub = self._stack.enter_context(gdb.attached(self._machine.monitor, self._machine.directory))
            self.stub.ask(SINGLE_STEPS)
            self._has_stub = True
        if not self._resumed:
            self.stub.ask(b"qC")  # QEMU 7.2 notifies even if nobody asked: that comes before the answer
        reply = self.stub.stop_reply() if self._resumed else b""
        pause = Pause(
            now_ns=int(place["now_ns"]) - self.begin_ns,
            instructions=int(place["instructions"]),
            idle_since_ns=int(place["idle_since_ns"]) - self.begin_ns,
            halted=bool(place["halted"]),
            reply=reply,
        )
        try:
            motion = self._script.send(pause)
        except StopIteration as ended:
            raise _DoneError(ended.value) from None
        if isinstance(motion, Goto):
            if motion.at_ns < pause.now_ns:
                self._target_ns = motion.at_ns
                raise _BackError
            motion = Run(motion.at_ns)
        until_ns = self.end_ns if motion.until_ns is None else min(motion.until_ns, self.end_ns)
        if pause.halted or until_ns != self._halt_ns:
            self._halt_ns = max(until_ns, pause.now_ns)
            self._machine.rpc.call("halt", at_ns=self.begin_ns + self._halt_ns)
        self._resumed = True
        self.stub.send(motion.request)

    def wait(self, tester: socket.socket) -> None:
        """Waits for the tester; meanwhile the debugger may interrupt the DUT, or go."""
        heard = [tester, *([self.client] if self.client else [])]
        while tester not in (ready := select.select(heard, [], [])[0]):
            if self.client in ready:
                said = self.client.recv(4096) if self.client else b""
                if not said:
                    raise DetachedError("the debugger is gone")
                if b"\x03" in said:
                    self.stub.interrupt()
