# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own check of style, on our drivers: ``python -m irqlab.setup.checkpatch``.

Debian has checkpatch.pl in linux-source only. Its three files are kept in the cache; the source is not.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from irqlab.setup import SetupError, archive, debs, developing, drivers, linted
from irqlab.setup.paths import appearing, cache_dir, locked
from irqlab.setup.say import say

SERIES = "6.12"
"""That of Debian 13's kernel, so that the complaints stay the same for as long as its archive."""
FILES = ("checkpatch.pl", "const_structs.checkpatch", "spelling.txt")
"""In the kernel's scripts/. The first needs the others."""
IGNORED = {
    "CAMELCASE": "names of include/linux/usb/ch9.h, which checkpatch knows in a kernel's tree only",
    "CONSTANT_COMPARISON": "takes LINUX_VERSION_CODE for the constant",
    "LINUX_VERSION_CODE": "compat.h, for a tree of several kernels",
    "MACRO_ARG_UNUSED": "irqmod/instruments.h: without instruments a switch is a constant",
    "MACRO_ARG_REUSE": "arguments are variables, as of the kernel's own loops and attributes",
}
"""Complaints that are not made, and why."""


def check(paths: Sequence[Path], ignored: Iterable[str] = IGNORED) -> list[str]:
    """The complaints about these files, ``PATH:LINE: KIND:TYPE: TEXT``. Raises SetupError."""
    program, tree = _program(), developing.tree()
    options = ["--strict", "--no-tree", "--terse", "--show-types", "--no-summary"]
    if names := ",".join(ignored):
        options.append(f"--ignore={names}")
    parts: list[str | bytes] = ["checkpatch", *options]
    parts += [path.read_bytes() for path in map(program.with_name, FILES) if path.is_file()]

    def complaints(path: Path) -> list[str]:
        return linted.complaints([*parts, str(path.absolute()), path.read_bytes()], lambda: checked(path))

    def checked(path: Path) -> list[str]:
        here = {str(one): one for one in (program.parent, path.absolute().parent)}
        command = ("perl", str(program), *options, "-f", str(path.absolute()))
        done = tree.run(*command, readable=here, chdir="/tmp")  # it writes a file there
        if done.returncode not in (0, 1) or (done.returncode and not done.stdout):  # stderr: it has warnings of its own
            raise SetupError(f"checkpatch.pl fails: {done.stderr.strip()}")
        return done.stdout.splitlines()

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [line for lines in pool.map(complaints, paths) for line in lines]


def sources(root: Path) -> list[Path]:
    """The files to check: without those that a build makes, and without tests that run in user space."""
    return sorted(path for path in root.rglob("*.[ch]") if not path.name.endswith(".mod.c") and path.parent.name != "tests")


def _program() -> Path:
    """checkpatch.pl, in the cache; downloaded unless there."""
    home = cache_dir() / "checkpatch"
    final = home / SERIES
    with locked("checkpatch"):
        if not final.is_dir():
            home.mkdir(parents=True, exist_ok=True)
            say(f"fetching checkpatch.pl, in the source of Linux {SERIES} (150 MB)")
            with tempfile.TemporaryDirectory(prefix=".new-", dir=home) as scratch, appearing(final) as into:
                deb = debs.download(f"linux-source-{SERIES}", archive.of_release("trixie"), Path(scratch))
                _extract(deb, into)
    return final / FILES[0]


def _extract(deb: Path, into: Path) -> None:
    """Takes the files from the package. The archive in it is read once, and not written."""
    source = f"linux-source-{SERIES}"
    names = [f"{source}/scripts/{name}" for name in FILES]
    script = (
        f'dpkg-deb --fsys-tarfile "$1" | tar -x -O ./usr/src/{source}.tar.xz | xz -d -c -T0 |'
        ' tar -x -C "$2" --strip-components=2 "${@:3}"'
    )
    debs.in_base(script, deb, into, *names, failed=f"cannot unpack {deb.name}")


def main() -> int:
    """Prints the complaints; returns 1 if there are any."""
    complaints = check(sources(drivers.home()))
    print("\n".join(complaints) or "checkpatch: no complaints", file=sys.stderr if complaints else sys.stdout)
    return 1 if complaints else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as error:
        print(f"irqlab: {error}", file=sys.stderr)
        sys.exit(2)
