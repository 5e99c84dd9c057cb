# SPDX-License-Identifier: GPL-2.0-or-later
"""The tools that build kernels and modules: those of a Debian release, in a tree in the cache, whatever the host has.

So every host builds the same modules, and a host with Debian 12 can build for the kernels of Debian 13. The tree's packages are
unpacked but not installed. Commands run in it in a mount namespace (bubblewrap); they see the tree, and the directories they are
given.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import SetupError, archive, debs
from irqlab.setup.paths import appearing, cache_dir, locked, sweep
from irqlab.setup.say import say

COMPILERS = {"bookworm": "gcc-12", "trixie": "gcc-14"}
"""A release's compiler, with which it builds its kernels."""
PACKAGES = (
    *("bash", "bc", "bison", "bzip2", "ccache", "coreutils", "cpio", "dash", "diffutils", "file", "findutils", "flex", "g++"),
    *("gawk", "gcc", "grep", "gzip", "kmod", "libc6-dev", "libelf-dev", "libssl-dev", "make", "mawk", "openssl", "perl-base"),
    *("python3-minimal", "rsync", "sed", "sparse", "tar", "xz-utils", "zlib1g-dev", "zstd"),
)
"""What building a kernel needs (Documentation/process/changes.rst), and sparse."""
USR_MERGE = ("bin", "lib", "lib64", "sbin")

_RECIPE = hashlib.sha256(repr((PACKAGES, COMPILERS)).encode()).hexdigest()[:12]
"""Part of the tree's name."""


@dataclass(frozen=True)
class BuildRoot:
    """A release's tree; ``compiler`` is the program's name, ``compiler_version`` the first line of its --version."""

    directory: Path
    compiler: str
    compiler_version: str

    def run(
        self,
        *command: str,
        writable: Mapping[str, Path],
        readable: Mapping[str, Path] | None = None,
        chdir: str = "/",
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in the tree. `writable`, `readable`: the host's directories, by their paths in the tree."""
        done = subprocess.run(
            self.command(*command, writable=writable, readable=readable, chdir=chdir, environment=environment),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode and done.stderr.startswith("bwrap: "):
            raise SetupError(
                f"{done.stderr.strip()}\nbubblewrap cannot make a mount namespace here: allow unprivileged user namespaces "
                "(sysctl kernel.unprivileged_userns_clone=1), or run as root"
            )
        return done

    def command(
        self,
        *command: str,
        writable: Mapping[str, Path],
        readable: Mapping[str, Path] | None = None,
        chdir: str = "/",
        environment: Mapping[str, str] | None = None,
    ) -> list[str]:
        """The command line that `run` runs. Raises SetupError without bubblewrap."""
        if not shutil.which("bwrap"):
            raise SetupError("bwrap not found: drivers and kernels are built with it (Debian's package bubblewrap; make setup)")
        # In a PID namespace of its own, so that all processes of a build end with irqlab. As root, with --die-with-parent alone,
        # they do not.
        said = ["bwrap", "--unshare-pid", "--die-with-parent", "--clearenv"]
        for name, value in {"PATH": "/usr/sbin:/usr/bin", "HOME": "/tmp", "LC_ALL": "C", **(environment or {})}.items():
            said += ["--setenv", name, value]
        said += ["--ro-bind", f"{self.directory}/usr", "/usr", "--ro-bind", f"{self.directory}/etc", "/etc"]
        for name in USR_MERGE:
            said += ["--symlink", f"usr/{name}", f"/{name}"]
        said += ["--dev", "/dev", "--ro-bind", "/proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var"]
        for inside, outside in (readable or {}).items():
            if inside.startswith("/usr/"):  # bubblewrap cannot make a mount point in what is read-only
                (self.directory / inside[1:]).mkdir(parents=True, exist_ok=True)
            said += ["--ro-bind", str(outside), inside]
        for inside, outside in writable.items():
            said += ["--bind", str(outside), inside]
        return [*said, "--chdir", chdir, *command]


CCACHE = {"CCACHE_DIR": "/ccache", "CCACHE_MAXSIZE": "5G"}
"""Environment of a build with ``CC=ccache ...`` that has `ccache()` among its writable directories."""


def ccache() -> dict[str, Path]:
    """The directory with what was compiled, as `BuildRoot.run` takes it."""
    home = cache_dir() / "ccache"
    home.mkdir(parents=True, exist_ok=True)
    return {CCACHE["CCACHE_DIR"]: home}


def get(release: str) -> BuildRoot:
    """A Debian release's tree; downloaded unless in the cache. Raises SetupError."""
    final = directory(release)
    if not final.is_dir():
        with locked("buildroot"):
            if not final.is_dir():
                say(f"fetching the compiler of Debian {release} (90 MB)")
                final.parent.mkdir(parents=True, exist_ok=True)
                sweep(final.parent)
                with appearing(final) as scratch:
                    _make(scratch, release)
    compiler = COMPILERS[release]
    return BuildRoot(final, compiler, (final / "compiler").read_text())


def directory(release: str) -> Path:
    """Where a release's tree is, once downloaded."""
    return cache_dir() / "buildroot" / f"{release}-{_RECIPE}"


def _make(tree: Path, release: str) -> None:
    (tree / "etc").mkdir()
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix=".new-") as scratch:
        for deb in debs.download_closure(PACKAGES, archive.of_release(release), Path(scratch) / "archives"):
            debs.extract(deb, tree)
    for name in USR_MERGE:
        if (tree / name).is_dir() and not (tree / name).is_symlink():
            shutil.copytree(tree / name, tree / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(tree / name)
    for unwanted in ("doc", "man", "locale", "info"):
        shutil.rmtree(tree / "usr/share" / unwanted, ignore_errors=True)
    alternatives = {"awk": "mawk", "sh": "dash", "flex++": "flex"}  # made by maintainer scripts, else
    for name, target in alternatives.items():
        if not (tree / "usr/bin" / name).is_symlink():
            (tree / "usr/bin" / name).symlink_to(target)
    (tree / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    done = BuildRoot(tree, "", "").run(COMPILERS[release], "--version", writable={})
    if done.returncode:
        raise SetupError(f"the compiler of Debian {release} does not run: {done.stderr.strip()}")
    (tree / "compiler").write_text(done.stdout.partition("\n")[0])


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
