# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's headers, to build modules against: the installed ones, else Debian's packages, unpacked but not installed.

Debian splits them: linux-headers-RELEASE (configuration, Module.symvers), linux-headers-...-common (headers, Makefiles),
linux-kbuild-... (scripts, compiled). The first includes the second by an absolute path in /usr/src; links to the third are
relative. So the three are combined in a separate tree, and that path is changed.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import SetupError, debs
from irqlab.setup.kernel import Kernel
from irqlab.setup.paths import appearing, cache_dir, locked, sweep


@dataclass(frozen=True)
class Headers:
    """The directory to build a kernel's modules in (KDIR), and the compiler."""

    directory: Path
    compiler: str
    compiler_version: str
    """The first line of its --version."""


def of(kernel: Kernel) -> Headers:
    """The headers of a kernel; downloaded unless installed or in the cache."""
    directory = kernel.headers or _together(kernel)
    compiler = _compiler(directory)
    return Headers(directory, compiler, _version(compiler))


def _together(kernel: Kernel) -> Path:
    package = f"linux-headers-{kernel.release}"
    home = cache_dir() / "headers"
    made = home / f"{kernel.release}_{kernel.version.replace(':', '.')}"
    final = made / "usr/src" / package
    if final.is_dir():
        return final
    parts = sorted(name for name in debs.depends([package]) if re.match(r"linux-headers-.*-common(-rt)?$|linux-kbuild-", name))
    unpacked = debs.unpack([package, *parts])
    with locked("headers"):
        if not made.is_dir():
            home.mkdir(parents=True, exist_ok=True)
            sweep(home)
            with appearing(made) as scratch:
                for part in unpacked:
                    shutil.copytree(part, scratch, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("doc"))
                _point_into(scratch / "usr/src" / package / "Makefile", made)
    return final


def _point_into(makefile: Path, root: Path) -> None:
    try:
        text = makefile.read_text()
    except OSError as error:
        raise SetupError(f"{makefile.parent.name} has no Makefile: {error.strerror}") from None
    makefile.write_text(re.sub(r"^include /usr/src/", f"include {root}/usr/src/", text, flags=re.MULTILINE))


def _compiler(directory: Path) -> str:
    """The compiler that built the kernel (from .kernelvariables) if installed, else gcc."""
    try:
        text = (directory / ".kernelvariables").read_text()
    except OSError:
        text = ""
    match = re.search(r"\bgcc-\d+\b", text)
    if match and shutil.which(match[0]):
        return match[0]
    if shutil.which("gcc"):
        return "gcc"
    raise SetupError(f"no C compiler: install {match[0] if match else 'gcc'} (make setup)")


def _version(compiler: str) -> str:
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]
