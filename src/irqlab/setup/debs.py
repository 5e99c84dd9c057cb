# SPDX-License-Identifier: GPL-2.0-or-later
"""Downloads Debian packages and unpacks them into the cache, without installing them.

``apt-get download`` checks the archive's signatures and needs no privileges; unpacking runs no maintainer scripts. They
run in the first tree (roots.py).
"""

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from irqlab.setup import SetupError, roots
from irqlab.setup.archive import Archive, of_release
from irqlab.setup.paths import appearing, locked, sweep
from irqlab.setup.roots import Root


def depends(packages: Iterable[str], archive: Archive) -> set[str]:
    """The dependencies of packages, including all alternatives. Raises SetupError for unknown packages."""
    names = list(packages)
    output = _run("apt-cache", "depends", *names, failed=f"Debian has no package {_list(names)}", archive=archive)
    return set(re.findall(r"^ [ |](?:Pre)?Depends: ([^<\s]\S*)$", output, re.MULTILINE))


def known(prefix: str, archive: Archive) -> list[str]:
    """The names of packages that begin with `prefix`, whether or not they can be downloaded."""
    return _run("apt-cache", "pkgnames", prefix, failed="apt-cache fails", archive=archive).split()


def available(prefix: str, archive: Archive) -> list[tuple[str, str, str]]:
    """The packages whose names begin with `prefix`: name, version, suite (such as trixie-backports); newest version first."""
    names = known(prefix, archive)
    output = _run("apt-cache", "madison", *names, failed="apt-cache fails", archive=archive) if names else ""
    return [(name, version, suite) for name, version, suite in re.findall(r"^ *(\S+) \| +(\S+) \| \S+ (\S+)/main", output, re.M)]


def unpacked(package: str, home: Path) -> Path | None:
    """The directory in `home` that already has a package unpacked; of several versions, the latest."""
    found = [path for path in home.glob(f"{package}_*") if path.is_dir()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def unpack(packages: Sequence[str], archive: Archive, home: Path) -> list[Path]:
    """The directories with packages' files, ``HOME/PACKAGE_VERSION_ARCHITECTURE``; downloads missing packages."""
    with locked(f"debs-{home.name}"):
        if missing := [name for name in packages if unpacked(name, home) is None]:
            with _downloads(home) as scratch:
                for deb in _download(missing, archive, Path(scratch)):
                    with appearing(home / deb.stem) as into:
                        extract(deb, into)
    return [path for name in packages if (path := unpacked(name, home))]


def unpack_together(packages: Sequence[str], archive: Archive, home: Path) -> Path:
    """The directory with the files of all these packages; named as the first one's in `unpack`. Downloads what is missing."""
    with locked(f"debs-{home.name}"):
        if (there := unpacked(packages[0], home)) is not None:
            return there
        with _downloads(home) as scratch:
            debs = _download(packages, archive, Path(scratch))
            first = next(deb for deb in debs if deb.name.startswith(f"{packages[0]}_"))
            with appearing(home / first.stem) as into:
                for deb in debs:
                    extract(deb, into)
            return home / first.stem


def download(package: str, archive: Archive, home: Path) -> Path:
    """Downloads a package, or one version of it (``NAME=VERSION``), into `home`. Raises SetupError."""
    with _downloads(home) as scratch:
        (deb,) = _download([package], archive, Path(scratch))
        return deb.rename(home / deb.name)


def tree(name: str, packages: Sequence[str], release: str, doing: str) -> Root:
    """The tree (roots.py) of packages of a release and of what they depend on; made unless in the cache. Raises SetupError."""

    def make(into: Path) -> None:
        with tempfile.TemporaryDirectory(dir=into.parent, prefix=".new-") as scratch:
            archives = Path(scratch) / "archives"
            (archives / "partial").mkdir(parents=True)
            command = ("apt-get", "-qq", "-y", "--download-only", "-o", f"Dir::Cache::Archives={archives}", "install", *packages)
            with locked("apt-install"):  # which takes a lock of its own, and does not wait for it
                _run(*command, failed=f"cannot download {_list(packages)} from Debian", archive=of_release(release))
            for deb in sorted(archives.glob("*.deb")):
                extract(deb, into)

    roots.base()  # made by itself
    return roots.made(name, (release, *packages), doing, make)


def unpack_file(deb: Path, home: Path) -> Path:
    """Unpacks a local .deb, such as ``make bindeb-pkg`` writes."""
    final = home / f"{deb.stem}@{int(deb.stat().st_mtime)}"
    with locked(f"debs-{home.name}"):
        if not final.is_dir():
            with appearing(final) as scratch:
                extract(deb, scratch)
    return final


def extract(deb: Path, into: Path) -> None:
    """Unpacks one .deb into a directory. Raises SetupError."""
    script = 'dpkg-deb --fsys-tarfile "$1" | tar -x --no-same-owner -C "$2"'
    in_base(script, deb, into, failed=f"cannot unpack {deb.name} (is the disk full?)")


def in_base(script: str, read: Path, into: Path, *words: str, failed: str) -> None:
    """Runs a script of bash in the first tree, with a file that it reads as ``$1``, a directory that it writes to as ``$2``.

    Raises SetupError, also if one of several commands of a pipe fails.
    """
    command = ("bash", "-o", "pipefail", "-euc", script, "bash", str(read.absolute()), str(into.absolute()), *words)
    directory = read.absolute().parent
    done = roots.base().run(*command, readable={str(directory): directory}, writable={str(into.absolute()): into.absolute()})
    if done.returncode:
        raise SetupError("\n".join(part for part in (failed, done.stdout.strip(), done.stderr.strip()) if part))


def version(directory: Path) -> str:
    """The version in the name of an unpacked package's directory (apt writes the epoch's colon as %3a)."""
    return directory.name.split("_")[1].replace("%3a", ":") if "_" in directory.name else "unknown"


def _downloads(home: Path) -> tempfile.TemporaryDirectory[str]:
    home.mkdir(parents=True, exist_ok=True)
    sweep(home)
    return tempfile.TemporaryDirectory(prefix=".new-download-", dir=home)


def _download(packages: Sequence[str], archive: Archive, into: Path) -> list[Path]:
    _run(
        "apt-get",
        "-qq",
        "download",
        *packages,
        into=into.absolute(),
        failed=f"cannot download {_list(packages)}",
        archive=archive,
    )
    return sorted(into.glob("*.deb"))


def _list(packages: Iterable[str]) -> str:
    return ", ".join(packages)


def _run(*command: str, failed: str, archive: Archive, into: Path | None = None) -> str:
    done = archive.run(*command, writable={str(into): into} if into else None, chdir=str(into or "/"))
    if done.returncode:
        raise SetupError(f"{failed}\n{done.stderr.strip()}")
    return done.stdout
