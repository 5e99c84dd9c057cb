# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages, fetched and unpacked into the cache without being installed.

``apt-get download`` checks the archive's signatures and needs no privileges; ``dpkg -x`` runs no maintainer scripts.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from irqlab.setup import SetupError
from irqlab.setup.paths import appearing, cache_dir, locked

_ENVIRONMENT = os.environ | {"LC_ALL": "C"}


def depends(package: str) -> list[str]:
    """What a package depends on, as apt names it; of alternatives, all."""
    output = _run("apt-cache", "depends", package, mend=f"apt knows no package {package}: is it spelled right, "
                  "and are apt's lists there (sudo apt-get update)?")  # fmt: skip
    return re.findall(r"^ [ |](?:Pre)?Depends: ([^<\s]\S*)$", output, re.MULTILINE)


def unpacked(package: str) -> Path | None:
    """The directory a package is already unpacked in: of several versions, the one built last."""
    found = [path for path in _home().glob(f"{package}_*") if path.is_dir()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def unpack(package: str) -> Path:
    """The directory with a package's files, fetched unless it is there; the name is ``PACKAGE_VERSION_ARCHITECTURE``."""
    if found := unpacked(package):
        return found
    with locked("debs"):
        return unpacked(package) or _fetch(package)


def unpack_file(deb: Path) -> Path:
    """The same for a .deb at hand, such as ``make bindeb-pkg`` writes."""
    with locked("debs"):
        return _unpack(deb, _home() / f"{deb.stem}@{int(deb.stat().st_mtime)}")


def version(directory: Path) -> str:
    """The version in the name of an unpacked package's directory (apt writes the epoch's colon as %3a)."""
    return directory.name.split("_")[1].replace("%3a", ":") if "_" in directory.name else "unknown"


def _home() -> Path:
    return cache_dir() / "debs"


def _fetch(package: str) -> Path:
    _home().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=_home()) as scratch:
        _run("apt-get", "-qq", *_unsandboxed(), "download", f"{package}:amd64", cwd=Path(scratch),
             mend=f"cannot download the Debian package {package}; "
             "if it is 404 or unknown, apt's lists are old (sudo apt-get update)")  # fmt: skip
        (deb,) = Path(scratch).glob("*.deb")
        return _unpack(deb, _home() / deb.stem)


def _unpack(deb: Path, final: Path) -> Path:
    if not final.is_dir():
        with appearing(final) as scratch:
            _run("dpkg", "-x", str(deb), str(scratch), mend=f"cannot unpack {deb.name} (is the disk full?)")
    return final


def _unsandboxed() -> list[str]:
    """Root's apt downloads as user _apt, which cannot write to root's cache."""
    return ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []


def _run(*command: str, mend: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, env=_ENVIRONMENT, capture_output=True, text=True)
    except FileNotFoundError:
        raise SetupError(f"{command[0]} not found: irqlab takes the DUT's kernel and tools from Debian packages") from None
    if done.returncode:
        raise SetupError(f"{mend}\n{done.stderr.strip()}")
    return done.stdout
