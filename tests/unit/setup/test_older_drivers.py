# SPDX-License-Identifier: GPL-2.0-or-later
from dataclasses import replace
from pathlib import Path

import pytest

from irqlab.setup import SetupError, archive, debs, drivers, older_drivers
from irqlab.setup.bootable import Kernel
from irqlab.setup.older_drivers import LAN78XX, Older

OLD = Older(
    module="old_1_2", release="bullseye", package="linux-source-1.2=1.2.3-1", files=("drivers/net/old.c", "drivers/net/old.h"),
    series=("6.1",), changes=(("was(1)", "is()"),),
)  # fmt: skip


def kernel(release: str = "6.1.0-1-amd64") -> Kernel:
    return Kernel(release, f"linux-image-{release}", "6.1.1-1", Path("x"), Path("x"), Path("x"), "")


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, bytes]]:
    """What is built; packages have the driver's files without a tar."""
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    asked: list[dict[str, bytes]] = []

    def download(package: str, apt: object, home: Path) -> Path:
        assert (package, apt) == (OLD.package, "bullseye")
        home.mkdir(parents=True)
        deb = home / "a.deb"
        deb.touch()
        return deb

    def unpack(package: Path, files: tuple[str, ...], into: Path) -> None:
        for name in files:
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).write_text(f"{name}: was(1); was(2);")

    def build(target: Kernel, files: dict[str, bytes]) -> Path:
        asked.append(files)
        return tmp_path / "built"

    monkeypatch.setattr(archive, "of_older", lambda release: release)
    monkeypatch.setattr(debs, "download", download)
    monkeypatch.setattr(older_drivers, "_unpack", unpack)
    monkeypatch.setattr(drivers, "build_files", build)
    return asked


def test_a_driver_is_built_from_its_source_with_the_changes(tmp_path: Path, built: list[dict[str, bytes]]) -> None:
    for _ in range(2):  # the source is downloaded once
        assert older_drivers.module_file(kernel(), OLD) == tmp_path / "built/old_1_2/old_1_2.ko"
    assert built[0] == built[1] == {
        "old_1_2/old.c": b"drivers/net/old.c: is(); was(2);",
        "old_1_2/old.h": b"drivers/net/old.h: was(1); was(2);",
        "old_1_2/Kbuild": b"obj-m := old_1_2.o\nold_1_2-y := old.o\n",
        "Kbuild": b"obj-m := old_1_2/\n",
    }  # fmt: skip
    assert [path.name for path in (tmp_path / "sources/drivers").iterdir()] == ["linux-source-1.2_1.2.3-1"]


def test_a_source_that_is_not_as_expected(built: list[dict[str, bytes]]) -> None:
    with pytest.raises(SetupError, match=r"linux-source-1\.2=1\.2\.3-1: drivers/net/old\.c has no 'absent\('"):
        older_drivers.module_file(kernel(), replace(OLD, changes=(("absent(", ""),)))


def test_other_kernels_are_refused() -> None:
    with pytest.raises(SetupError, match=r"lan78xx_5_10 can be built for Linux 6\.1, not for 6\.12\.117\+deb13-amd64"):
        older_drivers.module_file(kernel("6.12.117+deb13-amd64"), LAN78XX)


def test_a_package_without_a_single_tar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What unpacks it mounts the directory, which therefore has to be there."""
    monkeypatch.setattr(debs, "extract", lambda package, into: next(into.iterdir(), None))
    with pytest.raises(SetupError, match=r"a\.deb has no single usr/src/\*\.tar\.xz"):
        older_drivers._unpack(Path("a.deb"), OLD.files, tmp_path)


def test_they_are_found_by_name() -> None:
    assert older_drivers.find("lan78xx-5-10") is LAN78XX
    assert older_drivers.find("lan78xx") is None
    assert LAN78XX.release in archive.OLDER
