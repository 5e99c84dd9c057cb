# SPDX-License-Identifier: GPL-2.0-or-later
import lzma
import struct
from pathlib import Path

import pytest

from irqlab.setup import SetupError, kernel

ELF = b"\x7fELF" + bytes(range(256)) * 64


def bzimage(payload: bytes, setup_sects: int = 27, protocol: int = 0x020F) -> bytes:
    """A boot sector, setup_sects sectors, 0x40 bytes of decompressor, the payload."""
    image = bytearray(((setup_sects or 4) + 1) * 512 + 0x40)
    image[0x1F1] = setup_sects
    image[0x1FE:0x200] = b"\x55\xaa"
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", image, 0x206, protocol)
    struct.pack_into("<II", image, 0x248, 0x40, len(payload))
    return bytes(image) + payload + b"what follows in a bzImage"


def xz(content: bytes) -> bytes:
    """As the kernel packs it: BCJ filter, CRC32, the unpacked size behind (scripts/xz_wrap.sh, scripts/Makefile.lib)."""
    filters = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6}]
    return lzma.compress(content, check=lzma.CHECK_CRC32, filters=filters) + struct.pack("<I", len(content))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def unpacked_package(cache: Path, release: str, version: str = "6.1.1-1", image: bytes | None = None) -> Path:
    root = cache / "debs" / f"linux-image-{release}_{version}_amd64"
    (root / "boot").mkdir(parents=True)
    (root / f"boot/vmlinuz-{release}").write_bytes(bzimage(xz(ELF)) if image is None else image)
    (root / "lib/modules" / release).mkdir(parents=True)
    return root


def test_a_cached_kernel_is_found_by_release_and_by_package_without_apt(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = unpacked_package(cache, "6.1.0-1-amd64")
    monkeypatch.setenv("PATH", "/nonexistent")
    by_release = kernel.resolve("6.1.0-1-amd64")
    assert by_release == kernel.resolve("linux-image-6.1.0-1-amd64")
    assert by_release.release == "6.1.0-1-amd64"
    assert by_release.version == "6.1.1-1"
    assert by_release.vmlinux.read_bytes() == ELF
    assert by_release.modules == root / "lib/modules/6.1.0-1-amd64"
    assert kernel.present("6.1.0-2-amd64") is None


def test_the_chosen_kernel_is_the_default_one(cache: Path) -> None:
    unpacked_package(cache, "6.1.0-1-amd64")
    unpacked_package(cache, "6.1.0-2-amd64")
    newest = kernel.present()
    assert newest is not None
    assert newest.release == "6.1.0-2-amd64"
    chosen = kernel.choose("linux-image-6.1.0-1-amd64")
    assert kernel.resolve() == chosen


def test_a_bad_image_is_named_and_leaves_no_vmlinux(cache: Path) -> None:
    root = unpacked_package(cache, "6.1.0-1-amd64", image=bytes(4096))
    with pytest.raises(SetupError, match=r"vmlinuz-6\.1\.0-1-amd64.*no setup header"):
        kernel.resolve("6.1.0-1-amd64")
    assert not (root / "vmlinux").exists()


def test_a_missing_deb_is_named(cache: Path) -> None:
    with pytest.raises(SetupError, match=r"\./none\.deb"):
        kernel.resolve("./none.deb")
