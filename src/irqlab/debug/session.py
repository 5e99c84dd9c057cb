# SPDX-License-Identifier: GPL-2.0-or-later
"""A session of GDB on a DUT: starts GDB, and serves it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irqlab.debug.debuggee import Debuggee, DetachedError, Goto, Script
from irqlab.debug.server import Client, Server
from irqlab.debug.symbols import Files
from irqlab.errors import IrqlabError
from irqlab.files import Scratch
from irqlab.setup import debs
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial

GDB = ("gdb", ("gdb",), "bookworm", "fetching GDB (40 MB)")
"""Its tree (irqlab.setup.debs)."""
COMMANDS = Path(__file__).with_name("commands.gdb")
ALWAYS = (
    "set pagination off",
    "set confirm off",
    "set remotetimeout 1000",  # going back runs the trial again
    "set architecture i386:x86-64",
    "set print asm-demangle off",
)
QUIT_S = 5.0


@dataclass(frozen=True)
class Batch:
    """What GDB executes instead of reading from the terminal."""

    files: Sequence[Path] = ()
    commands: Sequence[str] = ()

    @property
    def wanted(self) -> bool:
        """Whether there is anything."""
        return bool(self.files or self.commands)

    @property
    def arguments(self) -> list[str]:
        """GDB's."""
        found = [word for path in self.files for word in ("-x", str(path))]
        return found + [word for command in self.commands for word in ("-ex", command)]


def run(testbed: Testbed, trial: Trial[Any], at_ns: int, known: Files, batch: Batch) -> None:
    """Runs GDB at an instant, in ns from the start of the trial's window, until it ends. Raises IrqlabError."""
    debuggee = Debuggee(testbed, trial)
    with Scratch() as directory:
        path = directory / "gdb.sock"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen(1)
            script = _session(debuggee, at_ns, known, batch, path, listening)
            try:
                with contextlib.suppress(DetachedError):
                    debuggee.run(script)
            finally:
                script.close()


def _session(debuggee: Debuggee, at_ns: int, known: Files, batch: Batch, path: Path, listening: socket.socket) -> Script[None]:
    """Starts GDB once the instant is reached."""
    pause = yield Goto(at_ns)
    with _gdb(known, batch, path) as process:
        while not select.select([listening], [], [], 0.2)[0]:
            if process.poll() is not None:
                raise IrqlabError(f"gdb ended with exit code {process.returncode}")
        sock, _ = listening.accept()
        debuggee.client = sock
        with sock:
            yield from Server(debuggee, Client(sock)).script(pause)
    if batch.wanted and process.returncode:
        raise IrqlabError(f"gdb ended with exit code {process.returncode}: a command failed")


@contextlib.contextmanager
def _gdb(known: Files, batch: Batch, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """GDB, from the terminal or in batch mode. It has ended afterwards."""
    tree = debs.tree(*GDB)
    environment = {**os.environ, "PYTHONHOME": f"{tree.directory}/usr"}
    command = [*tree.outside("usr/bin/gdb"), "--data-directory", f"{tree.directory}/usr/share/gdb", "-q", "-nx"]
    command += ["-batch"] if batch.wanted else []
    for line in (*ALWAYS, *known.commands):
        command += ["-iex", f"python gdb.execute({line!r}, to_string=True)"]  # without what it says about each file
    command += ["-ex", f"source {COMMANDS}", "-ex", f"target remote {path}", *batch.arguments]
    if batch.wanted:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, env=environment)
        try:
            yield process
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(QUIT_S)
        finally:
            process.kill()
            process.wait()
        return
    # Ctrl-C in the terminal is GDB's: it interrupts the DUT.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    process = subprocess.Popen(command, env=environment)
    try:
        yield process
        process.wait()
    finally:
        process.kill()
        process.wait()
        signal.signal(signal.SIGINT, before)
