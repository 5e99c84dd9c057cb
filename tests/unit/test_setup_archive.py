# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path

import pytest

from irqlab.setup import SetupError, archive, debs


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an apt of the test's own says what it was run with."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IRQLAB_MIRROR", raising=False)
    said = tmp_path / "log"
    program(tmp_path / "bin/apt-config", "echo 'Acquire::http::Proxy \"http://proxy:3128\";'")
    program(tmp_path / "bin/apt-get", f'echo "$APT_CONFIG $*" >> {said}')
    program(tmp_path / "bin/apt-cache", f'echo "$APT_CONFIG $*" >> {said}; echo "  Depends: libmnl0"')
    return said


@pytest.mark.parametrize(
    ("kernel", "release"),
    [
        ("5.10.0-30-amd64", "bookworm"),
        ("6.1.0-56-amd64", "bookworm"),
        ("6.1.192", "bookworm"),
        ("6.2.0-mine", "trixie"),
        ("6.12.117+deb13-amd64", "trixie"),
        ("6.12.30+bpo-amd64", "trixie"),
        ("7.0.1-amd64", "trixie"),
    ],
)
def test_a_kernel_has_the_tools_of_its_release(kernel: str, release: str) -> None:
    assert archive.release_of(kernel) == release


def test_a_release_has_an_apt_of_its_own(tmp_path: Path, log: Path) -> None:
    made = archive.of_release("bookworm", tmp_path / "scratch")
    assert (tmp_path / "scratch/sources.list").read_text().endswith("http://deb.debian.org/debian bookworm main\n")
    assert debs.depends(["iproute2"], made) == {"libmnl0"}
    assert debs.depends(["iproute2"]) == {"libmnl0"}
    updated, asked, host_asked = log.read_text().splitlines()
    assert updated.startswith(f"{made.config} ")
    assert updated.endswith(" update")
    assert asked == f"{made.config} depends iproute2"
    assert host_asked == f"{os.environ.get('APT_CONFIG', '')} depends iproute2"
    config = (tmp_path / "scratch/apt.conf").read_text()
    assert 'Acquire::http::Proxy "http://proxy:3128";' in config
    assert f'Dir::State::Lists "{tmp_path}/scratch/lists";' in config


def test_another_mirror_can_be_named(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_MIRROR", "http://mirror.example/")
    archive.of_release("trixie", tmp_path / "scratch")
    assert (tmp_path / "scratch/sources.list").read_text().endswith("http://mirror.example/debian trixie main\n")


def test_a_mirror_that_does_not_answer_is_named(tmp_path: Path, log: Path) -> None:
    program(tmp_path / "bin/apt-get", "echo 'E: Could not resolve' >&2; exit 100")
    with pytest.raises(SetupError, match=r"(?s)bookworm.*http://deb.debian.org.*IRQLAB_MIRROR.*Could not resolve"):
        archive.of_release("bookworm", tmp_path / "scratch")
