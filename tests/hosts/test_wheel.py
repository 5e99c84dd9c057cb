# SPDX-License-Identifier: GPL-2.0-or-later
"""The wheel on hosts that have nothing: `make test-hosts`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from irqlab.project import project_dir
from tests.hosts.host import HOME, Host, recording_mirror

pytestmark = pytest.mark.long
MEASURE = ("venv/bin/irqlab", "throughput", "--driver", "e100", "--duration", "0.02")
FOUND = "e100 forwards "


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place), str(project_dir())]
    subprocess.run(command, check=True)
    (made,) = place.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A mirror on this machine, and where it keeps its files."""
    place = tmp_path_factory.mktemp("mirror")
    with recording_mirror(place) as address:
        yield address, place


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Host:
    """Debian 13, Python 3.13, an ordinary user, with the wheel installed and an empty cache."""
    made = Host.of("trixie", tmp_path_factory.mktemp("home"))
    made.install(wheel)
    return made


@pytest.mark.parametrize(("release", "uid"), [("bookworm", 0), ("trixie", 1000)])
def test_the_demo_is_the_same_on_every_host(
    release: str, uid: int, wheel: Path, mirror: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host.of(release, tmp_path, uid)
    host.install(wheel)
    took = []
    for _ in range(2):
        began = time.monotonic()
        done = host.run("venv/bin/irqlab", "demo", "--out", "demo", environment={"IRQLAB_MIRROR": mirror[0]})
        took.append(time.monotonic() - began)
        assert done.returncode == 0, done.stderr
    same = [sys.executable, "-m", "tools.figures", "same", "demo", str(tmp_path / "demo/demo.json")]
    assert subprocess.run(same, cwd=project_dir(), check=False).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"venv", "demo", wheel.name, ".cache"}
    with capsys.disabled():
        print(f"\nDebian {release}, user {uid}: demo from nothing {took[0]:.0f} s, again {took[1]:.0f} s")
    assert host.run("venv/bin/pip", "uninstall", "--yes", "irqlab").returncode == 0
    assert not list(tmp_path.glob("venv/lib/python*/site-packages/irqlab"))


def test_a_host_that_forbids_namespaces_is_told_what_to_type(host: Host) -> None:
    done = host.run(*MEASURE, extra=["--disable-userns"])
    assert done.returncode == 2
    assert "this host forbids user namespaces" in done.stderr
    assert "unprivileged_userns_clone" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_network_but_a_mirror(host: Host, mirror: tuple[str, Path]) -> None:
    address, place = mirror
    first, second = ({"IRQLAB_MIRROR": one, "IRQLAB_CACHE": f"{HOME}/{name}"} for one, name in ((address, "one"), ("", "two")))
    done = host.run(*MEASURE, environment=first)
    assert done.returncode == 0, done.stderr
    second["IRQLAB_MIRROR"] = "http://127.0.0.1:8000"
    script = f"python3 -m http.server --directory /mnt 8000 >/dev/null 2>&1 & sleep 1; {' '.join(MEASURE)}"
    again = host.run("sh", "-c", script, extra=["--unshare-net", "--ro-bind", str(place), "/mnt"], environment=second)
    assert again.returncode == 0, again.stderr
    assert [line for line in again.stdout.splitlines() if FOUND in line] == [
        line for line in done.stdout.splitlines() if FOUND in line
    ]


def test_without_any_network(host: Host) -> None:
    done = host.run(*MEASURE, extra=["--unshare-net"], environment={"IRQLAB_CACHE": f"{HOME}/none"})
    assert done.returncode == 2
    assert "cannot fetch http://deb.debian.org" in done.stderr
    assert "IRQLAB_MIRROR" in done.stderr
    assert not list((host.home / "none").rglob(".new-*"))


@pytest.mark.parametrize("size_mb", [16, 150, 500])
def test_a_full_disk(host: Host, mirror: tuple[str, Path], size_mb: int) -> None:
    extra = ["--size", str(size_mb << 20), "--tmpfs", "/mnt"]
    done = host.run(*MEASURE, extra=extra, environment={"IRQLAB_MIRROR": mirror[0], "IRQLAB_CACHE": "/mnt"})
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "space" in done.stderr or "full" in done.stderr


def test_a_cache_that_cannot_be_written_to(host: Host, tmp_path: Path) -> None:
    done = host.run(*MEASURE, extra=["--ro-bind", str(tmp_path), "/mnt"], environment={"IRQLAB_CACHE": "/mnt/cache"})
    assert done.returncode == 2
    assert "cannot write to the cache /mnt/cache" in done.stderr


def test_what_was_killed_while_it_fetched_goes_on(host: Host, mirror: tuple[str, Path]) -> None:
    environment = {"IRQLAB_MIRROR": mirror[0], "IRQLAB_CACHE": f"{HOME}/killed"}
    for after_s in (3.0, 10.0, 14.0):
        host.run_until_killed(*MEASURE, after_s=after_s, environment=environment)
    done = host.run(*MEASURE, environment=environment)
    assert done.returncode == 0, done.stderr
    assert FOUND in done.stdout
    cleared = host.run("venv/bin/irqlab", "cache", "clear", "--all", environment=environment)
    assert cleared.returncode == 0, cleared.stderr
    assert not [path for path in (host.home / "killed").rglob("*") if path.is_file() and path.stat().st_size > 100_000]
