# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels built from source.

- ``tree:PATH``: a source tree as it is, with what is not committed;
- ``tree:PATH@REVISION``: a revision of it (git);
- ``source:6.12``: Debian's source package;
- ``build:PATH``: a tree, or an object directory, that is built already; it is used as it is.

Object files are kept in the cache, one directory for each tree and configuration, so only what changed is built again. What was
built is kept under the hash of its content, so trials can go on while the tree is built again.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from irqlab.setup import SetupError, archive, buildroot, kernel_sources
from irqlab.setup.bootable import Built, Kernel
from irqlab.setup.buildroot import BuildRoot
from irqlab.setup.kernel_sources import Source
from irqlab.setup.paths import cache_dir, locked
from irqlab.setup.say import say

FRAGMENTS = Path(__file__).parent / "kconfig"
BASE = "dut"
DEBUG = {
    "kasan": "KASAN",
    "lockdep": "PROVE_LOCKING",
    "dma": "DMA_API_DEBUG",
    "kcsan": "KCSAN",
    "kmemleak": "DEBUG_KMEMLEAK",
    "faults": "FAULT_INJECTION",
    "rt": "PREEMPT_RT",
}
"""What ``--debug`` allows, and the option without which it means nothing."""
MAKE_VARIABLES = {
    "kcsan": (
        "CFLAGS_KCSAN=$(if $(filter drivers/net%,$(obj)),-fsanitize=thread -fno-optimize-sibling-calls"
        " --param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0 -Wno-tsan)"
    ),
}
"""What ``--debug`` adds to make's command line.

- KCSAN watches one access in some hundreds or thousands, wherever it is. In a kernel that is instrumented as a whole, few of
  those are the driver's. So only the NIC drivers are: those of the tree here, ours when they are built. The flags are those of
  scripts/Makefile.kcsan for gcc.
"""
EXCLUSIVE = (("kasan", "kcsan"),)
KEEP = 16
"""Number of built kernels kept in the cache."""
ENVIRONMENT = {
    "KBUILD_BUILD_TIMESTAMP": "2020-01-01",
    "KBUILD_BUILD_USER": "irqlab",
    "KBUILD_BUILD_HOST": "irqlab",
    "KBUILD_BUILD_VERSION": "1",
    **buildroot.CCACHE,
    "KCONFIG_ALLCONFIG": "/objects/all.config",
}
"""The same tree gives the same kernel."""
_INTO_OUT = ("INSTALL_MOD_PATH=/out", "INSTALL_MOD_STRIP=1", "DEPMOD=/bin/true")


@dataclass(frozen=True)
class Options:
    """How a kernel is configured: files with ``CONFIG_`` lines, and names of `DEBUG`."""

    kconfig: tuple[str, ...] = ()
    debug: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises SetupError for what is not allowed."""
        for name in self.debug:
            if name not in DEBUG:
                raise SetupError(f"--debug: no such option {name}; allowed are {', '.join(DEBUG)}")
        for pair in EXCLUSIVE:
            if set(pair) <= set(self.debug):
                raise SetupError(f"--debug: {' and '.join(pair)} exclude each other")
        for path in self.kconfig:
            if not Path(path).is_file():
                raise SetupError(f"--kconfig {path}: no such file")

    @property
    def fragments(self) -> list[Path]:
        """The files with the configuration, in the order in which they are applied."""
        ours = [FRAGMENTS / f"{name}.config" for name in (BASE, *self.debug)]
        return [*ours, *(Path(path) for path in self.kconfig)]

    @property
    def make_variables(self) -> list[str]:
        """What they add to make's command line."""
        return [MAKE_VARIABLES[name] for name in self.debug if name in MAKE_VARIABLES]

    def label(self, spec: str) -> str:
        """A specification with these options, for result documents."""
        return " ".join([spec, *(f"--debug {name}" for name in self.debug), *(f"--kconfig {path}" for path in self.kconfig)])


def is_spec(spec: str) -> bool:
    """Whether a ``--kernel`` option names a source tree or a build."""
    return spec.startswith((*kernel_sources.PREFIXES, "build:"))


@cache
def resolve(spec: str, options: Options) -> Kernel:
    """The kernel; once in a process, built unless that was done before. Raises SetupError with the compiler's complaints."""
    if spec.startswith("build:"):
        if options != Options():
            raise SetupError(f"{spec} is built already: --debug and --kconfig have no effect on it")
        return _as_built(spec)
    with kernel_sources.held(spec) as source:
        root = buildroot.get(archive.tools_release(source.series))
        text = "".join(path.read_text() for path in options.fragments)
        parts = (source.identity, text, root.compiler_version, *options.make_variables)
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        objects = cache_dir() / "kernels/objects" / key
        objects.mkdir(parents=True, exist_ok=True)
        with locked(f"objects-{key}"):
            built = _Build(root, source, objects, tuple(options.make_variables))
            built.configure(text, options)
            final = built.make()
    where = Built(root, "/objects", {"/objects": objects, "/source": source.path})
    version = source.revision[:12] or source.series
    return _installed(final, options.label(spec), version, where)


@dataclass(frozen=True)
class _Build:
    """A build of a source tree in an object directory."""

    root: BuildRoot
    source: Source
    objects: Path
    variables: tuple[str, ...] = ()

    def configure(self, text: str, options: Options) -> None:
        """Makes .config from the fragments' text. Raises SetupError if the kernel does not have what was asked for."""
        (self.objects / "all.config").write_text(text)
        self._run("-s", "allnoconfig")
        have = set(re.findall(r"^CONFIG_\w+=.*$", (self.objects / ".config").read_text(), re.MULTILINE))
        for name in options.debug:
            if f"CONFIG_{DEBUG[name]}=y" not in have:
                raise SetupError(f"--debug {name}: Linux {self.source.series} has no {DEBUG[name]} in this configuration")
        asked = [line for path in options.kconfig for line in re.findall(r"^CONFIG_\w+=[^n\n].*$", Path(path).read_text(), re.M)]
        if missing := [line for line in asked if line not in have]:
            raise SetupError(
                f"--kconfig: Linux {self.source.series} does not take {', '.join(missing)}: unknown, or it depends on what is off"
            )

    def make(self) -> Path:
        """The directory with the built kernel."""
        begun = time.monotonic()
        say(f"building Linux {self.source.series} from {self.source.path} (minutes, if nothing of it was built before)")
        self._run("-s", "vmlinux", "modules", *(["bzImage"] if self._needs_bzimage else []))
        scratch = _scratch(self.objects.name)
        self._run("-s", "modules_install", *_INTO_OUT, more={"/out": scratch})
        _install(self.root, self.objects, scratch, self._needs_bzimage)
        final = _kept(scratch)
        say(f"built in {time.monotonic() - begun:.0f} s")
        return final

    @property
    def _needs_bzimage(self) -> bool:
        return "\nCONFIG_KASAN=y\n" in (self.objects / ".config").read_text()

    def _run(self, *targets: str, more: Mapping[str, Path] | None = None) -> None:
        done = self.root.run(
            *(
                "make",
                "-C",
                "/source",
                "O=/objects",
                f"CC=ccache {self.root.compiler}",
                "LOCALVERSION=",
                buildroot.jobs(),
                *self.variables,
                *targets,
            ),
            writable={"/objects": self.objects, **buildroot.ccache(), **(more or {})},
            readable={"/source": self.source.path},
            environment=ENVIRONMENT,
        )
        if done.returncode:
            said = [line.replace("/source/", "").replace("../", "") for line in done.stderr.splitlines()]
            raise SetupError(f"{self.source.path} does not build with {self.root.compiler_version}:\n{buildroot.shown(said)}")


def _as_built(spec: str) -> Kernel:
    tree = Path(spec.removeprefix("build:")).expanduser().resolve()
    for name in ("vmlinux", "include/config/kernel.release", "Module.symvers", ".config"):
        if not (tree / name).is_file():
            raise SetupError(f"{tree} is not a kernel that was built: it has no {name}")
    text = re.search(r'^CONFIG_CC_VERSION_TEXT="(\S+)', (tree / ".config").read_text(), re.MULTILINE)
    root = BuildRoot(Path("/"), text[1] if text else "gcc", text[0] if text else "")
    directories = {str(path): path for path in (tree, (tree / "source").resolve()) if path.is_dir()}
    with locked(kernel_sources.lock_name(str(tree))):
        scratch = _scratch(hashlib.sha256(str(tree).encode()).hexdigest()[:16])
        command = ("make", "-s", "-C", str(tree), "modules_install", *_INTO_OUT)
        done = root.run(*command, writable={"/out": scratch}, readable=directories)
        if done.returncode:
            raise SetupError(f"{tree}: make modules_install fails:\n{buildroot.shown(done.stderr.splitlines())}")
        _install(root, tree, scratch, bzimage=False)
        final = _kept(scratch)
    return _installed(final, spec, "built by the user", Built(root, str(tree), directories))


def _scratch(name: str) -> Path:
    """An empty directory for what becomes a built kernel. The caller holds the lock of what `name` stands for."""
    scratch = cache_dir() / "kernels/built" / f".new-{name}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    return scratch


def _kept(scratch: Path) -> Path:
    """Moves a built kernel to where it is kept, by its content."""
    home = scratch.parent
    final = home / _content_hash(scratch)
    with locked("built"):
        if final.is_dir():
            shutil.rmtree(scratch)
        else:
            scratch.rename(final)
        os.utime(final)
        _forget_old(home)
    return final


def _install(root: BuildRoot, objects: Path, into: Path, bzimage: bool) -> None:
    """Adds the kernel itself to what modules_install wrote."""
    if bzimage:
        shutil.copyfile(objects / "arch/x86/boot/bzImage", into / "bzImage")
    else:
        command = ("objcopy", "-S", "/objects/vmlinux", "/out/vmlinux")
        done = root.run(*command, writable={"/out": into}, readable={"/objects": objects})
        if done.returncode:
            raise SetupError(f"objcopy fails: {done.stderr.strip()}")
    shutil.copyfile(objects / ".config", into / "config")
    for link in (*into.glob("lib/modules/*/build"), *into.glob("lib/modules/*/source")):
        link.unlink()


def _installed(directory: Path, package: str, version: str, where: Built) -> Kernel:
    modules = next((path for path in directory.glob("lib/modules/*") if path.is_dir()), None)
    if modules is None:
        raise SetupError(f"{package} has no modules: the drivers under test must be modules (CONFIG_MODULES, =m)")
    image = directory / "bzImage"
    vmlinux = image if image.is_file() else directory / "vmlinux"
    return Kernel(
        release=modules.name,
        package=package,
        version=version,
        vmlinux=vmlinux,
        modules=modules,
        config=directory / "config",
        sha256=hashlib.sha256(vmlinux.read_bytes()).hexdigest(),
        built=where,
    )


def _content_hash(directory: Path) -> str:
    digest = hashlib.sha256()
    for path in _files(directory):
        digest.update(f"{path.relative_to(directory)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:24]


def _files(directory: Path) -> Iterable[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _forget_old(home: Path) -> None:
    there = sorted(
        (path for path in home.iterdir() if path.is_dir() and not path.name.startswith(".")),
        key=lambda path: path.stat().st_mtime,
    )
    for path in there[:-KEEP]:
        shutil.rmtree(path, ignore_errors=True)


def debug_names(text: str) -> tuple[str, ...]:
    """The names in ``--debug``'s value, separated by commas."""
    names: Sequence[str] = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(sorted(dict.fromkeys(names)))
