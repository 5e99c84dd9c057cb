# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT's user space: an initramfs of our init and a few tools from Debian packages.

It is uncompressed, since unpacking would cost virtual time. The tools are collected once, into a tree in the cache; the image is
rebuilt whenever one of its parts changes, and is named by its hash.

The tools come from the Debian release of the DUT's kernel, not of the host (archive.py).
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import InterpSegment

from irqlab.files import write_atomically
from irqlab.setup import SetupError, archive, cpio, debs
from irqlab.setup.archive import Archive
from irqlab.setup.paths import appearing, built, cache_dir, guest_binary, locked, sweep

TOOLS = {
    "ethtool": ("ethtool",),
    "iproute2": ("ip", "tc", "ss"),
    "iperf3": ("iperf3",),
}
"""Debian packages and the programs taken from them, besides BusyBox."""

LIBRARY_DIRS = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib64", "lib64", "usr/lib", "lib")
BINARY_DIRS = ("usr/sbin", "usr/bin", "sbin", "bin")

CANCELS, UNWINDER = "pthread_cancel", "libgcc_s.so.1"
"""The C library loads the second to end a thread by the first, and aborts without it."""

ETC = {
    "etc/passwd": "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost dut\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
DIRECTORIES = ("dev", "proc", "sys", "run", "tmp", "root", "mnt", "var/run", "var/tmp", "lib/modules")

KEEP = 16
"""Number of images kept in the cache."""

PACKAGES = "packages.json"
"""File beside the tree: its packages and their versions."""

_RECIPE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
"""Part of the tree's name: this file determines which tools it has."""


@dataclass(frozen=True)
class GuestImage:
    """An initramfs; ``packages`` are the Debian packages of its tools, with their versions."""

    path: Path
    sha256: str
    packages: dict[str, str]
    agent_sha256: str


def build(kernel_release: str) -> GuestImage:
    """The image for a kernel, with the current guest binary."""
    home = tools(kernel_release)
    agent = built(guest_binary()).read_bytes()
    entries = {path: cpio.directory() for path in DIRECTORIES}
    entries |= {path: cpio.file(text.encode()) for path, text in ETC.items()}
    entries |= dict(_entries(home / "root"))
    entries["init"] = cpio.file(agent, 0o755)
    entries["dev/console"] = cpio.character_device(5, 1)
    entries["dev/null"] = cpio.character_device(1, 3)
    archive = cpio.pack(entries)
    sha256 = hashlib.sha256(archive).hexdigest()
    path = cache_dir() / "images" / f"{sha256[:16]}.cpio"
    if not path.is_file():
        write_atomically(path, archive)
        for old in sorted(path.parent.glob("*.cpio"), key=lambda image: image.stat().st_mtime)[:-KEEP]:
            old.unlink(missing_ok=True)
    return GuestImage(path, sha256, json.loads((home / PACKAGES).read_text()), hashlib.sha256(agent).hexdigest())


def tools(kernel_release: str) -> Path:
    """The tools for a kernel's release: ``root`` is the tree with their libraries, ``packages.json`` lists their packages."""
    final = tools_dir(kernel_release)
    if final.is_dir():
        return final
    with locked("tools"):
        if not final.is_dir():
            sweep(final.parent)
            with appearing(final) as scratch:
                root = scratch / "root"
                with tempfile.TemporaryDirectory() as place:
                    source = _Source(archive.of_release(archive.tools_release(kernel_release)), Path(place))
                    _collect(root, source)
                    taken = {path.name.split("_")[0]: debs.version(path) for path in sorted(Path(place).iterdir())}
                (scratch / PACKAGES).write_text(json.dumps(taken, indent=1))
    return final


def tools_dir(kernel_release: str) -> Path:
    """The directory of the tools, once downloaded."""
    return cache_dir() / "tools" / f"{archive.tools_release(kernel_release)}-{_RECIPE}"


@dataclass(frozen=True)
class _Source:
    """An archive, and the directory to unpack its packages in."""

    archive: Archive
    home: Path

    def unpack(self, packages: Sequence[str]) -> list[Path]:
        return debs.unpack(packages, self.archive, self.home)


def _collect(root: Path, source: _Source) -> None:
    (root / "bin").mkdir(parents=True)
    *homes, busybox_home = source.unpack([*TOOLS, "busybox-static"])
    for home, programs in zip(homes, TOOLS.values(), strict=True):
        for program in programs:
            _copy(_program(home, program), root / "bin" / program)
    _add_libraries(root, source)
    busybox = _program(busybox_home, "busybox")
    _copy(busybox, root / "bin/busybox")
    for applet in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if not (root / "bin" / applet).exists() and applet != "init":
            (root / "bin" / applet).symlink_to("busybox")
    (root / "usr").mkdir()
    for name, target in {"sbin": "bin", "usr/bin": "../bin", "usr/sbin": "../bin"}.items():
        (root / name).symlink_to(target)


def _add_libraries(root: Path, source: _Source) -> None:
    """Copies the loader and the libraries that the programs need, recursively, from their packages."""
    homes = _Homes(TOOLS, source)
    waiting = sorted((root / "bin").iterdir())
    while waiting:
        interpreter, needed = needs(waiting.pop())
        if interpreter and not (root / interpreter).exists():
            (root / interpreter).parent.mkdir(parents=True, exist_ok=True)
            _copy(homes.find(Path(interpreter).name), root / interpreter)
        for soname in needed:
            target = root / "lib" / soname
            if not target.exists() and not (root / "lib64" / soname).exists():
                target.parent.mkdir(exist_ok=True)
                _copy(homes.find(soname), target)
                waiting.append(target)


class _Homes:
    """Searches libraries in the tools' dependencies, then in the dependencies of these, and so on."""

    def __init__(self, packages: Iterable[str], source: _Source) -> None:
        self._source = source
        self._ring = list(packages)
        self._seen = set(self._ring)
        self._homes: list[Path] = []

    def find(self, soname: str) -> Path:
        """The library's file."""
        while True:
            for home in self._homes:
                for directory in LIBRARY_DIRS:
                    if (path := home / directory / soname).exists():
                        return path
            if not self._ring:
                raise SetupError(f"no package of the guest's tools has {soname}")
            self._widen()

    def _widen(self) -> None:
        """Adds only packages named like libraries; others, such as debconf, would pull in Perl."""
        wanted = re.compile(r"(lib|zlib1g)(?!.*-(bin|data|common|dev)$)")
        self._ring = sorted(name for name in debs.depends(self._ring, self._source.archive) - self._seen if wanted.match(name))
        self._seen.update(self._ring)
        self._homes += self._source.unpack(self._ring)


def needs(path: Path) -> tuple[str | None, list[str]]:
    """A program's loader and the libraries it needs (DT_NEEDED, and what the C library loads for it)."""
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            interpreter = next((s.get_interp_name() for s in elf.iter_segments() if isinstance(s, InterpSegment)), None)
            dynamic = next((s for s in elf.iter_sections() if isinstance(s, DynamicSection)), None)
            tags: Iterable[Any] = dynamic.iter_tags("DT_NEEDED") if dynamic else ()
            needed = [str(tag.needed) for tag in tags]
            symbols = elf.get_section_by_name(".dynsym")
            found = symbols.get_symbol_by_name(CANCELS) if isinstance(symbols, SymbolTableSection) else None
            if found and any(symbol["st_shndx"] == "SHN_UNDEF" for symbol in found):
                needed.append(UNWINDER)
    except ELFError as error:
        raise SetupError(f"{path}: {error}") from error
    return interpreter.lstrip("/") if interpreter else None, needed


def _program(home: Path, name: str) -> Path:
    for directory in BINARY_DIRS:
        path = home / directory / name
        if path.is_symlink():  # absolute links refer to the package's own root
            path = home / os.readlink(path).lstrip("/") if os.readlink(path).startswith("/") else path.resolve()
        if path.is_file():
            return path
    raise SetupError(f"{home.name} has no program {name}")


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    target.chmod(0o755)


def _entries(root: Path) -> Iterator[tuple[str, cpio.Entry]]:
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            yield name, cpio.symlink(os.readlink(path))
        elif path.is_dir():
            yield name, cpio.directory()
        else:
            yield name, cpio.file(path.read_bytes(), 0o755)
