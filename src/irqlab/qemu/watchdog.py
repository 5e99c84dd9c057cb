# SPDX-License-Identifier: GPL-2.0-or-later
"""Detects a DUT whose kernel is stuck in an endless loop, while irqlab waits for its agent.

An overloaded DUT may starve its agent for minutes of real time without being stuck: its CPU runs through hundreds of functions,
and its stack changes with every frame. A kernel in an endless loop never returns from the looping function, so the stack above
that function does not change. The watchdog therefore compares samples of the stack and of the callee-saved registers
(System V ABI, AMD64 supplement, 3.2.1). It takes them through QEMU's monitor while the DUT runs; that only reads memory.

In receive livelock one interrupt handler follows the other, and the interrupted function may always be at the same instruction.
Then the stack changes as little as in an endless loop. But an endless loop with interrupts disabled takes none. Samples with
interrupts disabled are therefore alike only if no device raised an interrupt in between, on any CPU. MSI is not counted.

A DUT is stuck if ENOUGH of the last WINDOW samples are alike, and none shows an idle CPU or user space; the others are
from interrupt handlers. QEMU must have used some CPU time between samples, so on a busy host they are further apart.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from irqlab.errors import IrqlabError
from irqlab.qemu.hmp import Hmp
from irqlab.qemu.qmp import QmpError

SILENT_S = 4.0
"""Real time without a reply after which the watchdog starts sampling."""
PERIOD_S = 0.5
"""Real time between samples, at least."""
WINDOW, ENOUGH = 15, 12
STEP_CPU_S = 0.125
"""CPU time that QEMU has used between samples, at least."""
STACK_WORDS = 128
DEPTH_BYTES = 128
"""Maximum distance between the stack pointers of samples that are alike: the loop may call functions."""
CHANGED_WORDS = 2
"""Words that may differ between samples that are alike: variables of the loop itself."""
INTERRUPT_FLAG = 0x200
"""In RFLAGS: interrupts are enabled."""
PRESERVED = ("RBX", "RBP", "R12", "R13", "R14", "R15")


class NoAnswerError(IrqlabError):
    """The agent does not answer; the DUT accepts no further commands."""

    def __init__(self, message: str, rsp: int | None = None) -> None:
        super().__init__(message)
        self.rsp = rsp
        """The stack pointer in the endless loop, if there is one."""


@dataclass(frozen=True)
class Sample:
    """A sample of the CPU's position in the kernel."""

    rsp: int
    preserved: tuple[int, ...]
    """The values of the registers PRESERVED."""
    stack: tuple[int, ...]
    """64-bit words from `rsp` upwards."""
    raised: int = 0
    """How many interrupts devices have raised so far; 0 if the CPU has interrupts enabled."""

    def alike(self, other: Sample) -> bool:
        """Whether both may be from one invocation of one function."""
        if abs(self.rsp - other.rsp) > DEPTH_BYTES or self.raised != other.raised:
            return False
        top = max(self.rsp, other.rsp)
        mine, its = (sample.stack[(top - sample.rsp) // 8 :] for sample in (self, other))
        same_depth = self.rsp == other.rsp  # a called function has saved them, and uses them itself
        pairs = [*zip(mine, its, strict=False), *(zip(self.preserved, other.preserved, strict=True) if same_depth else ())]
        changed = [a for a, b in pairs if a != b]
        return len(changed) <= CHANGED_WORDS


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used (proc(5), /proc/PID/stat); 0 if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watchdog:
    """Observes a DUT through its monitor. `cpu_s`: QEMU's CPU time so far; `clock`: real time; both in seconds."""

    def __init__(self, monitor: Hmp, cpu_s: Callable[[], float], clock: Callable[[], float] = time.monotonic) -> None:
        self._monitor = monitor
        self._cpu_s = cpu_s
        self._clock = clock
        self._began_s = self._next_s = 0.0
        self._sampled_cpu_s = float("-inf")
        """QEMU's CPU time at the last sample."""
        self._step: Callable[[str], None] | None = None
        """Handler of the pending monitor reply; None if none is pending, or only one from an earlier wait."""
        self._registers: dict[str, int] = {}
        self._recent: deque[Sample] = deque(maxlen=WINDOW)

    def begin(self) -> None:
        """To be called when a command was sent to the agent."""
        self._began_s = self._clock()
        self._next_s = self._began_s + SILENT_S
        self._sampled_cpu_s = float("-inf")
        self._step = None
        self._recent.clear()

    @property
    def pause_s(self) -> float:
        """How long to wait for the agent before the next `look`, in seconds of real time."""
        return 0.02 if self._monitor.busy else min(PERIOD_S, max(0.0, self._next_s - self._clock()))

    def look(self) -> None:
        """Takes a sample if one is due, without blocking. Raises NoAnswerError if the DUT is stuck."""
        try:
            if self._monitor.busy:
                text = self._monitor.poll()
                if text is not None and self._step is not None:
                    self._step(text)
            elif self._clock() >= self._next_s:
                self._next_s = self._clock() + PERIOD_S
                if (cpu_s := self._cpu_s()) >= self._sampled_cpu_s + STEP_CPU_S:
                    self._sampled_cpu_s = cpu_s
                    self._post("info registers", self._on_registers)
        except QmpError:  # QEMU is gone; the caller that waits for the agent will notice
            self._next_s = float("inf")

    def _post(self, command: str, step: Callable[[str], None]) -> None:
        self._monitor.post(command)
        self._step = step

    def _on_registers(self, text: str) -> None:
        self._registers = {name: int(value, 16) for name, value in re.findall(r"\b(\w{2,3}) ?=([0-9a-f]+)\b", text)}
        if self._registers.get("HLT", 1) or self._registers.get("CPL", 3):
            self._recent.clear()
            return
        self._post(f"x /{STACK_WORDS}gx $sp", self._on_stack)  # short: QEMU may take 10 ms to read a character

    def _on_stack(self, text: str) -> None:
        words = tuple(int(word, 16) for line in text.splitlines() for word in line.partition(":")[2].split() if word[:2] == "0x")
        address = re.match("[0-9a-f]+(?=:)", text)
        if not words or not address:
            return
        preserved = tuple(self._registers.get(name, 0) for name in PRESERVED)
        now = Sample(int(address[0], 16), preserved, words)
        if self._registers.get("RFL", 0) & INTERRUPT_FLAG:
            self._on_sample(now)
        else:
            self._post("info irq", lambda text: self._on_sample(replace(now, raised=_raised(text))))

    def _on_sample(self, now: Sample) -> None:
        self._recent.append(now)
        if sum(sample.alike(now) for sample in self._recent) >= ENOUGH:
            raise NoAnswerError(
                f"no answer for {self._clock() - self._began_s:.0f} s of real time, and the kernel is in an endless loop", now.rsp
            )


def _raised(text: str) -> int:
    """The sum of the interrupts in a reply to `info irq`: one line for each input of a controller that was raised."""
    return sum(int(count) for count in re.findall(r"^ *\d+: (\d+)", text, re.MULTILINE))
