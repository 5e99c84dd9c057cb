# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux 6.12 with docs/patches/softirq-2.6.15.patch, which makes sysctls of two properties of the paper's softirqs (--long)."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

from irqlab.reproduce import patches
from irqlab.reproduce.session import Session
from irqlab.setup import kernel_sources
from irqlab.setup.paths import appearing, cache_dir, locked
from irqlab.trials.testbed import Testbed

SERIES = "6.12"
PATCH = "docs/patches/softirq-2.6.15.patch"
NAME = f"{SERIES}, patched"
"""As the tables call this kernel."""
KCONFIG = Path(__file__).with_name("schedstats.config")
"""Without it ksoftirqd's run time reads as 0."""


def tree() -> Path:
    """Debian's source of it, patched, in the cache. Raises IrqlabError, or SetupError if it cannot be fetched."""
    source = kernel_sources.debian(SERIES)
    key = hashlib.sha256(patches.path_of(PATCH).read_bytes()).hexdigest()[:12]
    final = cache_dir() / "sources/patched" / f"{source.path.name}-{key}"
    with locked("patched-sources"):
        if not final.is_dir():
            with appearing(final) as scratch:
                shutil.copytree(source.path, scratch, symlinks=True, dirs_exist_ok=True)
                patches.apply(PATCH, scratch, f" to Linux {SERIES}")
    return final


def on_tree(session: Session, sysctls: tuple[tuple[str, str], ...] = ()) -> Testbed:
    """The session's, on this kernel; it is built first, if need be, which takes minutes."""
    dut = replace(session.config.dut, sysctls=sysctls)
    return session.testbed(kernel=f"tree:{tree()}", kconfig=(str(KCONFIG),), dut=dut)
