# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path

import pytest

from irqlab.setup import SetupError, debs, roots
from irqlab.setup.archive import Archive
from tests.unit.setup.on_the_host import OnTheHost

DEPENDS = """\
iproute2
  PreDepends: debconf
 |Depends: debconf
  Depends: <debconf-2.0>
    cdebconf
  Depends: libmnl0
  Recommends: libatm1
libbpf1
  Depends: libelf1
  Depends: libmnl0
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(roots, "base", lambda: OnTheHost(tmp_path))
    return tmp_path


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def apt(home: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """A fake apt-get and dpkg-deb, which write a log."""
    log = home / "log"
    download = f"""echo "$*" >> {log}; shift; for p; do case $p in a|b) : > ${{p}}_1%3a2-3_amd64.deb;; esac; done"""
    program(home / "bin/apt-get", download)
    packed = f'echo "dpkg-deb $1" >> {log}; cd $(mktemp -d -p {home}); : > file; : > $(basename $2); tar -c *'
    program(home / "bin/dpkg-deb", packed)
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    return Archive(home / "apt.conf")


def test_packages_are_fetched_once_and_together(home: Path, apt: Archive) -> None:
    first, second = debs.unpack(["a", "b"], apt, home / "debs")
    assert (first / "file").exists()
    assert (second / "file").exists()
    assert debs.version(first) == "1:2-3"
    assert debs.unpack(["b", "a"], apt, home / "debs") == [second, first]
    lines = (home / "log").read_text().splitlines()
    assert sum("download a b" in line for line in lines) == 1
    assert len(lines) == 3


def test_packages_can_share_a_directory(home: Path, apt: Archive) -> None:
    made = debs.unpack_together(["b", "a"], apt, home / "debs")
    assert made.name == "b_1%3a2-3_amd64"
    assert sorted(path.name for path in made.iterdir()) == ["a_1%3a2-3_amd64.deb", "b_1%3a2-3_amd64.deb", "file"]
    assert debs.unpack_together(["b", "a"], apt, home / "debs") == made
    assert (home / "log").read_text().count("download") == 1


def test_dependencies_are_read_from_apt_cache(home: Path, apt: Archive) -> None:
    program(home / "bin/apt-cache", f"cat <<'END'\n{DEPENDS}END")
    assert debs.depends(["iproute2", "libbpf1"], apt) == {"debconf", "libmnl0", "libelf1"}


def test_apt_that_fails_is_quoted(home: Path, apt: Archive) -> None:
    program(home / "bin/apt-get", "echo 'E: 404 Not Found' >&2; exit 100")
    with pytest.raises(SetupError, match=r"(?s)linux-image-x.*404 Not Found"):
        debs.unpack(["linux-image-x"], apt, home / "debs")
    assert list((home / "debs").iterdir()) == []
