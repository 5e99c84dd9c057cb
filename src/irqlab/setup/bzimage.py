# SPDX-License-Identifier: GPL-2.0-or-later
"""The ELF file in a bzImage.

The setup header gives its position (Documentation/arch/x86/boot.rst, protocol 2.08): "payload_offset: if non-zero then this field
contains the offset from the beginning of the protected-mode code to the payload".
"""

import lzma
import struct
import subprocess
import zlib
from collections.abc import Callable

from irqlab.setup import SetupError, roots

# Offsets into the setup header.
_SETUP_SECTS, _BOOT_FLAG, _HEADER, _VERSION, _PAYLOAD_OFFSET, _PAYLOAD_LENGTH = 0x1F1, 0x1FE, 0x202, 0x206, 0x248, 0x24C


def extract_vmlinux(image: bytes) -> bytes:
    """The ELF file in a bzImage."""
    if len(image) < 0x260 or image[_BOOT_FLAG : _BOOT_FLAG + 2] != b"\x55\xaa" or image[_HEADER : _HEADER + 4] != b"HdrS":
        raise SetupError("not an x86 kernel image (no setup header)")
    if struct.unpack_from("<H", image, _VERSION)[0] < 0x0208:
        raise SetupError("the kernel is older than 2.6.24 (boot protocol below 2.08)")
    setup_sects = (
        image[_SETUP_SECTS] or 4
    )  # boot.rst: "For backwards compatibility, if this field contains 0, the real value is 4."
    offset, length = struct.unpack_from("<II", image, _PAYLOAD_OFFSET)
    start = (setup_sects + 1) * 512 + offset
    payload = image[start : start + length]
    if len(payload) < length or not length:
        raise SetupError("the image is truncated")
    for magic, unpack in _PACKERS.items():
        if payload.startswith(magic):
            vmlinux = unpack(payload)
            break
    else:
        raise SetupError(f"unknown compression format (the payload begins with {payload[:6].hex()})")
    if not vmlinux.startswith(b"\x7fELF"):
        raise SetupError("the decompressed payload is not an ELF file")
    return vmlinux


def unzstd(packed: bytes) -> bytes:
    """Decompresses zstd (Python's library has it from 3.14 on)."""
    return _with_command("zstd", packed)


def _with_command(command: str, packed: bytes) -> bytes:
    words = roots.base().command(command, "-dcq")
    done = subprocess.run(words, input=packed, capture_output=True, check=False)
    if done.returncode:
        raise SetupError(f"cannot be unpacked: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _xz_payload(payload: bytes) -> bytes:
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)  # ignores trailing data
    except lzma.LZMAError as error:
        raise SetupError(f"cannot be unpacked: {error}") from error


def _gzip_payload(payload: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(payload)
    except zlib.error as error:
        raise SetupError(f"cannot be unpacked: {error}") from error


# xz, zstd and lz4 data are followed by the uncompressed size, 32 bits (scripts/Makefile.lib, size_append).
_PACKERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\xfd7zXZ\0": _xz_payload,  # Debian 12
    b"\x28\xb5\x2f\xfd": lambda payload: unzstd(payload[:-4]),  # Debian 13
    b"\x02\x21\x4c\x18": lambda payload: _with_command("lz4", payload[:-4]),  # Debian's cloud kernels
    b"\x1f\x8b\x08": _gzip_payload,  # the default of self-built kernels
}
