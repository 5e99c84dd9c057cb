# SPDX-License-Identifier: GPL-2.0-or-later
"""The tools that build kernels and modules: those of a Debian release, in a tree in the cache, whatever the host has.

So every host builds the same modules, for the kernels of any release.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.setup import SetupError, debs, roots
from irqlab.setup.paths import cache_dir
from irqlab.setup.roots import Root

COMPILERS = {"bookworm": "gcc-12", "trixie": "gcc-14"}
"""A release's compiler, with which it builds its kernels."""
PACKAGES = (
    *("bash", "bc", "bison", "bzip2", "ccache", "coreutils", "cpio", "dash", "diffutils", "file", "findutils", "flex", "g++"),
    *("gawk", "gcc", "grep", "gzip", "kmod", "libc6-dev", "libelf-dev", "libssl-dev", "make", "mawk", "openssl", "perl-base"),
    *("python3-minimal", "rsync", "sed", "sparse", "tar", "xz-utils", "zlib1g-dev", "zstd"),
)
"""What building a kernel needs (Documentation/process/changes.rst), and sparse."""


@dataclass(frozen=True)
class BuildRoot(Root):
    """A release's tree; ``compiler`` is the program's name, ``compiler_version`` the first line of its --version."""

    compiler: str
    compiler_version: str


CCACHE = {"CCACHE_DIR": "/ccache", "CCACHE_MAXSIZE": "5G"}
"""Environment of a build with ``CC=ccache ...`` that has `ccache()` among its writable directories."""


def ccache() -> dict[str, Path]:
    """The directory with what was compiled, as `BuildRoot.run` takes it."""
    home = cache_dir() / "ccache"
    home.mkdir(parents=True, exist_ok=True)
    return {CCACHE["CCACHE_DIR"]: home}


def get(release: str) -> BuildRoot:
    """A Debian release's tree; downloaded unless in the cache. Raises SetupError."""
    tree = debs.tree(f"compiler-{release}", PACKAGES, release, f"fetching the compiler of Debian {release} (90 MB)")
    compiler = COMPILERS[release]
    note = tree.directory / "compiler"
    if not note.is_file():
        done = tree.run(compiler, "--version")
        if done.returncode:
            raise SetupError(f"the compiler of Debian {release} does not run: {done.stderr.strip()}")
        write_atomically(note, done.stdout.partition("\n")[0].encode())
    return BuildRoot(tree.directory, compiler, note.read_text())


def present(release: str) -> str | None:
    """The version of a release's compiler; None unless it was downloaded."""
    note = roots.place(f"compiler-{release}", (release, *PACKAGES)) / "compiler"
    return note.read_text() if note.is_file() else None


def jobs() -> str:
    """Make's -j for this host."""
    return f"-j{len(os.sched_getaffinity(0))}"


COMPLAINT = re.compile(r"\b(?:error|warning|undefined)\b|\*\*\*", re.IGNORECASE)
SHOWN_LINES = 40


def shown(said: Sequence[str]) -> str:
    """The relevant output of a failed make, indented, from the first error on."""
    first = next((n for n, line in enumerate(said) if COMPLAINT.search(line)), 0)
    lines = said[max(0, first - 2) :]
    left_out = len(lines) - SHOWN_LINES
    more = [f"  ... {left_out} more lines"] if left_out > 0 else []
    return "\n".join([f"  {line}" for line in lines[:SHOWN_LINES]] + more)
