# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path

import pytest

from irqlab.setup import SetupError, archive, debs, kernel_packages, mirror, roots
from tests.unit.setup.on_the_host import OnTheHost


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a fake apt: its configuration and arguments."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IRQLAB_MIRROR", raising=False)
    said = tmp_path / "log"
    monkeypatch.setattr(roots, "base", lambda: OnTheHost(tmp_path))
    program(tmp_path / "bin/apt-get", f'echo "$APT_CONFIG $*" >> {said}')
    program(tmp_path / "bin/apt-cache", f'echo "$APT_CONFIG $*" >> {said}; echo "  Depends: libmnl0"')
    return said


@pytest.mark.parametrize(
    ("kernel", "tools", "built"),
    [
        ("5.10.0-30-amd64", "bookworm", "bookworm"),
        ("6.1.0-56-amd64", "bookworm", "bookworm"),
        ("6.1.192", "bookworm", "bookworm"),
        ("6.2.0-mine", "trixie", "trixie"),
        ("6.12.117+deb12-amd64", "trixie", "bookworm"),
        ("6.12.117+deb13-amd64", "trixie", "trixie"),
        ("6.12.30+bpo-amd64", "trixie", "trixie"),
        ("7.0.1-amd64", "trixie", "trixie"),
        ("7.3.4+deb13-amd64", "trixie", "trixie"),
        ("9.1.0+deb15-amd64", "trixie", "trixie"),
    ],
)
def test_the_releases_of_a_kernels_tools_and_of_its_compiler(kernel: str, tools: str, built: str) -> None:
    assert archive.tools_release(kernel) == tools
    assert archive.build_release(kernel) == built


def test_a_release_has_an_apt_of_its_own(tmp_path: Path, log: Path) -> None:
    made = archive.of_release("bookworm")
    assert debs.depends(["iproute2"], made) == {"libmnl0"}
    updated, asked = log.read_text().splitlines()
    assert updated.startswith(f"{tmp_path}/cache/apt/all.conf ")
    assert updated.endswith(" update")
    assert asked == f"{made.config} depends iproute2"
    config = made.config.read_text()
    assert "Check-Valid-Until" not in config
    assert f'Dir::State::Lists "{tmp_path}/cache/apt/lists";' in config
    assert 'APT::Default-Release "bookworm";' in config
    assert "Default-Release" not in archive.everything().config.read_text()


def test_both_releases_with_security_updates_and_backports(tmp_path: Path, log: Path) -> None:
    archive.everything()
    lines = (tmp_path / "cache/apt/sources.list").read_text().splitlines()
    assert [line.partition("] ")[2] for line in lines] == [
        f"http://deb.debian.org/debian{kind} {release} main"
        for number in ("bookworm", "trixie")
        for kind, release in (("", number), ("", f"{number}-backports"), ("-security", f"{number}-security"))
    ]


def test_lists_are_updated_once_a_day_and_for_another_mirror(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def updates() -> int:
        return sum(line.endswith(" update") for line in log.read_text().splitlines())

    archive.everything()
    archive.of_release("trixie")
    assert updates() == 1
    monkeypatch.setenv("IRQLAB_MIRROR", "http://mirror.example/")
    archive.everything()
    assert updates() == 2
    assert "http://mirror.example/debian trixie main\n" in (tmp_path / "cache/apt/sources.list").read_text()
    assert 'Acquire::Check-Valid-Until "false";' in (tmp_path / "cache/apt/all.conf").read_text()
    yesterday = (tmp_path / "cache/apt/updated").stat().st_mtime - archive.LISTS_AGE_S - 1
    os.utime(tmp_path / "cache/apt/updated", (yesterday, yesterday))
    archive.everything(update=False)
    assert updates() == 2
    archive.everything()
    assert updates() == 3


def test_a_mirror_that_does_not_answer_is_named(tmp_path: Path, log: Path) -> None:
    program(tmp_path / "bin/apt-get", "echo 'E: Could not resolve' >&2; exit 100")
    with pytest.raises(SetupError, match=r"(?s)http://deb.debian.org.*IRQLAB_MIRROR.*Could not resolve"):
        archive.everything()


NAMES = [
    *("linux-image-6.1.0-9-amd64", "linux-image-6.1.0-56-amd64", "linux-image-6.1.0-56-rt-amd64", "linux-image-amd64"),
    *("linux-image-6.12.9+deb13-amd64", "linux-image-6.12.117+deb13-amd64", "linux-image-6.12-amd64"),
    "linux-image-6.12.48+deb13.1-amd64",
    *("linux-image-7.3.4+deb13-amd64", "linux-image-7.3.4+deb13-cloud-amd64", "linux-image-7.3.4+deb13-amd64-unsigned"),
]


@pytest.fixture
def offered(tmp_path: Path, log: Path) -> Path:
    """An apt that knows NAMES."""
    madison = "".join(f"echo '{name} |  1-2 | http://x trixie-backports/main amd64 Packages'\n" for name in NAMES)
    program(tmp_path / "bin/apt-cache", f"case $1 in pkgnames) echo {' '.join(NAMES)};; madison) {madison} ;; esac")
    return tmp_path


def test_kernels_on_offer_are_sorted_by_age_without_cloud_and_meta_packages(offered: Path) -> None:
    found = kernel_packages.offers()
    assert [offer.release for offer in found] == [
        *("6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-56-rt-amd64"),
        *("6.12.9+deb13-amd64", "6.12.48+deb13.1-amd64", "6.12.117+deb13-amd64", "7.3.4+deb13-amd64"),
    ]
    assert found[-1] == kernel_packages.Offer("7.3.4+deb13-amd64", "1-2", "trixie-backports")


@pytest.mark.parametrize(
    ("spec", "release"),
    [
        ("6.1", "6.1.0-56-amd64"),
        ("6.1-rt", "6.1.0-56-rt-amd64"),
        ("6.12", "6.12.117+deb13-amd64"),
        ("6.12.9", "6.12.9+deb13-amd64"),
        ("7.3.4", "7.3.4+deb13-amd64"),
    ],
)
def test_a_short_specification_means_the_newest_that_begins_so(
    offered: Path, monkeypatch: pytest.MonkeyPatch, spec: str, release: str
) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(kernel_packages, "_fetch", fetched.append)
    kernel_packages.resolve(spec)
    assert fetched == [f"linux-image-{release}"]


def test_a_series_that_debian_does_not_have(offered: Path) -> None:
    with pytest.raises(SetupError, match=r"Debian has no kernel 6\.2; there are 6\.1, 6\.12, 7\.3 \(irqlab list kernels\)"):
        kernel_packages.resolve("6.2")


def test_an_older_release_has_lists_of_its_own(tmp_path: Path, log: Path) -> None:
    made = archive.of_older("bullseye")
    assert made.config == tmp_path / "cache/apt-bullseye/all.conf"
    assert f'Dir::State::Lists "{tmp_path}/cache/apt-bullseye/lists";' in made.config.read_text()
    (line,) = (tmp_path / "cache/apt-bullseye/sources.list").read_text().splitlines()
    assert line.endswith("] http://deb.debian.org/debian bullseye main")
    assert not (tmp_path / "cache/apt/sources.list").exists()


def test_a_mirror_may_be_the_state_of_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_MIRROR", "http://snapshot.debian.org/archive/{archive}/20261101T000000Z/")
    assert mirror.of("debian-security") == "http://snapshot.debian.org/archive/debian-security/20261101T000000Z"
    monkeypatch.delenv("IRQLAB_MIRROR")
    assert mirror.of("debian") == "http://deb.debian.org/debian"
