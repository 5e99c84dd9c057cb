# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel's modules are built with: its headers and its compiler.

Debian splits the headers of a kernel: linux-headers-RELEASE (configuration, Module.symvers), linux-headers-...-common (headers,
Makefiles), linux-kbuild-... (scripts, compiled). They are unpacked together, and are mounted where they would be installed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import SetupError, archive, buildroot, debs
from irqlab.setup.bootable import Kernel
from irqlab.setup.buildroot import BuildRoot
from irqlab.setup.paths import cache_dir


@dataclass(frozen=True)
class Headers:
    """The directory to build a kernel's modules in (KDIR) as seen in `root`, where `readable` directories are mounted."""

    root: BuildRoot
    directory: str
    readable: Mapping[str, Path]


def of(kernel: Kernel) -> Headers:
    """The headers and the compiler of a kernel; downloaded unless in the cache. Raises SetupError."""
    if kernel.built is not None:
        return Headers(kernel.built.root, kernel.built.directory, kernel.built.readable)
    root = buildroot.get(archive.build_release(kernel.release))
    packages = _packages(kernel)
    readable = {"/usr/src": packages / "usr/src"}
    readable |= {f"/usr/lib/{path.name}": path for path in packages.glob("usr/lib/linux-kbuild-*")}
    return Headers(root, f"/usr/src/linux-headers-{kernel.release}", readable)


def _packages(kernel: Kernel) -> Path:
    """The directory with the unpacked packages."""
    package, home = f"linux-headers-{kernel.release}", cache_dir() / "headers"
    if there := debs.unpacked(package, home):
        return there
    if not kernel.release.endswith("amd64"):
        raise SetupError(f"irqlab has no headers to build modules for {kernel.release}: it is not Debian's (use tree: or build:)")
    apt = archive.everything()
    try:
        depends = debs.depends([package], apt)
    except SetupError as error:
        raise SetupError(
            f"Debian keeps the kernel {kernel.release}, but no longer its headers: our drivers cannot be built for it"
        ) from error
    parts = sorted(name for name in depends if re.match(r"linux-headers-.*-common(-rt)?$|linux-kbuild-", name))
    return debs.unpack_together([package, *parts], apt, home)
