# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that boot a DUT. They use the snapshots in the cache, as a user's second command does."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from irqlab.cli.app import app
from irqlab.setup import headers, kernel

COMMAND = [sys.executable, "-m", "irqlab"]
Cli = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]


def heed_interrupts() -> None:
    """For a child process: shells start background processes with SIGINT ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs the command line in an empty directory. `typed`: what it reads from its standard input."""

    def run(
        *arguments: str, timeout_s: float = 300, typed: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "120", **environment},
            input=typed,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    return run


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Runs a command that must fail with one message; returns the message, on one line.

    It runs in this process: to start another one for each bad input takes longer than all that it does.
    """
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        done = CliRunner(env={"COLUMNS": "120"}).invoke(app, arguments)
        assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
        assert (done.exit_code, done.stdout) == (2, ""), done.output
        return " ".join(done.stderr.split())

    return run


@dataclass(frozen=True)
class BadModules:
    """Builds a module of tests/e2e/modules with one kind of misbehaviour."""

    directory: Path

    def build(self, what: str, source: str = "bad.c") -> Path:
        """The path of the module that does WHAT."""
        target = headers.of(kernel.resolve())
        home = self.directory / what.lower()
        home.mkdir()
        shutil.copy(Path(__file__).parent / "modules" / source, home / f"{what.lower()}.c")
        (home / "Makefile").write_text(f"obj-m := {what.lower()}.o\nccflags-y := -DWHAT={what}\n")
        make = ("make", "-s", "-C", target.directory, "M=/build", f"CC={target.root.compiler}", "modules")
        done = target.root.run(*make, writable={"/build": home}, readable=target.readable)
        assert done.returncode == 0, done.stderr
        return home / f"{what.lower()}.ko"


@pytest.fixture
def bad_modules(tmp_path: Path) -> BadModules:
    """Modules that misbehave."""
    return BadModules(tmp_path)


def qemus_of(pid: int) -> list[int]:
    """The QEMU processes whose parent is `pid`."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            words = status.with_name("cmdline").read_bytes()  # the lab's own QEMU is started by its tree's loader
        except OSError:
            continue
        if b"qemu-system" in words and int(fields["PPid"]) == pid:
            found.append(int(status.parent.name))
    return found
