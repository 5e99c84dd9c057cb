# SPDX-License-Identifier: GPL-2.0-or-later
"""irqlab's own apt: the archives of Debian 12 and 13, with their security updates and backports; of older releases, the main one.

It runs in the first tree (roots.py), has its own package lists, in the cache, and takes nothing from the host's configuration but
a proxy. So every host gets the same packages.

The DUT's tools and the compilers come from a release's main archive, without updates: it changes only with point releases, and
the DUT has no network but the tester's.
"""

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.setup import SetupError, mirror, roots
from irqlab.setup.paths import cache_dir, locked
from irqlab.setup.say import say

RELEASES = {"bookworm": (6, 1), "trixie": (6, 12)}
"""Known Debian releases and their kernel series, oldest first."""
NUMBERS = {"12": "bookworm", "13": "trixie"}
OLDER = ("bullseye",)
"""Releases of which only sources are used."""
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
"""In the first tree."""
LISTS_AGE_S = 24 * 3600.0
"""Package lists older than this are updated before something is downloaded."""


@dataclass(frozen=True)
class Archive:
    """A view of the archives; `config` is apt's configuration (``$APT_CONFIG``)."""

    config: Path

    def run(
        self,
        *command: str,
        writable: Mapping[str, Path] | None = None,
        readable: Mapping[str, Path] | None = None,
        chdir: str = "/",
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command of apt's, in the first tree."""
        return roots.base().run(
            *command,
            writable={str(cache_dir()): cache_dir(), **(writable or {})},
            readable=readable,
            chdir=chdir,
            environment={"APT_CONFIG": str(self.config)},
            network=True,
        )


@dataclass(frozen=True)
class _Lists:
    """Package lists: where they are, and of which archives (``debian SUITE``)."""

    home: Path
    suites: tuple[str, ...]

    @property
    def sources(self) -> str:
        """sources.list."""
        return "".join(
            f"deb [signed-by={KEYRING}] {mirror.of(archive)} {suite} main\n"
            for archive, suite in (name.split() for name in self.suites)
        )


def tools_release(kernel_release: str) -> str:
    """The release that provides a kernel's tools: the oldest whose kernel is not older than this one, else the newest."""
    series = tuple(int(number) for number in re.findall(r"\d+", kernel_release)[:2])
    return next((name for name, known in RELEASES.items() if series <= known), list(RELEASES)[-1])


def build_release(kernel_release: str) -> str:
    """The release in which a Debian kernel was built, as its name says (``+deb13``); for others, that of its tools."""
    match = re.search(r"\+deb(\d+)", kernel_release)
    return NUMBERS.get(match[1], list(RELEASES)[-1]) if match else tools_release(kernel_release)


def everything(update: bool = True) -> Archive:
    """All archives. `update`: with current package lists; raises SetupError if they cannot be had."""
    return _view(_current(), "all", None, update)


def of_release(release: str) -> Archive:
    """All archives, but of a package's versions the one in the release's main archive. Raises SetupError."""
    return _view(_current(), release, release, update=True)


def of_older(release: str) -> Archive:
    """The main archive of one of `OLDER`. Raises SetupError."""
    return _view(_Lists(cache_dir() / f"apt-{release}", (f"debian {release}",)), "all", None, update=True)


def _current() -> _Lists:
    suites = []
    for release in RELEASES:
        suites += [f"debian {release}", f"debian {release}-backports", f"debian-security {release}-security"]
    return _Lists(cache_dir() / "apt", tuple(suites))


def _view(lists: _Lists, name: str, preferred: str | None, update: bool) -> Archive:
    archive = Archive(lists.home / f"{name}.conf")
    with locked("apt"):
        _write(archive.config, _configuration(lists.home, preferred))
        if update and _age_s(lists) > LISTS_AGE_S:
            _update(lists)
    return archive


def _age_s(lists: _Lists) -> float:
    """The age of the package lists in s; infinite for another mirror's or none."""
    stamp = lists.home / "updated"
    try:
        return time.time() - stamp.stat().st_mtime if stamp.read_text() == lists.sources else float("inf")
    except OSError:
        return float("inf")


def _update(lists: _Lists) -> None:
    home = lists.home
    for directory in ("lists/partial", "cache/archives/partial"):
        (home / directory).mkdir(parents=True, exist_ok=True)
    (home / "status").touch()
    _write(home / "sources.list", lists.sources)
    archive = Archive(home / "all.conf")
    _write(archive.config, _configuration(home, None))
    say("updating the lists of Debian's packages (15 MB)")
    done = archive.run("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")
    if done.returncode:
        raise SetupError(f"cannot fetch Debian's package lists from {mirror.of('debian')}. {mirror.HINT}\n{done.stderr.strip()}")
    _write(home / "updated", lists.sources)


def _configuration(home: Path, preferred: str | None) -> str:
    """apt.conf."""
    return f"""Acquire::Languages "none";
Acquire::Retries "3";
{'Acquire::Check-Valid-Until "false";' if mirror.may_be_old() else ""}
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::SourceList "{home}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "{home}/lists";
Dir::State::status "{home}/status";
Dir::Cache "{home}/cache";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Sandbox::User "root";
APT::Install-Recommends "false";
{f'APT::Default-Release "{preferred}";' if preferred else ""}
"""


def _write(path: Path, text: str) -> None:
    """Writes a file unless it has that content: apt's cache is made anew when its configuration is newer."""
    if not path.is_file() or path.read_text() != text or path.name == "updated":
        write_atomically(path, text.encode())
