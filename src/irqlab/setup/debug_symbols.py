# SPDX-License-Identifier: GPL-2.0-or-later
"""Debugging information of kernels and modules, for GDB.

Debian's kernels have a package -dbg of nearly a gigabyte. Only the kernel's own file and those of its Ethernet drivers are kept.
A kernel that was built from source has its vmlinux where it was built.
"""

from __future__ import annotations

from pathlib import Path

from irqlab.setup import SetupError, archive, debs
from irqlab.setup.bootable import Kernel
from irqlab.setup.drivers import DEBUG
from irqlab.setup.modules import Module
from irqlab.setup.paths import appearing, cache_dir, locked
from irqlab.setup.say import say

KEPT = ("*/vmlinux*", "*/kernel/drivers/net/ethernet/*", "*/kernel/drivers/net/usb/*", "*/kernel/drivers/net/phy/*")
"""Files of the package, as patterns for tar."""


def of_kernel(kernel: Kernel, fetch: bool) -> Path | None:
    """The kernel's file with debugging information; None if there is none. `fetch`: download the package. Raises SetupError."""
    if kernel.built is not None:
        place = kernel.built.readable.get(kernel.built.directory)
        built = place / "vmlinux" if place else None
        return built if built is not None and built.is_file() else None
    home = _package(kernel, fetch)
    return next((path for path in sorted(home.rglob("vmlinux*")) if path.is_file()), None) if home else None


def of_module(kernel: Kernel, module: Module) -> Path | None:
    """A module's file with debugging information: beside it, in the kernel's package if that was fetched, or itself."""
    if (beside := module.path.with_suffix(DEBUG)).is_file():
        return beside
    home = _package(kernel, fetch=False) if kernel.built is None else None
    stem = module.path.name.split(".")[0]
    if home is not None and (found := next(home.rglob(f"{stem}.ko*"), None)) is not None:
        return found
    return module.path if b".debug_info" in module.data else None


def _package(kernel: Kernel, fetch: bool) -> Path | None:
    home = cache_dir() / "debs-dbg" / f"{kernel.release}_{kernel.version.replace(':', '%3a')}"
    with locked(f"dbg-{kernel.release}"):
        if home.is_dir():
            return home
        if not fetch:
            return None
        name = f"linux-image-{kernel.release}-dbg"
        apt = archive.everything()
        versions = [version for package, version, _ in debs.available(name, apt) if package == name]
        if kernel.version not in versions:
            have = f"only {', '.join(versions)}" if versions else "none"
            raise SetupError(f"Debian's archives have no {name} {kernel.version} ({have})")
        say(f"fetching {name} (a gigabyte; it takes minutes, once)")
        home.parent.mkdir(parents=True, exist_ok=True)
        deb = debs.download(f"{name}={kernel.version}", apt, home.parent)
        try:
            with appearing(home) as into:
                _extract(deb, into)
        finally:
            deb.unlink()
        return home


def _extract(deb: Path, into: Path) -> None:
    # tar fails if a pattern fits nothing, as the last ones may.
    script = 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards --no-same-owner "${@:3}" || true'
    debs.in_base(script, deb, into, *KEPT, failed=f"cannot unpack {deb.name}")
    if not any(path.is_file() for path in into.rglob("vmlinux*")):
        raise SetupError(f"cannot unpack {deb.name} (is the disk full?)")
