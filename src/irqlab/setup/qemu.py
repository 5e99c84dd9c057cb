# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed QEMU and its capabilities."""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from irqlab.setup import SetupError

BINARY = "qemu-system-x86_64"
SELFCHECK_SECONDS = 60
TESTER = "irqlab-tester: "
"""Prefix of the tester's own messages."""


@dataclass(frozen=True)
class Qemu:
    """An executable and its version, e.g. ``(7, 2, 22)`` and the line ``qemu-system-x86_64 --version`` prints."""

    path: Path
    version: tuple[int, ...]
    version_text: str

    @property
    def sha256(self) -> str:
        """SHA-256 of the executable, in hex. Two builds may print the same version."""
        return _sha256(self.path)

    def selfcheck(self, tester: Path) -> str:
        """Loads the tester plugin into this QEMU, where it checks everything it relies on; returns the tester's summary.

        Raises SetupError with the message of the tester or QEMU.
        """
        plugin = f"{str(tester).replace(',', ',,')},selfcheck=1,shift=2,lan7800=super,pci=33:32"
        command = [
            *(str(self.path), "-M", "pc", "-nodefaults", "-no-user-config", "-vga", "none", "-display", "none"),
            *("-icount", "shift=2,sleep=off", "-plugin", plugin),
            *("-device", "qemu-xhci,id=usb", "-device", "usb-lan7800,bus=usb.0,serial=525400000001"),
            *("-device", "irqlab-82559,mac=52:54:00:00:00:01,romfile="),
        ]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SELFCHECK_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SetupError(f"{self.path} with the tester: {error}") from error
        said = [line.removeprefix(TESTER) for line in done.stdout.splitlines() if line.startswith(TESTER)]
        if done.returncode == 0 and said:
            return said[-1]
        lines = done.stderr.strip().splitlines()
        own = [line.removeprefix(TESTER) for line in lines if line.startswith(TESTER)]
        why = "; ".join(own or lines) or f"exit code {done.returncode}, and no message"
        raise SetupError(f"{self.path} cannot run the tester: {why}")

    def devices(self) -> frozenset[str]:
        """Names and aliases of devices for ``-device``."""
        return _devices(self.path)

    def properties(self, device: str) -> frozenset[str]:
        """Names of the properties of a device."""
        return _properties(self.path, device)


def find() -> Qemu:
    """``$IRQLAB_QEMU``, else the one in PATH."""
    wanted = os.environ.get("IRQLAB_QEMU") or BINARY
    found = shutil.which(wanted)
    if found is None:
        raise SetupError(f"{wanted} not found: run `make setup` (Debian: apt install qemu-system-x86), or set IRQLAB_QEMU")
    path = Path(found).resolve()
    text = _output(path, "--version").partition("\n")[0].strip()
    match = re.search(r"version (\d+(?:\.\d+)*)", text)
    if match is None:
        raise SetupError(f"{path} --version printed {text!r}, so it is not QEMU")
    return Qemu(path, tuple(int(part) for part in match[1].split(".")), text)


@cache
def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _devices(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r'(?:^name|, alias) "([^"]+)"', _output(path, "-device", "help"), re.MULTILINE))


@cache
def _properties(path: Path, device: str) -> frozenset[str]:
    return frozenset(re.findall(r"^\s+([^\s=]+)=<", _output(path, "-device", f"{device},help"), re.MULTILINE))


@cache
def _output(path: Path, *arguments: str) -> str:
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"{path} {' '.join(arguments)}: {error}") from error
    return done.stdout
