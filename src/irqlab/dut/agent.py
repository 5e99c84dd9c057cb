# SPDX-License-Identifier: GPL-2.0-or-later
"""A running DUT, through the agent in it: commands, files, modules, the kernel log (docs/protocol.md, link 2)."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

from irqlab.errors import IrqlabError
from irqlab.qemu.machine import Machine
from irqlab.qemu.rpc import TesterError
from irqlab.setup.modules import Module

PATIENCE_NS = 120_000_000_000

KERNEL_PROBLEM = re.compile(
    r"WARNING: CPU|BUG:|Oops|Call Trace|self-detected stall|detected stalls|soft lockup|hung_task|blocked for more than"
    r"|NETDEV WATCHDOG|general protection fault|refcount_t:|UBSAN|KASAN|nobody cared|swiotlb buffer is full"
    r"|page allocation failure"
)
"""Kernel log lines that fail a run."""


class DutError(IrqlabError):
    """The DUT did not do as told; the message says what and shows the kernel log where that helps."""


class Agent:
    """A running DUT. Every method is a few commands to its agent."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.rpc = machine.rpc
        self.kernel_log: list[str] = []
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
        self.take_kernel_log()

    def take_kernel_log(self) -> None:
        """Moves new kernel log lines to `kernel_log`. Raises DutError if there is a warning, an oops or a stall among them."""
        records = self.rpc.guest("kmsg")["records"]
        self.kernel_log += [str(r["text"]) for r in records]
        bad = [i for i, line in enumerate(self.kernel_log) if KERNEL_PROBLEM.search(line)]
        if bad:
            shown = "\n".join(f"  {line}" for line in self.kernel_log[max(0, bad[0] - 5) : bad[0] + 40])
            raise DutError(f"the DUT's kernel complained:\n{shown}")
