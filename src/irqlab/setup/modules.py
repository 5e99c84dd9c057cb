# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel module files: their metadata, location, and load order.

A module has its metadata in the ELF section .modinfo: strings ``key=value``, each terminated by a NUL
(include/linux/moduleparam.h, __MODULE_INFO; scripts/mod/modpost.c adds vermagic, depends and alias).
"""

import difflib
import hashlib
import io
import lzma
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from irqlab.setup import SetupError, drivers, older_drivers
from irqlab.setup.bootable import Kernel
from irqlab.setup.bzimage import unzstd

SUFFIXES = (".ko", ".ko.xz", ".ko.zst")
NETWORK = "kernel/drivers/net"
"""Where a kernel's network drivers are, below its modules."""
ANY_MODULE_HAS = {"async_probe", "dyndbg"}
"""Parameters of the kernel's own (kernel/module/main.c)."""
OURS = "irqmod:"
"""Begins the aliases of our drivers, which udev must not load (IRQMOD_DRIVES in drivers/irqmod/irqmod.h)."""


@dataclass(frozen=True)
class Module:
    """A module, uncompressed; ``sha256`` is that of ``data``, ``parameters`` maps names to descriptions."""

    name: str
    path: Path
    data: bytes = field(repr=False)
    sha256: str
    vermagic: str
    depends: tuple[str, ...]
    aliases: tuple[str, ...] = field(repr=False)
    parameters: dict[str, str] = field(repr=False, hash=False)
    before: tuple[str, ...] = ()
    """Modules to load before it if they exist (MODULE_SOFTDEP "pre:")."""


def load(kernel: Kernel, name_or_path: str | Path) -> list[Module]:
    """A driver and its dependencies, in load order; the driver is last.

    A driver is given by name (in-tree, or one of ours or of an older kernel, which is then built) or as a file, which must have
    been built for this kernel. A file's dependencies are searched for beside it, then in ``../NAME/NAME.ko``, then in the
    kernel's tree.
    """
    text = os.fspath(name_or_path)
    is_file = "/" in text or text.endswith(SUFFIXES)
    if not is_file and _normal(text) not in _tree(kernel.modules):
        if ours := drivers.find(text):
            text, is_file = str(drivers.module_file(kernel, ours)), True
        elif older := older_drivers.find(text):
            text, is_file = str(older_drivers.module_file(kernel, older)), True
    if is_file:
        driver, beside = read(Path(text)), Path(text).resolve().parent
        _must_fit(driver, kernel)
    else:
        driver, beside = _of_kernel(kernel, text), None
    order: dict[str, Module] = {}
    _collect(kernel, driver, beside, order, ())
    return list(order.values())


def load_all(kernel: Kernel, wanted: Iterable[str]) -> list[Module]:
    """Modules by name, as `load` finds them, and their dependencies, in load order, without built-in ones."""
    order: dict[str, Module] = {}
    for name in wanted:
        if _normal(name) not in _builtin(kernel.modules):
            order |= {module.name: module for module in load(kernel, name) if module.name not in order}
    return list(order.values())


def read(path: Path) -> Module:
    """Reads a module file."""
    try:
        data = _unpack(path.read_bytes(), path)
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None
    info = _modinfo(data, path)
    name = _normal(info.get("name", [path.name.split(".")[0]])[0])
    described = dict(text.partition(":")[::2] for text in info.get("parm", []))
    types = dict(text.partition(":")[::2] for text in info.get("parmtype", []))
    return Module(
        name=name,
        path=path,
        data=data,
        sha256=hashlib.sha256(data).hexdigest(),
        vermagic=info.get("vermagic", [""])[0].strip(),
        depends=tuple(_normal(depend) for depend in ",".join(info.get("depends", [])).split(",") if depend),
        aliases=tuple(alias.removeprefix(OURS) for alias in info.get("alias", [])),
        parameters={key: described.get(key, "") for key in sorted(described | types)},
        before=tuple(_normal(word) for text in info.get("softdep", []) for word in _pre(text)),
    )


def check_parameters(module: Module, text: str) -> None:
    """Raises SetupError for a parameter that the module does not have, which the kernel would ignore. `text`: as for insmod."""
    allowed = {_normal(name) for name in module.parameters}
    for word in re.findall(r'(?:[^\s"]|"[^"]*"?)+', text):
        name = _normal(word.strip('"').partition("=")[0])
        if name not in allowed | ANY_MODULE_HAS:
            what = f"allowed are {', '.join(sorted(allowed))}" if allowed else "it has none"
            raise SetupError(f"--module-parameters {word}: {module.name} has no parameter {name}; {what}")


def names(kernel: Kernel) -> list[str]:
    """Every module of a kernel."""
    return sorted(_tree(kernel.modules))


def vermagic(kernel: Kernel) -> str:
    """The vermagic that modules must have, read from an in-tree module."""
    return read(_tree(kernel.modules)[names(kernel)[0]]).vermagic


def _collect(kernel: Kernel, module: Module, beside: Path | None, order: dict[str, Module], above: tuple[str, ...]) -> None:
    if module.name in order:
        return
    if module.name in above:
        raise SetupError(f"circular dependency of modules: {' -> '.join((*above, module.name))}")
    for name in (*module.before, *module.depends):
        if name in _builtin(kernel.modules) or name in order:
            continue
        if (found := _find(kernel, name, beside)) is not None:
            _collect(kernel, found, beside, order, (*above, module.name))
        elif name in module.depends:
            raise SetupError(
                f"{module.name} needs the module {name}, which is neither in kernel {kernel.release} nor beside {module.path}"
            )
    order[module.name] = module


def _find(kernel: Kernel, name: str, beside: Path | None) -> Module | None:
    for directory in (beside, beside.parent / name) if beside else ():
        for path in _modules_in(directory):
            if _stem(path) == name:
                module = read(path)
                _must_fit(module, kernel)
                return module
    path_in_tree = _tree(kernel.modules).get(name)
    return read(path_in_tree) if path_in_tree else None


def _of_kernel(kernel: Kernel, text: str) -> Module:
    name, tree = _normal(text), _tree(kernel.modules)
    if name in tree:
        return read(tree[name])
    if name in _builtin(kernel.modules):
        raise SetupError(f"{text} is built into kernel {kernel.release}: it can be neither loaded nor replaced")
    ours = [*(source.module for source in drivers.sources()), *(driver.module for driver in older_drivers.ALL)]
    nics = [module for module, path in tree.items() if path.is_relative_to(kernel.modules / NETWORK)]
    like = difflib.get_close_matches(name, [*nics, *ours], n=3)
    hint = f" (did you mean {' or '.join(like)}?)" if like else ""
    raise SetupError(f"kernel {kernel.release} has no module {text}{hint}; to use your own module, give its path: ./{name}.ko")


def _must_fit(module: Module, kernel: Kernel) -> None:
    wanted = vermagic(kernel)
    if module.vermagic != wanted:
        raise SetupError(
            f"{module.path} was built for another kernel\n"
            f"  the module: {module.vermagic or '(it does not say)'}\n"
            f"  the kernel: {wanted}\n"
            f"build it against linux-headers-{kernel.release}, or choose its kernel with --kernel"
        )


@cache
def _tree(modules: Path) -> dict[str, Path]:
    found = {_stem(path): path for top, _, _ in os.walk(modules / "kernel") for path in _modules_in(Path(top))}
    if not found:
        raise SetupError(f"{modules} has no modules")
    return found


@cache
def _builtin(modules: Path) -> frozenset[str]:
    try:
        return frozenset(_stem(Path(line)) for line in (modules / "modules.builtin").read_text().split())
    except OSError:
        return frozenset()


def _modules_in(directory: Path) -> Iterator[Path]:
    if directory.is_dir():
        yield from sorted(path for path in directory.iterdir() if path.name.endswith(SUFFIXES))


def _stem(path: Path) -> str:
    return _normal(path.name.split(".")[0])


def _normal(name: str) -> str:
    """A module's name with dashes replaced by underscores; they are equivalent."""
    return name.strip().replace("-", "_")


def _pre(softdep: str) -> Iterator[str]:
    section = ""
    for word in softdep.split():
        if word.endswith(":"):
            section = word
        elif section == "pre:":
            yield word


def _unpack(data: bytes, path: Path) -> bytes:
    try:
        if data.startswith(b"\xfd7zXZ\0"):
            return lzma.decompress(data)
        return unzstd(data) if data.startswith(b"\x28\xb5\x2f\xfd") else data
    except (lzma.LZMAError, SetupError) as error:
        raise SetupError(f"{path}: {error}") from error


def _modinfo(data: bytes, path: Path) -> dict[str, list[str]]:
    try:
        elf = ELFFile(io.BytesIO(data))
        machine, kind, section = elf["e_machine"], elf["e_type"], elf.get_section_by_name(".modinfo")
        content: bytes = section.data() if section is not None else b""
    except (ELFError, ValueError, AssertionError):
        raise SetupError(f"{path} is not a kernel module (not an ELF file)") from None
    if (machine, kind) != ("EM_X86_64", "ET_REL"):
        raise SetupError(f"{path} is not a kernel module for x86-64 ({kind}, {machine})")
    if not content:
        raise SetupError(f"{path} is an object file, but not a kernel module (it has no .modinfo section)")
    info: dict[str, list[str]] = {}
    for text in content.decode(errors="replace").split("\0"):
        key, equals, value = text.partition("=")
        if equals:
            info.setdefault(key, []).append(value)
    return info
