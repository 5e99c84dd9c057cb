# SPDX-License-Identifier: GPL-2.0-or-later
"""Releases of Debian, and an apt that knows one of them whatever the host is.

The DUT's tools come from the release the DUT's kernel belongs to, so that two hosts with the same kernel have the same
tools. Of a release only the archive itself is used, without security updates: it changes with the point releases, not
from day to day, and the DUT has no network but the tester's.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import SetupError

RELEASES = {"bookworm": (6, 1), "trixie": (6, 12)}
"""Debian's releases that are known and the series of their kernels, oldest first."""
MIRROR = "http://deb.debian.org"
"""Where ``/debian`` is, unless ``$IRQLAB_MIRROR`` says otherwise."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Archive:
    """Where packages come from, and the directory they are unpacked in."""

    home: Path
    config: Path | None = None
    """apt's configuration (``$APT_CONFIG``); None: the host's apt as it is."""

    @property
    def environment(self) -> dict[str, str]:
        """What apt is run with."""
        return os.environ | {"LC_ALL": "C"} | ({"APT_CONFIG": str(self.config)} if self.config else {})


def release_of(kernel_release: str) -> str:
    """The release whose tools a kernel is given: the oldest with a kernel that is no older, else the newest."""
    series = tuple(int(number) for number in re.findall(r"\d+", kernel_release)[:2])
    return next((name for name, known in RELEASES.items() if series <= known), list(RELEASES)[-1])


def of_release(release: str, scratch: Path) -> Archive:
    """A release's archive with fresh lists of its packages; all that belongs to it is in `scratch`. Raises SetupError."""
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
            f"cannot fetch the list of {release}'s packages from {mirror} (IRQLAB_MIRROR names another mirror; "
            f"{KEYRING} comes with debian-archive-keyring)\n{done.stderr.strip()}"
        )
    return archive


def _config(scratch: Path) -> str:
    """The host's settings for downloads, such as a proxy; nothing else of the host's, and none of its hooks."""
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
