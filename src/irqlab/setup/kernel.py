# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT's kernel: what ``--kernel`` selects.

It boots as an uncompressed ELF file over PVH, in a quarter of the virtual time a bzImage takes.
"""

import re
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.setup import SetupError, kernel_packages, kernel_trees
from irqlab.setup.bootable import Kernel
from irqlab.setup.kernel_trees import Options
from irqlab.setup.paths import cache_dir

DEFAULT = "6.1"
"""The kernel series of testbeds that name none. One for every host, so that results can be compared."""

PLAIN = Options()
"""No options."""

__all__ = ["DEFAULT", "Kernel", "choose", "present", "resolve"]


def resolve(spec: str | None = None, options: Options = PLAIN) -> Kernel:
    """The kernel that a ``--kernel`` option selects; downloaded or built unless in the cache. Raises SetupError.

    `options` (``--debug``, ``--kconfig``) need a kernel that is built: for a series, such as ``6.12``, that is Debian's source.

    - ``None``: the one that `choose` set, else the newest of `DEFAULT`, which is chosen thereby;
    - ``7.3``, ``6.12.95``, ``7.3-rt``: the newest Debian kernel whose release begins so;
    - ``6.1.0-56-amd64``, ``linux-image-6.1.0-56-amd64``: that one;
    - ``./linux-image.deb``: a package as ``make bindeb-pkg`` writes it;
    - ``tree:PATH``, ``tree:PATH@REVISION``, ``source:6.12``, ``build:PATH``: kernel_trees.
    """
    if options != PLAIN and re.fullmatch(r"\d+\.\d+", spec or DEFAULT):
        spec = f"source:{spec or DEFAULT}"
    if spec is None and not _choice().is_file():
        return choose(DEFAULT)
    spec = spec or _chosen()
    if kernel_trees.is_spec(spec):
        return kernel_trees.resolve(spec, options)
    if options != PLAIN:
        raise SetupError(f"--debug and --kconfig need a kernel that irqlab builds (6.1, tree:PATH, source:6.12), not {spec}")
    return kernel_packages.resolve(spec)


def present(spec: str | None = None) -> Kernel | None:
    """As `resolve`, but None if it would have to be downloaded or built."""
    spec = spec or _chosen()
    return None if kernel_trees.is_spec(spec) else kernel_packages.present(spec)


def choose(spec: str | None = None) -> Kernel:
    """Sets the kernel that ``resolve(None)`` returns, so that Debian's updates do not change results."""
    kernel = resolve(spec)
    write_atomically(_choice(), f"{kernel.package}\n".encode())
    return kernel


def _chosen() -> str:
    try:
        return _choice().read_text().strip() or DEFAULT
    except OSError:
        return DEFAULT


def _choice() -> Path:
    return cache_dir() / "kernel"
