# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths: the cache of downloads, and cargo's build output."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irqlab.project import is_wheel, project_dir
from irqlab.setup import SetupError

GUEST_TARGET = "x86_64-unknown-linux-gnu"
CONTENTS = (
    *("apt", "apt-bullseye", "cargo", "ccache", "checkpatch", "cluster", "debs", "debs-dbg", "drivers", "headers", "images"),
    *("kernel", "kernels", "linted", "locks", "matplotlib", "roots", "snapshots", "sources", "tools", "trials"),
)
"""What the cache may contain."""


def cache_dir() -> Path:
    """The cache: ``$IRQLAB_CACHE``, else ``$XDG_CACHE_HOME/irqlab``, else ``~/.cache/irqlab``.

    The default follows the XDG base directory specification; a relative XDG_CACHE_HOME is ignored.
    """
    if own := os.environ.get("IRQLAB_CACHE"):
        return Path(own).absolute()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache") / "irqlab"


def tester_so() -> Path:
    """The traffic tester, a QEMU plugin."""
    return project_dir() / "target/release/libirqlab_plugin.so"


def guest_binary() -> Path:
    """The DUT's init and agent, statically linked."""
    return project_dir() / "target" / GUEST_TARGET / "release/irqlab-guest"


BOARD_TARGETS = {
    "x86_64": GUEST_TARGET,
    "aarch64": "aarch64-unknown-linux-musl",
    "armv7l": "armv7-unknown-linux-musleabihf",
}
"""Machines that a real device under test may be, as `uname -m` names them, and Rust's targets for them."""


def board_binary(machine: str) -> Path:
    """The agent on a real device under test, statically linked."""
    return project_dir() / "target" / BOARD_TARGETS[machine] / "release/irqlab-board"


def live_binary() -> Path:
    """The traffic tester for real ports, statically linked."""
    return project_dir() / "target" / GUEST_TARGET / "release/irqlab-live"


def keep_matplotlib_here() -> None:
    """Has matplotlib, which is imported later, keep its files in the cache, and not in ``~/.config``."""
    os.environ.setdefault("MPLCONFIGDIR", str(cache_dir() / "matplotlib"))


def built(path: Path) -> Path:
    """Returns ``path`` if it exists; raises SetupError if not."""
    if not path.is_file():
        mend = "install the wheel again" if is_wheel() else f"run `make setup` in {project_dir()}"
        raise SetupError(f"{path} has not been built: {mend}")
    return path


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Context manager: a lock between processes; the kernel releases it if a process dies."""
    directory = cache_dir() / "locks"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = open(directory / name, "w")  # noqa: SIM115
    except OSError as error:
        raise SetupError(f"cannot write to the cache {directory}: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def appearing(final: Path) -> Iterator[Path]:
    """Context manager: a temporary directory that is renamed to ``final`` on success, and removed on error."""
    final.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=final.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        scratch.rename(final)
    except OSError as error:
        raise SetupError(f"{final}: {error.strerror}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def sweep(directory: Path) -> None:
    """Removes leftovers of ``appearing`` from killed processes; the caller must hold the directory's lock."""
    for left_over in directory.glob(".new-*"):
        shutil.rmtree(left_over, ignore_errors=True)
