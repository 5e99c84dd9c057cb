# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own tests of network drivers (tools/testing/selftests/drivers/net), and what they need in the DUT.

A DUT has no Python. So a further directory is put into its initramfs: a tree of Debian packages, with the tests of the kernel's
source in it, in which they are run (chroot).
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.setup import SetupError, archive, buildroot, cpio, debs, kernel_sources
from irqlab.setup.bootable import Kernel
from irqlab.setup.paths import cache_dir
from irqlab.setup.roots import Root

PACKAGES = (
    *("bash", "bpftool", "coreutils", "ethtool", "grep", "iperf3", "iproute2", "iputils-ping", "kmod", "python3-minimal"),
    *("python3-yaml", "sed", "socat"),
)
PLACE = "selftests"
"""Where the tree is in the DUT."""
SOURCE = "linux"
"""Where the kernel's source is in the tree."""
TESTS = "tools/testing/selftests"
HOME = f"{TESTS}/drivers/net"
FURTHER = ("hw/irq.py",)
"""Tests of another Makefile, of what is for NICs alone, that need no second machine."""
PARTS = (HOME, f"{TESTS}/net/lib", "tools/net/ynl", "Documentation/netlink/specs")
"""What of the source is needed."""
UNWANTED = re.compile(
    r"(^|/)(__pycache__|tests?|idlelib|tkinter|ensurepip|pydoc_data|perl5?|gconv|systemd|apt|dpkg|ynltool)(/|$)"
    r"|^(mlxsw|netdevsim|bonding|team|dsa|microchip|ocelot)/|\.[ah]$"
)
"""What of them and of the packages is not, so that the DUT's memory holds the rest."""
PATH = "/usr/local/sbin:/usr/sbin:/usr/bin"
ETHTOOL = """#!/bin/bash
[ "$1 $2" = "--json -l" ] || exec /usr/sbin/ethtool "$@"
channels=$(/usr/sbin/ethtool -l "$3") || exit
combined=$(sed -n '/^Current/,$ s/^Combined:[^0-9]*\\([0-9]*\\)$/\\1/p' <<<"$channels")
echo "[{\\"ifname\\": \\"$3\\", \\"combined\\": ${combined:-0}}]"
"""
"""For napi_threaded.py: Debian 13's ethtool has no JSON of the channels, as later ones have."""
PROGRAMS = ("net/lib/gro.c", "net/lib/csum.c", "net/lib/xdp_helper.c", "drivers/net/napi_id_helper.c", "drivers/net/so_txtime.c")
"""Programs of the tests in C, each of one file. Those that a generator writes are not built."""
BPF = ("net/lib/xdp_dummy.bpf.c", "net/lib/xdp_metadata.bpf.c", "net/lib/xdp_native.bpf.c")
"""Programs in BPF."""
BPF_PACKAGES = ("gcc-bpf", "libbpf-dev", "libc6-dev", "linux-libc-dev")
BPF_COMPILER = ("bpf-gcc", "-mcpu=v3", "-gbtf", "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu")


@dataclass(frozen=True)
class Selftests:
    """An initramfs with the tests; `programs`: their names."""

    path: Path
    sha256: str
    programs: tuple[str, ...]


def get(kernel: Kernel, image: Path) -> Selftests | str:
    """The tests of a kernel's source, with the DUT's user space `image`; made unless in the cache. Raises SetupError.

    A text: why there are none.
    """
    series = ".".join(re.findall(r"\d+", kernel.release)[:2])
    source = kernel_sources.debian(series).path
    if not (source / HOME / "lib/py/env.py").is_file():
        return f"the source of Linux {series} has no {HOME}/lib/py/env.py"
    release = archive.tools_release(kernel.release)
    tree = debs.tree(f"selftests-{release}", PACKAGES, release, f"fetching Python for the kernel's selftests (Debian {release})")
    entries = {f"{PLACE}/{name}": entry for name, entry in _entries(tree.directory)}
    for part in PARTS:
        for name, entry in _entries(source / part):
            entries[f"{PLACE}/{SOURCE}/{part}/{name}"] = entry
    for name, entry in _compiled(source, release):
        entries[f"{PLACE}/{SOURCE}/{name}"] = entry
    for name in ("dev", "proc", "sys", "run", "tmp", "var"):
        entries[f"{PLACE}/{name}"] = cpio.directory()
    entries[f"{PLACE}/usr/bin/sh"] = cpio.symlink("bash")
    entries[f"{PLACE}/usr/local/sbin/ethtool"] = cpio.file(ETHTOOL.encode(), 0o755)
    for name in ("bin", "lib", "lib64", "sbin"):
        entries[f"{PLACE}/{name}"] = cpio.symlink(f"usr/{name}")
    whole = image.read_bytes() + cpio.pack(entries)
    sha256 = hashlib.sha256(whole).hexdigest()
    path = cache_dir() / "images" / f"{sha256[:16]}.cpio"
    if not path.is_file():
        write_atomically(path, whole)
    further = tuple(name for name in FURTHER if (source / HOME / name).is_file())
    return Selftests(path, sha256, (*programs(source / HOME / "Makefile"), *further))


def programs(makefile: Path) -> tuple[str, ...]:
    """The tests that a Makefile of selftests names: its TEST_PROGS. Raises SetupError."""
    found = re.search(r"^TEST_PROGS\s*:?=((?:[^\n]*\\\n)*[^\n]*)", makefile.read_text(), re.MULTILINE)
    if found is None:
        raise SetupError(f"{makefile} names no TEST_PROGS")
    return tuple(word for word in found[1].split() if word.endswith((".py", ".sh")))


def _compiled(source: Path, release: str) -> Iterator[tuple[str, cpio.Entry]]:
    """The tests' programs, by their paths in the source. One that does not compile is left out: its tests say so."""
    root = buildroot.get(release)
    bpf = debs.tree(f"bpf-{release}", BPF_PACKAGES, release, f"fetching a compiler for BPF (Debian {release}, 20 MB)")
    words = (root.compiler, "-I/src/tools/include/uapi", "-idirafter", "/src/include/uapi")
    for name in PROGRAMS:
        if made := _made(source, name, root, (*words, "-o"), ""):
            yield f"{TESTS}/{name.removesuffix('.c')}", made
    for name in BPF:
        if made := _made(source, name, bpf, (*BPF_COMPILER, "-c", "-o"), ".o"):
            yield f"{TESTS}/{name.removesuffix('.c')}.o", made


def _made(source: Path, name: str, root: Root, compiler: tuple[str, ...], suffix: str) -> cpio.Entry | None:
    """What a compiler makes of a file, unless in the cache; None: there is no such file, or it does not compile."""
    home = cache_dir() / "tools" / f"selftests-{source.name}"
    home.mkdir(parents=True, exist_ok=True)
    file, made = source / TESTS / name, home / f"{Path(name).stem}{suffix}"
    if not made.is_file() and file.is_file():
        with tempfile.TemporaryDirectory(dir=home, prefix=".new-") as scratch:
            words = (*compiler, f"/out/{made.name}", "-O2", "-w", f"-I/src/{TESTS}", f"/src/{TESTS}/{name}")
            root.run(*words, readable={"/src": source}, writable={"/out": Path(scratch)})
            if (new := Path(scratch) / made.name).is_file():
                new.rename(made)
    return cpio.file(made.read_bytes(), 0o755) if made.is_file() else None


def _entries(tree: Path) -> Iterator[tuple[str, cpio.Entry]]:
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        if UNWANTED.search(name):
            continue
        if path.is_symlink():
            yield name, cpio.symlink(os.readlink(path))
        elif path.is_file():
            yield name, cpio.file(path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
