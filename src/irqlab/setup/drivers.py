# SPDX-License-Identifier: GPL-2.0-or-later
"""Our own drivers, built out of tree for a kernel: ``python -m irqlab.setup.drivers [--lint] [--kernel RELEASE] [MODULE...]``.

They are built in the cache, in a directory named by a hash of the sources, the kernel and the compiler, so that builds are
reused, and the same sources always give the same modules, on every host (buildroot.py). Each hardware driver is built with only
the engine, so that it does not depend on other drivers. The drivers are built with their instruments (``IRQMOD_INSTRUMENTS=y``),
the switches that the papers and the tests need; ``make -C drivers`` builds them without.
"""

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from irqlab.files import Scratch
from irqlab.project import project_dir
from irqlab.setup import SetupError, buildroot, headers, kernel, linted
from irqlab.setup.bootable import Kernel
from irqlab.setup.paths import appearing, cache_dir, locked, sweep

BUILD = "/build"
"""Where the sources are, in the build root."""
ENGINE = "irqmod"
"""The directory that every driver needs."""
DEBUG = ".debug"
"""Suffix of the file with a module's debugging information, in place of .ko."""
KEEP = 24
"""Number of builds kept in the cache."""

_RECIPE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
"""Part of the hash: this file determines how modules are built."""
_SOURCE = re.compile(r".*\.[chS]$|Kbuild$|Makefile$")
_MADE = re.compile(r".*\.mod\.c$|\.")
_OBJ_M = re.compile(r"^\s*obj-m\s*[:+]?=\s*(.*)$", re.MULTILINE)
_HARMLESS = re.compile(
    r"Skipping BTF generation|(?:the compiler|pahole version) differs from the one used to build the kernel"
    r"|You are using:|The kernel was built by:"
)

_LINT = ("W=1", "KBUILD_CHECKSRC=2", "CF=-D__typeof_unqual__=typeof '-D__builtin_strlen(s)=(sizeof(s)-1)'")
"""Arguments of make. KBUILD_CHECKSRC instead of C: with C, make asks a script whether sparse is new enough, and 7.3's headers
lack it. Debian 13's sparse, 0.6.4, does not know __typeof_unqual__, which those headers use, nor that a literal's length is
constant."""


@dataclass(frozen=True)
class Source:
    """One of our modules; ``directory`` is its folder in ``drivers/``."""

    module: str
    directory: str


def home() -> Path:
    """The drivers' sources. Other functions take a `root` to use another such directory, e.g. of an older revision."""
    return project_dir() / "drivers"


def sources(root: Path | None = None) -> list[Source]:
    """All our modules, the engine first."""
    found = [
        Source(word.removesuffix(".o").replace("-", "_"), directory.name)
        for directory in _directories(root or home())
        for word in _obj_m(directory)
        if word.endswith(".o")
    ]
    return sorted(found, key=lambda source: (source.directory != ENGINE, source.module))


def find(module: str, root: Path | None = None) -> Source | None:
    """The module of that name, if it is one of ours."""
    return next((source for source in sources(root) if source.module == module.replace("-", "_")), None)


def build(target: Kernel, *modules: str, root: Path | None = None) -> Path:
    """A directory with these modules (default: all) as ``FOLDER/MODULE.ko``; builds them if need be. Raises SetupError."""
    root = root or home()
    return build_files(target, _files(_folders(modules, root), root))


def build_files(target: Kernel, files: dict[str, bytes]) -> Path:
    """A directory with the modules of these sources, by path, with a Kbuild; builds them if need be. Raises SetupError."""
    made = headers.of(target)
    place = cache_dir() / "drivers"
    final = place / _key(target, made, files)
    if not final.is_dir():
        with locked("drivers"):
            if not final.is_dir():
                place.mkdir(parents=True, exist_ok=True)
                sweep(place)
                with appearing(final) as scratch:
                    _compile(scratch, made, files)
                    _strip(scratch, made)
                _forget_old(place)
    with contextlib.suppress(OSError):
        os.utime(final)
    return final


def lint(target: Kernel, instruments: bool = True) -> list[str]:
    """The warnings of a build of everything with W=1 and sparse; without `instruments` as a user makes it."""
    flags = _LINT if instruments else (*_LINT, "IRQMOD_INSTRUMENTS=")
    made, files = headers.of(target), _files(_folders((), home()), home())

    def check() -> list[str]:
        with Scratch() as scratch:
            said = _compile(scratch, made, files, flags)
        return [line for line in said if buildroot.COMPLAINT.search(line) and not _of_the_kernel(line)]

    sparse = (made.root.directory / "usr/bin/sparse").read_bytes()
    return linted.complaints(("drivers", _key(target, made, files), *flags, sparse), check)


def module_file(target: Kernel, source: Source, root: Path | None = None) -> Path:
    """The built file of a module."""
    path = build(target, source.module, root=root) / source.directory / f"{source.module}.ko"
    if not path.is_file():
        raise SetupError(f"building {source.directory} produced no {path.name}, only {_list(path.parent.glob('*.ko'))}")
    return path


def _directories(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def _obj_m(directory: Path) -> list[str]:
    for name in ("Kbuild", "Makefile"):
        try:
            text = (directory / name).read_text()
        except OSError:
            continue
        return [word for match in _OBJ_M.finditer(text.replace("\\\n", " ")) for word in match[1].partition("#")[0].split()]
    return []


def _folders(modules: Sequence[str], root: Path) -> list[str]:
    known = sources(root)
    if not known:
        raise SetupError(f"there are no drivers in {root}")
    wanted = []
    for name in modules or [source.module for source in known]:
        if (source := find(name, root)) is None:
            raise SetupError(f"{root} has no driver {name}; allowed are {', '.join(s.module for s in known)}")
        wanted.append(source.directory)
    engine = [ENGINE] if any(source.directory == ENGINE for source in known) else []
    return list(dict.fromkeys([*engine, *wanted]))


def _files(folders: Sequence[str], root: Path) -> dict[str, bytes]:
    """The files to build, by path: the sources in these folders of drivers/, shared headers, and a Kbuild for them."""
    paths = [path for folder in folders for path in sorted((root / folder).rglob("*"))] + sorted(root.glob("*.h"))
    wanted = [path for path in paths if path.is_file() and _SOURCE.match(path.name) and not _MADE.match(path.name)]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in wanted} | {"Kbuild": _top(folders, root).encode()}


def _top(folders: Sequence[str], root: Path) -> str:
    """drivers/Kbuild for some of its folders."""
    try:
        text = (root / "Kbuild").read_text().replace("\\\n", " ")
    except OSError:
        text = ""
    return _OBJ_M.sub("", text) + "obj-m := " + " ".join(f"{folder}/" for folder in folders) + "\n"


def _key(target: Kernel, made: headers.Headers, files: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for part in (target.release, target.version, target.sha256, made.directory, made.root.compiler_version, _RECIPE):
        digest.update(part.encode() + b"\0")
    for path, content in files.items():
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:24]


def _compile(scratch: Path, made: headers.Headers, files: dict[str, bytes], flags: Sequence[str] = ()) -> list[str]:
    """Writes the sources and runs kbuild on them; returns its stderr. Raises SetupError if it fails."""
    for name, content in files.items():
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    # Keep the build path out of the modules (WARN() and debug information contain file names). BTF would need
    # pahole, and is not needed.
    command = [
        *("make", "-C", made.directory, f"M={BUILD}", f"CC=ccache {made.root.compiler}", buildroot.jobs()),
        *(f"KCFLAGS=-ffile-prefix-map={BUILD}/=", "CONFIG_DEBUG_INFO_BTF_MODULES=", "IRQMOD_INSTRUMENTS=y", *flags),
        "modules",
    ]
    # The engine is built with each driver: it is compiled once.
    writable = {BUILD: scratch, **buildroot.ccache()}
    done = made.root.run(*command, writable=writable, readable=made.readable, environment=buildroot.CCACHE)
    said = [line.replace(f"{BUILD}/", "drivers/") for line in done.stderr.splitlines() if not _HARMLESS.search(line)]
    if done.returncode:
        raise SetupError(
            f"the drivers do not build against {made.directory} with {made.root.compiler_version}:\n{buildroot.shown(said)}"
        )
    return said


def _strip(scratch: Path, made: headers.Headers) -> None:
    """Moves debugging information to a file beside each module.

    Loading a module takes time by its size, and a comment must not move what is measured.
    """
    built = [f"{BUILD}/{path.relative_to(scratch)}" for path in sorted(scratch.rglob("*.ko"))]
    if not built:
        return
    for path in built:
        kept = path.removesuffix(".ko") + DEBUG
        done = made.root.run("objcopy", "--only-keep-debug", path, kept, writable={BUILD: scratch})
        if done.returncode:
            raise SetupError(f"objcopy fails: {done.stderr.strip()}")
    done = made.root.run("strip", "--strip-debug", *built, writable={BUILD: scratch})
    if done.returncode:
        raise SetupError(f"strip fails: {done.stderr.strip()}")


def _of_the_kernel(line: str) -> bool:
    """Whether a warning is about the kernel's own headers."""
    return bool(re.match(r"(?:\./|/usr/src/|/source/)\S*include/|include/|arch/", line))


def _forget_old(place: Path) -> None:
    there = sorted((path for path in place.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for path in there[:-KEEP]:
        shutil.rmtree(path, ignore_errors=True)


def _list(paths: Iterable[Path]) -> str:
    return ", ".join(sorted(path.name for path in paths)) or "nothing"


def main(arguments: Sequence[str]) -> int:
    """Builds, and prints where the modules are; returns 1 if `--lint` finds something."""
    parser = argparse.ArgumentParser(prog="irqlab.setup.drivers", description="Builds irqlab's own drivers.")
    parser.add_argument("--lint", action="store_true", help="build with W=1 and sparse; print only warnings")
    parser.add_argument("--no-instruments", action="store_true", help="with --lint: as a user builds them")
    parser.add_argument("--kernel", help="as for irqlab; default: the one make setup chose")
    parser.add_argument("module", nargs="*", help="default: all")
    given = parser.parse_args(arguments)
    if given.no_instruments and not given.lint:
        parser.error("--no-instruments: only with --lint")
    target = kernel.resolve(given.kernel)
    if not sources():
        print(f"there are no drivers in {home()} yet")
        return 0
    if given.lint:
        complaints = lint(target, instruments=not given.no_instruments)
        print("\n".join(complaints) or f"drivers: no warnings ({target.release})", file=sys.stderr if complaints else sys.stdout)
        return 1 if complaints else 0
    directory = build(target, *given.module)
    for path in sorted(directory.rglob("*.ko")):
        print(path)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SetupError as error:
        print(f"irqlab: {error}", file=sys.stderr)
        sys.exit(2)
