# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU: Debian's, in a tree of its own (roots.py), the same on every host; or another that the user names.

It runs without a namespace: its dynamic linker and libraries are the tree's.
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from irqlab.setup import SetupError, debs, roots

RELEASES = {"7.2": "bookworm", "10.0": "trixie"}
"""What the lab fetches, and the Debian release that has it."""
DEFAULT = "7.2"
VARIABLE = "IRQLAB_QEMU"
PACKAGES = ("qemu-system-x86",)
BINARY = "usr/bin/qemu-system-x86_64"
BUNDLE = "usr/lib/x86_64-linux-gnu/qemu-bundle"
"""If this is beside what it was started as, the dynamic linker, QEMU takes modules and firmware from there (util/cutils.c,
get_relocated_path), and none of a QEMU that the host may have."""
SELFCHECK_SECONDS = 60
TESTER = "irqlab-tester: "
"""Prefix of the tester's own messages."""


@dataclass(frozen=True)
class Qemu:
    """An executable and its version, e.g. ``(7, 2, 22)`` and the line ``qemu-system-x86_64 --version`` prints."""

    path: Path
    version: tuple[int, ...]
    version_text: str
    root: Path | None = None
    """The tree that it is in; None: it is the host's."""

    @property
    def command(self) -> list[str]:
        """The words that start it."""
        return _command(self.path, self.root)

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
            *(*self.command, "-M", "pc", "-nodefaults", "-no-user-config", "-vga", "none", "-display", "none"),
            *("-icount", "shift=2,sleep=off", "-plugin", plugin),
            *("-device", "qemu-xhci,id=usb", "-device", "usb-lan7800,bus=usb.0,serial=525400000001"),
            *("-device", "irqlab-82559,mac=52:54:00:00:00:01,romfile="),
        ]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SELFCHECK_SECONDS,
                check=False,
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
        return _devices(self.path, self.root)

    def properties(self, device: str) -> frozenset[str]:
        """Names of the properties of a device."""
        return _properties(self.path, self.root, device)


def find(wanted: str | None = None) -> Qemu:
    """A QEMU: one of RELEASES, downloaded unless in the cache, or a program. Default: ``$IRQLAB_QEMU``, else DEFAULT."""
    wanted = wanted or os.environ.get(VARIABLE) or DEFAULT
    if wanted in RELEASES:
        root = debs.tree(*_recipe(wanted), f"fetching QEMU {wanted} (40 MB)").directory
        with contextlib.suppress(FileExistsError):
            (root / BUNDLE).symlink_to("../../..")
        return _described(root / BINARY, root)
    if not (found := shutil.which(wanted)):
        raise SetupError(f"--qemu, {VARIABLE}: no program {wanted}; allowed are {', '.join(RELEASES)}, or the path of one")
    return _described(Path(found).resolve(), None)


def present() -> Qemu | None:
    """As `find`, but None if it would have to be downloaded."""
    wanted = os.environ.get(VARIABLE) or DEFAULT
    return find() if wanted not in RELEASES or roots.place(*_tree(wanted)).is_dir() else None


def _recipe(release: str) -> tuple[str, tuple[str, ...], str]:
    return f"qemu-{release}", PACKAGES, RELEASES[release]


def _tree(release: str) -> tuple[str, tuple[str, ...]]:
    name, packages, suite = _recipe(release)
    return name, (suite, *packages)


def _described(path: Path, root: Path | None) -> Qemu:
    text = _output(path, root, "--version").partition("\n")[0].strip()
    match = re.search(r"version (\d+(?:\.\d+)*)", text)
    if match is None:
        raise SetupError(f"{path} --version printed {text!r}, so it is not QEMU")
    return Qemu(path, tuple(int(part) for part in match[1].split(".")), text, root)


def _command(path: Path, root: Path | None) -> list[str]:
    if root is None:
        return [str(path)]
    return roots.Root(root).outside(BINARY)


@cache
def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _devices(path: Path, root: Path | None) -> frozenset[str]:
    return frozenset(re.findall(r'(?:^name|, alias) "([^"]+)"', _output(path, root, "-device", "help"), re.MULTILINE))


@cache
def _properties(path: Path, root: Path | None, device: str) -> frozenset[str]:
    return frozenset(re.findall(r"^\s+([^\s=]+)=<", _output(path, root, "-device", f"{device},help"), re.MULTILINE))


@cache
def _output(path: Path, root: Path | None, *arguments: str) -> str:
    command = [*_command(path, root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"{path} {' '.join(arguments)}: {error}") from error
    return done.stdout
