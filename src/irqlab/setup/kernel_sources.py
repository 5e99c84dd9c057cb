# SPDX-License-Identifier: GPL-2.0-or-later
"""Source trees of kernels: the user's, one of its revisions, or Debian's."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import SetupError, archive, debs
from irqlab.setup.paths import appearing, cache_dir, locked
from irqlab.setup.say import say

PREFIXES = ("tree:", "source:")


@dataclass(frozen=True)
class Source:
    """A source tree.

    ``identity`` names trees that share object files, ``revision`` is a git commit, or "" for a working tree.
    """

    path: Path
    identity: str
    revision: str = ""

    @property
    def series(self) -> str:
        """VERSION.PATCHLEVEL of its Makefile."""
        text = (self.path / "Makefile").read_text(errors="replace")
        found = [re.search(rf"^{name} = (\d+)$", text, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL")]
        if not all(found):
            raise SetupError(f"{self.path}/Makefile is not that of a kernel (it has no VERSION and PATCHLEVEL)")
        return ".".join(match[1] for match in found if match)


def find(spec: str) -> Source:
    """The tree that ``tree:PATH``, ``tree:PATH@REVISION`` or ``source:SERIES`` names. Raises SetupError.

    A revision is checked out into a clone of irqlab's own, which shares the repository's objects; the user's tree is only read.
    It may be checked out to another revision at any time; see `held`.
    """
    if spec.startswith("source:"):
        return debian(spec.removeprefix("source:"))
    path, at, revision = spec.removeprefix("tree:").rpartition("@")
    if not at:
        path, revision = revision, ""
    tree = Path(path).expanduser().resolve()
    if not revision:
        _check(tree)
        if (tree / ".config").exists() or (tree / "include/config").exists():
            raise SetupError(f"{tree} was built in place: take it as it is with build:{tree}, or clean it (make mrproper)")
        return Source(tree, str(tree))
    commit = commit_of(tree, revision)
    clone = cache_dir() / "kernels/clones" / re.sub(r"[^\w.-]", "_", str(tree).strip("/"))
    if not clone.is_dir():
        with appearing(clone) as scratch:
            git(scratch.parent, "clone", "--quiet", "--shared", "--no-checkout", str(tree), str(scratch))
    git(clone, "checkout", "--quiet", "--force", "--detach", commit)
    git(clone, "clean", "--quiet", "-dfx")
    _check(clone)
    return Source(clone, f"{tree}@", commit)


@contextmanager
def held(spec: str) -> Iterator[Source]:
    """Context manager: `find`, for a build. Another revision of the same repository is not checked out meanwhile."""
    path, _, revision = spec.removeprefix("tree:").rpartition("@")
    with locked(lock_name(path)) if path and revision and spec.startswith("tree:") else nullcontext():
        yield find(spec)


def lock_name(directory: str) -> str:
    """The lock of what is made from a directory of the user's."""
    return "kernel-" + re.sub(r"[^\w.-]", "_", directory)[-100:]


def debian(series: str) -> Source:
    """Debian's package linux-source-SERIES, unpacked; downloaded unless in the cache. Raises SetupError."""
    home, package = cache_dir() / "sources", f"linux-source-{series}"
    if (there := debs.unpacked(package, home)) is None:
        apt = archive.everything()
        known = sorted({name.removeprefix("linux-source-") for name, _, _ in debs.available("linux-source-", apt)})
        if series not in known:
            raise SetupError(f"Debian has no source of Linux {series}; there are {', '.join(known)}")
        say(f"fetching the source of Linux {series} (140 MB)")
        there = debs.unpack([package], apt, home)[0]
    with locked("sources"):
        final = home / "trees" / there.name  # not in `home`, whose unfinished directories `debs` removes under a lock of its own
        if not final.is_dir():
            say(f"unpacking the source of Linux {series}")
            with appearing(final) as scratch:
                tar = there / f"usr/src/linux-source-{series}.tar.xz"
                debs.in_base('tar -x -f "$1" -C "$2" --strip-components=1', tar, scratch, failed=f"cannot unpack {tar}")
            shutil.rmtree(there / "usr")
    return Source(final, final.name)


def commit_of(tree: Path, revision: str) -> str:
    """The commit that a revision names. Raises SetupError."""
    unknown = f"{tree} has no revision {revision}"
    return git(tree, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", failed=unknown).strip()


def git(directory: Path, *arguments: str, failed: str = "", may_fail: bool = False) -> str:
    """The output of a git command. Raises SetupError, unless it `may_fail`."""
    if not directory.is_dir():
        raise SetupError(f"{directory}: no such directory")
    try:
        done = subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SetupError("git not found (make setup)") from None
    if done.returncode and not may_fail:
        raise SetupError("\n".join(part for part in (failed or f"git {arguments[0]} fails", done.stderr.strip()) if part))
    return done.stdout


def _check(tree: Path) -> None:
    if not tree.is_dir():
        raise SetupError(f"{tree}: no such directory")
    for name in ("Makefile", "Kconfig", "arch/x86", "scripts/kconfig"):
        if not (tree / name).exists():
            raise SetupError(f"{tree} is not a kernel's source tree: it has no {name}")
