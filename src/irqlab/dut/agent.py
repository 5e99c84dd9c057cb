# SPDX-License-Identifier: GPL-2.0-or-later
"""A running DUT, through the agent in it: commands, files, modules, the kernel log (docs/protocol.md, link 2)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from irqlab.dut.kernel_log import KernelLog
from irqlab.errors import IrqlabError
from irqlab.qemu import backtrace
from irqlab.qemu.machine import Machine
from irqlab.qemu.rpc import TesterError
from irqlab.qemu.watchdog import NoAnswerError
from irqlab.setup.modules import Module

PATIENCE_NS = 120_000_000_000
LAST_LINES = 12
"""Of the kernel's log, shown with a DUT that hangs."""


class DutError(IrqlabError):
    """The DUT did not do as told; the message says what and shows the kernel log where that helps."""


class Agent:
    """A running DUT. Every method is a few commands to its agent."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.rpc = machine.rpc
        self.kernel_log = KernelLog(self.rpc)
        self.patience_ns = PATIENCE_NS
        """How long a sleep may last beyond its time before the DUT is given up, in virtual ns."""

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
        """Reads files of the DUT; None for what cannot be read."""
        files: dict[str, str | None] = self.rpc.guest("read", paths=list(paths))["files"]
        return files

    def write(self, path: str, text: str) -> None:
        """Writes a file of the DUT."""
        self.rpc.guest("write", path=path, text=text)

    def sleep(self, ns: int) -> None:
        """Lets `ns` of virtual time pass with the agent asleep."""
        self.rpc.guest("sleep", ns=ns, limit_ns=ns + self.patience_ns)

    def sysctl(self, name: str, value: str) -> None:
        """Sets a sysctl. Raises DutError for one that the kernel has not, or a value it refuses."""
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
                raise DutError(f"the module {module.name} does not load: {error}") from error
        self.kernel_log.check()

    def whereabouts(self, hung: NoAnswerError) -> str:
        """Where the kernel of a DUT that does not answer is, and what it logged last. Ends the machine."""
        found = backtrace.take(self.machine, hung.rsp)
        last = [*self.kernel_log.lines, *found.console][-LAST_LINES:]
        return f"{found}\nthe kernel's last lines:\n" + "\n".join(f"  {line}" for line in last or ["(none)"])
