# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of ``irqlab doctor``: whether everything a testbed needs is present, and how to fix it if not."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from irqlab.project import is_wheel
from irqlab.setup import SetupError, archive, buildroot, guestimage, host, kernel, paths, qemu

DISK_GB = 2
MEMORY_GB = 1
SETUP = "pip install --force-reinstall irqlab-....whl" if is_wheel() else "make setup"


class NotFetchedError(SetupError):
    """`make setup` would have fetched it; what was installed from a wheel fetches it when it is needed."""


@dataclass(frozen=True)
class Check:
    """One line of ``irqlab doctor``; ``mend`` says how to fix it if it is not ``ok``."""

    name: str
    ok: bool
    detail: str
    mend: str = ""


def run_checks() -> list[Check]:
    """Runs all checks; never raises, and changes nothing."""
    return [_run(name, check, mend) for name, check, mend in CHECKS]


def sources_newer_than(artifact: Path) -> list[str]:
    """Sources changed since cargo built an artifact, according to its dependency file (``*.d``)."""
    rule = artifact.with_suffix(".d").read_text().partition(": ")[2].splitlines()[0]
    sources = [Path(word.replace("\\ ", " ")) for word in re.split(r"(?<!\\) ", rule) if word]
    built = artifact.stat().st_mtime
    return [path.name for path in sources if not path.exists() or path.stat().st_mtime > built]


def _run(name: str, check: Callable[[], str], mend: str) -> Check:
    try:
        return Check(name, True, check())
    except NotFetchedError as error:
        return Check(name, True, f"{error}: done when needed") if is_wheel() else Check(name, False, str(error), mend)
    except SetupError as error:
        return Check(name, False, str(error), mend)
    except Exception as error:
        return Check(name, False, f"{type(error).__name__}: {error}", mend)


def _python() -> str:
    return f"{sys.version.split()[0]} in {sys.prefix}"


def _found_qemu() -> qemu.Qemu:
    if (found := qemu.present()) is None:
        raise NotFetchedError("not fetched yet")
    return found


def _qemu() -> str:
    return f"{_found_qemu().version_text}, {_found_qemu().path}"


def _tester_in_qemu() -> str:
    return _found_qemu().selfcheck(paths.built(paths.tester_so()))


def _chosen_kernel() -> kernel.Kernel:
    if (found := kernel.present()) is None:
        raise NotFetchedError("not fetched yet")
    return found


def _kernel() -> str:
    found = _chosen_kernel()
    return f"{found.package} {found.version}"


def _compiler() -> str:
    found = buildroot.present(archive.build_release(_chosen_kernel().release))
    if found is None:
        raise NotFetchedError("not fetched yet")
    return found


def _tools() -> str:
    if not (found := guestimage.tools_dir(_chosen_kernel().release)).is_dir():
        raise NotFetchedError("not fetched yet")
    return str(found)


def _fresh(artifact: Path) -> str:
    paths.built(artifact)
    if not is_wheel() and (newer := sources_newer_than(artifact)):
        raise SetupError(f"{artifact.name} is older than {', '.join(newer)}")
    return str(artifact)


def _disk() -> str:
    place = paths.cache_dir()
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK):
        raise SetupError(f"{place} cannot be written to")
    free = shutil.disk_usage(place).free / 2**30
    if free < DISK_GB:
        raise SetupError(f"only {free:.1f} GB free in {place}; {DISK_GB} GB are needed")
    return f"{free:.0f} GB free in {place}"


def _memory() -> str:
    match = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    available = int(match[1]) / 2**20 if match else 0.0
    if available < MEMORY_GB:
        raise SetupError(f"only {available:.1f} GB available; each concurrent trial needs {MEMORY_GB} GB")
    return f"{available:.1f} GB available"


def _cores() -> str:
    cores = len(os.sched_getaffinity(0))
    return f"{cores}: as many trials can run in parallel"


_OTHER_QEMU = f"unset IRQLAB_QEMU, or let it be one of {', '.join(qemu.RELEASES)}"
CHECKS: tuple[tuple[str, Callable[[], str], str], ...] = (
    ("Python", _python, SETUP),
    ("user namespaces", host.check_namespaces, "then run `irqlab doctor` again"),
    ("QEMU", _qemu, SETUP),
    ("DUT's kernel", _kernel, SETUP),
    ("drivers' compiler", _compiler, SETUP),
    ("DUT's tools", _tools, SETUP),
    ("tester", lambda: _fresh(paths.tester_so()), SETUP),
    ("tester in QEMU", _tester_in_qemu, _OTHER_QEMU),
    ("guest", lambda: _fresh(paths.guest_binary()), SETUP),
    ("tester on real ports", lambda: _fresh(paths.live_binary()), SETUP),
    ("agent for real devices", lambda: _fresh(paths.board_binary("x86_64")), SETUP),
    ("disk", _disk, "free some space, or set IRQLAB_CACHE to a larger file system"),
    ("memory", _memory, "close other programs"),
    ("cores", _cores, ""),
)
