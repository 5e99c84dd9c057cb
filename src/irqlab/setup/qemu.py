# SPDX-License-Identifier: GPL-2.0-or-later
"""The QEMU that is installed, and what it can do."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from irqlab.setup import SetupError

BINARY = "qemu-system-x86_64"
OLDEST = (7, 2)


@dataclass(frozen=True)
class Qemu:
    """An executable and its version, e.g. ``(7, 2, 22)`` and the line ``qemu-system-x86_64 --version`` prints."""

    path: Path
    version: tuple[int, ...]
    version_text: str

    def devices(self) -> frozenset[str]:
        """Names and aliases ``-device`` knows."""
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
        raise SetupError(f"{path} --version says {text!r}, which is no QEMU's")
    return Qemu(path, tuple(int(part) for part in match[1].split(".")), text)


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
