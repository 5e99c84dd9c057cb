# SPDX-License-Identifier: GPL-2.0-or-later
import gzip
import lzma
import struct
import subprocess

import pytest

from irqlab.setup import SetupError, bzimage, roots

ELF = b"\x7fELF" + bytes(range(256)) * 64


def image_of(payload: bytes, setup_sects: int = 27, protocol: int = 0x020F) -> bytes:
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


@pytest.mark.parametrize("setup_sects", [27, 0])
def test_an_xz_payload_followed_by_its_size(setup_sects: int) -> None:
    assert bzimage.extract_vmlinux(image_of(xz(ELF), setup_sects)) == ELF


def test_a_zstd_payload_followed_by_its_size() -> None:
    packed = subprocess.run(roots.base().command("zstd", "-q"), input=ELF, capture_output=True, check=True).stdout
    assert bzimage.extract_vmlinux(image_of(packed + struct.pack("<I", len(ELF)))) == ELF


def test_a_gzip_payload() -> None:
    assert bzimage.extract_vmlinux(image_of(gzip.compress(ELF))) == ELF


@pytest.mark.parametrize(
    ("image", "complaint"),
    [
        (b"", "no setup header"),
        (bytes(4096), "no setup header"),
        (image_of(xz(ELF), protocol=0x0207), "older than 2.6.24"),
        (image_of(xz(ELF))[:-1000], "truncated"),
        (image_of(b"BZh9 bzip2"), "425a6839"),
        (image_of(gzip.compress(ELF)[:10] + b"garbage"), "cannot be unpacked"),
        (image_of(xz(b"no ELF file")), "not an ELF file"),
        (image_of(xz(ELF)[:30]), "cannot be unpacked|not an ELF file"),
        (image_of(b"\xfd7zXZ\0 garbage"), "cannot be unpacked"),
    ],
)
def test_files_that_are_not_kernels_are_reported(image: bytes, complaint: str) -> None:
    with pytest.raises(SetupError, match=complaint):
        bzimage.extract_vmlinux(image)
