# SPDX-License-Identifier: GPL-2.0-or-later
"""Controls a running DUT through its agent: commands, files, modules, the kernel log (docs/inside/protocol.md, link 2)."""

from __future__ import annotations

import base64
import errno
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from irqlab.dut.kernel_log import GuestCalls, KernelLog
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError, UnsupportedError
from irqlab.setup.modules import Module

ONLINE = "/sys/devices/system/cpu/online"
TIMERS = "/proc/timer_list"
LOW_RESOLUTION = re.compile(r"^ *\.hres_active *: 0$", re.MULTILINE)
"""In TIMERS, once for each processor: its timers expire with the tick (kernel/time/timer_list.c). Kernels without
CONFIG_HIGH_RES_TIMERS have no such line."""
PATIENCE_NS = 120_000_000_000


class DutError(IrqlabError):
    """An operation in the DUT failed; the message says which, with the kernel log if that helps."""


class NotSupportedError(DutError):
    """This QEMU, these NICs or their driver cannot do it."""


def dut_error(text: str, cause: TesterError) -> DutError:
    """The error of an operation in the DUT that the tester or the agent refused."""
    return (NotSupportedError if isinstance(cause, UnsupportedError) else DutError)(text)


def failure(text: str, done: Mapping[str, Any]) -> DutError:
    """The error of a program that failed in the DUT (Agent.attempt). Why is known only from its words, which are strerror's."""
    said = f"{done['err']}{done['out']}"
    return (NotSupportedError if os.strerror(errno.EOPNOTSUPP) in said else DutError)(text)


class Calls(GuestCalls, Protocol):
    """What reaches a tester, and through it or beside it an agent: in the lab one connection (irqlab.qemu.rpc.Rpc)."""

    def call(self, op: str, **arguments: Any) -> Any:
        """Sends a command to the tester; returns the value of its reply."""


class Agent:
    """A running DUT. Every method sends a few commands to its agent."""

    def __init__(self, rpc: Calls, kernel_log: KernelLog) -> None:
        self.rpc = rpc
        self.kernel_log = kernel_log
        self.patience_ns = PATIENCE_NS
        """How far a sleep may exceed its duration, in virtual ns, before the DUT counts as hung."""

    def run(self, *argv: str) -> str:
        """Runs a command in the DUT and returns what it printed. Raises DutError if it fails."""
        done = self.attempt(*argv)
        if done["code"] != 0:
            raise DutError(f"in the DUT, `{' '.join(argv)}` failed ({done['code']}): {(done['err'] or done['out']).strip()}")
        return str(done["out"])

    def attempt(self, *argv: str) -> dict[str, Any]:
        """Runs a command that may fail; returns its code, out and err."""
        done: dict[str, Any] = self.rpc.guest("exec", argv=list(argv), stdin=None)
        return done

    def read(self, *paths: str) -> dict[str, str | None]:
        """Reads files in the DUT; None for those that cannot be read."""
        files: dict[str, str | None] = self.rpc.guest("read", paths=list(paths))["files"]
        return files

    def write(self, path: str, text: str) -> None:
        """Writes a file in the DUT."""
        self.rpc.guest("write", path=path, text=text)

    def check_processors(self, cpus: int) -> None:
        """Raises DutError unless this many processors are online: a kernel that does not find the others boots without a word."""
        there = (self.read(ONLINE)[ONLINE] or "0").strip()
        if there != (f"0-{cpus - 1}" if cpus > 1 else "0"):
            raise DutError(
                f"--cpus {cpus}: the DUT's kernel has brought up processor {there} only (with KASAN it needs X86_MPPARSE)"
            )

    def check_timers(self) -> None:
        """Raises DutError if a processor's timers expire with the tick, though its kernel has timers of high resolution."""
        if LOW_RESOLUTION.search(self.read(TIMERS)[TIMERS] or ""):
            raise DutError(
                "the DUT's timers expire with the tick, every few ms, so drivers that use timers would not be tested. A kernel "
                "without CONFIG_X86_PM_TIMER does so if the host is busy while it boots (dmesg: APIC timer disabled due to "
                "verification failure): add the option, or try again. highres=off in --kernel-arguments is not allowed"
            )

    def sleep(self, ns: int) -> None:
        """Lets `ns` of virtual time pass with the agent asleep."""
        self.rpc.guest("sleep", ns=ns, limit_ns=ns + self.patience_ns)

    def sysctl(self, name: str, value: str) -> None:
        """Sets a sysctl. Raises DutError if it does not exist, or the kernel rejects the value."""
        try:
            self.write("/proc/sys/" + name.replace(".", "/"), value)
        except TesterError as error:
            raise DutError(f"sysctl {name}={value}: {error}") from error

    def load(self, modules: Sequence[Module], parameters: str = "") -> None:
        """Loads modules in order; `parameters` go to the last, the driver under test."""
        for module in modules:
            last = module is modules[-1]
            try:
                self.rpc.guest(
                    "insmod",
                    name=module.name,
                    base64=base64.b64encode(module.data).decode(),
                    params=parameters if last else "",
                )
            except TesterError as error:
                raise DutError(f"cannot load the module {module.name}: {error}") from error
        self.kernel_log.check()
