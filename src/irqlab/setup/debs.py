# SPDX-License-Identifier: GPL-2.0-or-later
"""Downloads Debian packages and unpacks them into the cache, without installing them.

``apt-get download`` checks the archive's signatures and needs no privileges; ``dpkg -x`` runs no maintainer scripts.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from irqlab.setup import SetupError
from irqlab.setup.archive import Archive
from irqlab.setup.paths import appearing, cache_dir, locked, sweep


def depends(packages: Iterable[str], archive: Archive | None = None) -> set[str]:
    """The dependencies of packages according to apt, including all alternatives."""
    mend = f"apt does not know {_list(packages)}: if the spelling is right, update apt's lists (sudo apt-get update)"
    output = _run("apt-cache", "depends", *packages, mend=mend, archive=archive)
    return set(re.findall(r"^ [ |](?:Pre)?Depends: ([^<\s]\S*)$", output, re.MULTILINE))


def unpacked(package: str, archive: Archive | None = None) -> Path | None:
    """The directory that already has a package unpacked; of several versions, the latest."""
    found = [path for path in (archive or _host()).home.glob(f"{package}_*") if path.is_dir()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def unpack(packages: Iterable[str], archive: Archive | None = None) -> list[Path]:
    """The directories with packages' files, ``PACKAGE_VERSION_ARCHITECTURE``; downloads missing packages.

    `archive`: the source of packages; None: the host's apt sources.
    """
    names, source = list(packages), archive or _host()
    if missing := [name for name in names if unpacked(name, source) is None]:
        with locked("debs"):
            _fetch([name for name in missing if unpacked(name, source) is None], source)
    return [path for name in names if (path := unpacked(name, source))]


def unpack_file(deb: Path) -> Path:
    """Unpacks a local .deb, such as ``make bindeb-pkg`` writes."""
    with locked("debs"):
        return _unpack(deb, _host().home / f"{deb.stem}@{int(deb.stat().st_mtime)}")


def version(directory: Path) -> str:
    """The version in the name of an unpacked package's directory (apt writes the epoch's colon as %3a)."""
    return directory.name.split("_")[1].replace("%3a", ":") if "_" in directory.name else "unknown"


def _host() -> Archive:
    return Archive(cache_dir() / "debs")


def _fetch(packages: list[str], archive: Archive) -> None:
    if not packages:
        return
    home = archive.home
    home.mkdir(parents=True, exist_ok=True)
    sweep(home)
    with tempfile.TemporaryDirectory(prefix=".new-download-", dir=home) as scratch:
        mend = f"cannot download {_list(packages)}: if it is unknown or gives a 404, update apt's lists (sudo apt-get update)"
        _run("apt-get", "-qq", *_unsandboxed(), "download", *packages, cwd=Path(scratch), mend=mend, archive=archive)
        for deb in Path(scratch).glob("*.deb"):
            _unpack(deb, home / deb.stem)


def _unpack(deb: Path, final: Path) -> Path:
    if not final.is_dir():
        with appearing(final) as scratch:
            _run("dpkg", "-x", str(deb), str(scratch), mend=f"cannot unpack {deb.name} (is the disk full?)")
    return final


def _unsandboxed() -> list[str]:
    """Root's apt downloads as user _apt, which cannot write to root's cache."""
    return ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []


def _list(packages: Iterable[str]) -> str:
    return f"the Debian package {', '.join(packages)}"


def _run(*command: str, mend: str, cwd: Path | None = None, archive: Archive | None = None) -> str:
    environment = (archive or _host()).environment
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SetupError(f"{command[0]} not found: the DUT's kernel and tools come from Debian packages") from None
    if done.returncode:
        raise SetupError(f"{mend}\n{done.stderr.strip()}")
    return done.stdout
