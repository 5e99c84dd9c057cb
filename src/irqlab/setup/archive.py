# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian releases, and an apt configuration for one of them that does not depend on the host.

The DUT's tools come from the release of the DUT's kernel, so that two hosts with the same kernel have the same tools. Only the
main archive is used, without security updates: it changes only with point releases, and the DUT has no network but the
tester's.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import SetupError

RELEASES = {"bookworm": (6, 1), "trixie": (6, 12)}
"""Known Debian releases and their kernel series, oldest first."""
MIRROR = "http://deb.debian.org"
"""The mirror with ``/debian``; ``$IRQLAB_MIRROR`` overrides it."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Archive:
    """A source of packages, and the directory to unpack them in."""

    home: Path
    config: Path | None = None
    """apt's configuration (``$APT_CONFIG``); None: the host's configuration."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment to run apt with."""
        return os.environ | {"LC_ALL": "C"} | ({"APT_CONFIG": str(self.config)} if self.config else {})


def release_of(kernel_release: str) -> str:
    """The release that provides a kernel's tools: the oldest whose kernel is not older than this one, else the newest."""
    series = tuple(int(number) for number in re.findall(r"\d+", kernel_release)[:2])
    return next((name for name, known in RELEASES.items() if series <= known), list(RELEASES)[-1])


def of_release(release: str, scratch: Path) -> Archive:
    """A release's archive with up-to-date package lists; all its files are in `scratch`. Raises SetupError."""
    for directory in ("lists/partial", "cache/archives/partial", "debs"):
        (scratch / directory).mkdir(parents=True)
    mirror = os.environ.get("IRQLAB_MIRROR", MIRROR).rstrip("/")
    (scratch / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror}/debian {release} main\n")
    (scratch / "status").touch()
    archive = Archive(scratch / "debs", scratch / "apt.conf")
    (scratch / "apt.conf").write_text(_config(scratch))
    done = _apt("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update", environment=archive.environment)
    if done.returncode:
        raise SetupError(
            f"cannot fetch {release}'s package lists from {mirror} (set IRQLAB_MIRROR to use another mirror; "
            f"{KEYRING} comes with debian-archive-keyring)\n{done.stderr.strip()}"
        )
    return archive


def _config(scratch: Path) -> str:
    """apt.conf with the host's download settings, such as a proxy, but none of its other settings or hooks."""
    host = _apt("apt-config", "dump", "--no-empty", "Acquire", environment=os.environ | {"LC_ALL": "C"}).stdout
    return f"""{host}
#clear Acquire::Languages;
#clear Acquire::IndexTargets;
Acquire::Languages "none";
Acquire::IndexTargets::deb::Packages {{ MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/Packages"; ShortDescription "Packages"; }};
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::SourceList "{scratch}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "{scratch}/lists";
Dir::State::status "{scratch}/status";
Dir::Cache "{scratch}/cache";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Sandbox::User "root";
"""


def _apt(*command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SetupError(f"{command[0]} not found: the DUT's tools come from Debian packages") from None
