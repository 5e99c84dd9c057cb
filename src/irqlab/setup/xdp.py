# SPDX-License-Identifier: GPL-2.0-or-later
"""xdp-bench, of Debian's xdp-tools, for a DUT: programs that drop, return or redirect frames in the driver."""

from collections.abc import Iterator
from pathlib import Path

from irqlab.setup import SetupError, archive, debs, guestimage

PROGRAM = "xdp-bench"
PLACE = "/tmp/xdp"
"""Where the program and its libraries are in the DUT."""
WITHOUT = ("libc.so", "libm.so", "ld-linux")
"""Libraries that every DUT has."""


def files(kernel_release: str) -> dict[str, bytes]:
    """The program and the libraries that a DUT lacks, by their paths in the DUT. Raises SetupError."""
    release = archive.tools_release(kernel_release)
    tree = debs.tree(f"xdp-{release}", ("xdp-tools",), release, f"fetching xdp-tools (Debian {release}, 1 MB)")
    program = tree.directory / "usr/sbin" / PROGRAM
    if not program.is_file():
        raise SetupError(f"xdp-tools of Debian {release} has no {PROGRAM}")
    return {f"{PLACE}/{path.name}": path.read_bytes() for path in (program, *_libraries(tree.directory, program))}


def _libraries(root: Path, program: Path) -> Iterator[Path]:
    waiting, seen = [program], set(WITHOUT)
    while waiting:
        for name in guestimage.needs(waiting.pop())[1]:
            if name in seen or name.startswith(WITHOUT):
                continue
            seen.add(name)
            found = next((path for place in guestimage.LIBRARY_DIRS if (path := root / place / name).exists()), None)
            if found is None:
                raise SetupError(f"no package that {PROGRAM} depends on has {name}")
            waiting.append(found)
            yield found
