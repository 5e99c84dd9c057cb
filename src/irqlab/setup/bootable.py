# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel ready to boot, and where its modules are built."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.setup import SetupError, bzimage
from irqlab.setup.buildroot import BuildRoot
from irqlab.setup.paths import locked


@dataclass(frozen=True)
class Built:
    """Where modules are built for a kernel that was built from source.

    ``directory`` is KDIR as seen in ``root``, ``readable`` are the host's directories by their paths there.
    """

    root: BuildRoot
    directory: str
    readable: Mapping[str, Path] = field(hash=False)


@dataclass(frozen=True)
class Kernel:
    """A kernel; ``modules`` is its ``lib/modules/RELEASE``, ``sha256`` that of ``vmlinux``.

    ``package`` is what selects it again: a Debian package, or a specification such as ``tree:PATH``. ``built`` is None for
    Debian's kernels, whose headers are packages.
    """

    release: str
    package: str
    version: str
    vmlinux: Path
    modules: Path
    config: Path
    sha256: str
    built: Built | None = None

    def has(self, option: str) -> bool:
        """Whether an option, without ``CONFIG_``, is built into the kernel (``=y``)."""
        return f"\nCONFIG_{option}=y\n" in f"\n{self.config.read_text()}"


def unpack_vmlinux(image: Path, vmlinux: Path) -> str:
    """Writes a bzImage's ELF file to `vmlinux`, unless it is there, and returns its SHA-256. Raises SetupError."""
    note = vmlinux.with_suffix(".json")
    with locked("kernel"):
        if not note.is_file():  # written last: if it exists, vmlinux is complete
            try:
                content = bzimage.extract_vmlinux(image.read_bytes())
            except SetupError as error:
                raise SetupError(f"{image}: {error}") from error
            write_atomically(vmlinux, content)
            write_atomically(note, json.dumps({"sha256": hashlib.sha256(content).hexdigest()}).encode())
    sha256: str = json.loads(note.read_text())["sha256"]
    return sha256
