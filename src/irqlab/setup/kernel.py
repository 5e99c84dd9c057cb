# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT's kernel: an unmodified package of the distribution, unpacked but not installed.

It boots as an uncompressed ELF file over PVH, in a quarter of the virtual time a bzImage takes. The setup header gives the
position of the ELF file in the bzImage (Documentation/arch/x86/boot.rst, protocol 2.08): "payload_offset: if non-zero then
this field contains the offset from the beginning of the protected-mode code to the payload".
"""

import hashlib
import json
import lzma
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.setup import SetupError, debs
from irqlab.setup.paths import cache_dir, locked

DEFAULT_PACKAGE = "linux-image-amd64"

# Offsets into the setup header.
_SETUP_SECTS, _BOOT_FLAG, _HEADER, _VERSION, _PAYLOAD_OFFSET, _PAYLOAD_LENGTH = 0x1F1, 0x1FE, 0x202, 0x206, 0x248, 0x24C


@dataclass(frozen=True)
class Kernel:
    """A kernel ready to boot; ``modules`` is its ``lib/modules/RELEASE``, ``sha256`` that of ``vmlinux``."""

    release: str
    package: str
    version: str
    vmlinux: Path
    modules: Path
    config: Path
    sha256: str

    @property
    def headers(self) -> Path | None:
        """The directory to build modules in (KDIR), if linux-headers-RELEASE is installed."""
        places = (Path("/lib/modules") / self.release / "build", Path("/usr/src") / f"linux-headers-{self.release}")
        return next((place for place in places if (place / "Makefile").is_file()), None)


def resolve(spec: str | None = None) -> Kernel:
    """The kernel that a ``--kernel`` option selects; downloaded unless in the cache.

    ``None``: the one ``make setup`` chose, else the distribution's (what linux-image-amd64 depends on); a release
    (6.1.0-56-amd64); a package (linux-image-6.1.0-56-amd64, linux-image-rt-amd64); or the path of a .deb.
    """
    if spec is not None and spec.endswith(".deb"):
        deb = Path(spec)
        if not deb.is_file():
            raise SetupError(f"{spec}: no such file")
        return _describe(deb.name.split("_")[0], debs.unpack_file(deb))
    if kernel := present(spec):
        return kernel
    package = _real_package(_package(spec))
    return _describe(package, debs.unpack([package])[0])


def present(spec: str | None = None) -> Kernel | None:
    """As `resolve`, but None if it is not in the cache."""
    package = _package(spec)
    root = debs.unpacked(package)
    return _describe(package, root) if root else None


def choose(package: str) -> Kernel:
    """Sets the kernel that ``resolve(None)`` returns, so that updates of the distribution do not change results."""
    kernel = resolve(package)
    write_atomically(cache_dir() / "kernel", f"{kernel.package}\n".encode())
    return kernel


def _package(spec: str | None) -> str:
    if spec is not None:
        return spec if spec.startswith("linux-image-") else f"linux-image-{spec}"
    try:
        return (cache_dir() / "kernel").read_text().strip() or DEFAULT_PACKAGE
    except OSError:
        return DEFAULT_PACKAGE


def _real_package(package: str) -> str:
    """The package with the actual image: linux-image-amd64 is empty and depends on the current one."""
    return next((name for name in sorted(debs.depends([package])) if re.match(r"linux-image-\d", name)), package)


def _describe(package: str, root: Path) -> Kernel:
    images = list(root.glob("boot/vmlinuz-*"))
    if len(images) != 1:
        raise SetupError(f"the package {package} has no kernel image")
    release = images[0].name.removeprefix("vmlinuz-")
    trees = [path for path in (root / "lib/modules" / release, root / "usr/lib/modules" / release) if path.is_dir()]
    if not trees:
        raise SetupError(f"the package {package} has no modules for {release}")
    vmlinux, note = root / f"boot/vmlinux-{release}", root / "irqlab.json"
    with locked("kernel"):
        if not note.is_file():  # written last: if it exists, vmlinux is complete
            try:
                content = extract_vmlinux(images[0].read_bytes())
            except SetupError as error:
                raise SetupError(f"{images[0]}: {error}") from error
            write_atomically(vmlinux, content)
            write_atomically(note, json.dumps({"sha256": hashlib.sha256(content).hexdigest()}).encode())
    sha256 = json.loads(note.read_text())["sha256"]
    return Kernel(release, package, debs.version(root), vmlinux, trees[0], root / f"boot/config-{release}", sha256)


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
    if not shutil.which(command):
        raise SetupError(f"compressed with {command}, which is not installed (sudo apt-get install {command})")
    done = subprocess.run([command, "-dcq"], input=packed, capture_output=True, check=False)
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
