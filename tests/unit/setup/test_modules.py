# SPDX-License-Identifier: GPL-2.0-or-later
import lzma
import struct
import subprocess
from pathlib import Path

import pytest

from irqlab.setup import SetupError, modules, roots
from irqlab.setup.bootable import Kernel

MAGIC = "6.1.0-1-amd64 SMP preempt mod_unload modversions "
X86_64, AARCH64, RELOCATABLE, EXECUTABLE = 62, 183, 1, 2


def ko(*info: str, machine: int = X86_64, kind: int = RELOCATABLE) -> bytes:
    """An ELF file with the sections .modinfo and .shstrtab."""
    modinfo = b"".join(text.encode() + b"\0" for text in info)
    names = b"\0.modinfo\0.shstrtab\0"
    modinfo_at, names_at = 64, 64 + len(modinfo)
    table_at = names_at + len(names)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 0, table_at, 0, 64, 0, 0, 64, 3, 2)

    def section(name: int, kind: int, at: int, size: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 1, 0)

    sections = bytes(64) + section(1, 1, modinfo_at, len(modinfo)) + section(10, 3, names_at, len(names))
    return header + modinfo + names + sections


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    tree = tmp_path / "lib/modules/6.1.0-1-amd64"
    net = tree / "kernel/drivers/net"
    net.mkdir(parents=True)

    def add(name: str, *info: str) -> bytes:
        return ko(f"name={name.replace('-', '_')}", f"vermagic={MAGIC}", *info)

    (net / "mii.ko").write_bytes(add("mii", "depends="))
    (net / "8139cp.ko").write_bytes(
        add(
            "8139cp",
            "depends=mii,crc32",
            "alias=pci:v000010ECd00008139sv*sd*bc*sc*i*",
            "alias=pci:v00000357d0000000Asv*sd*bc*sc*i*",
            "parm=debug:8139cp: bitmapped message enable number",
            "parmtype=debug:int",
            "parmtype=bare:bool",
        )
    )
    (net / "ne2k-pci.ko.xz").write_bytes(lzma.compress(add("ne2k-pci", "depends=")))
    (net / "soft.ko").write_bytes(add("soft", "depends=mii", "softdep=pre: ne2k-pci absent post: 8139cp"))
    (net / "lost.ko").write_bytes(add("lost", "depends=nowhere"))
    (net / "ring_a.ko").write_bytes(add("ring_a", "depends=ring_b"))
    (net / "ring_b.ko").write_bytes(add("ring_b", "depends=ring_a"))
    media = tree / "kernel/drivers/media"
    media.mkdir()
    (media / "ngene.ko").write_bytes(add("ngene", "depends="))
    (tree / "modules.builtin").write_text("kernel/lib/crc32.ko\nkernel/drivers/net/built-in-nic.ko\n")
    return Kernel("6.1.0-1-amd64", "linux-image-6.1.0-1-amd64", "6.1.1-1", tmp_path, tree, tmp_path, "")


def names(found: list[modules.Module]) -> list[str]:
    return [module.name for module in found]


def test_dependencies_come_first_and_builtin_modules_are_omitted(kernel: Kernel) -> None:
    found = modules.load(kernel, "8139cp")
    assert names(found) == ["mii", "8139cp"]
    driver = found[-1]
    assert driver.aliases[0] == "pci:v000010ECd00008139sv*sd*bc*sc*i*"
    assert driver.depends == ("mii", "crc32")
    assert driver.parameters == {"debug": "8139cp: bitmapped message enable number", "bare": ""}
    assert driver.vermagic == MAGIC.strip()


@pytest.mark.parametrize("name", ["ne2k-pci", "ne2k_pci"])
def test_dashes_are_underscores_and_xz_is_unpacked(kernel: Kernel, name: str) -> None:
    (driver,) = modules.load(kernel, name)
    assert driver.name == "ne2k_pci"
    assert driver.data.startswith(b"\x7fELF")


def test_modules_needed_without_a_declared_dependency_are_loaded(kernel: Kernel) -> None:
    assert names(modules.load_all(kernel, ["crc32", "8139cp", "mii"])) == ["mii", "8139cp"]


def test_zstd_is_unpacked(kernel: Kernel, tmp_path: Path) -> None:
    plain = ko("name=mine", f"vermagic={MAGIC}")
    path = tmp_path / "mine.ko.zst"
    path.write_bytes(subprocess.run(roots.base().command("zstd", "-q"), input=plain, capture_output=True, check=True).stdout)
    (driver,) = modules.load(kernel, path)
    assert driver.data == plain


def test_soft_dependencies_come_first_if_they_are_there(kernel: Kernel) -> None:
    assert names(modules.load(kernel, "soft")) == ["ne2k_pci", "mii", "soft"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("8139cq", "no module 8139cq.*did you mean 8139cp"),
        ("ngen", r"no module ngen; to use"),
        ("built_in_nic", "built into kernel 6.1.0-1-amd64"),
        ("lost", "lost needs the module nowhere"),
        ("ring_a", "ring_a -> ring_b -> ring_a"),
    ],
)
def test_modules_that_cannot_be_loaded_are_explained(kernel: Kernel, name: str, complaint: str) -> None:
    with pytest.raises(SetupError, match=complaint):
        modules.load(kernel, name)


def test_dependencies_of_a_file_are_found_beside_it_and_in_the_directory_of_its_name(kernel: Kernel, tmp_path: Path) -> None:
    for place, name, depends in [("nic", "nic", "engine,helper,mii"), ("nic", "helper", ""), ("engine", "engine", "")]:
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / f"{name}.ko").write_bytes(ko(f"name={name}", f"vermagic={MAGIC}", f"depends={depends}"))
    assert names(modules.load(kernel, tmp_path / "nic/nic.ko")) == ["engine", "helper", "mii", "nic"]


def test_a_module_for_another_kernel_is_refused_naming_both(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "mine.ko"
    path.write_bytes(ko("name=mine", "vermagic=6.12.1 SMP mod_unload "))
    with pytest.raises(SetupError) as error:
        modules.load(kernel, path)
    for text in (str(path), "6.12.1 SMP mod_unload", MAGIC.strip(), "linux-headers-6.1.0-1-amd64"):
        assert text in str(error.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not an ELF file"),
        (b"#!/bin/sh\n", "not an ELF file"),
        (ko("name=mine")[:80], "not an ELF file"),
        (ko("name=mine", machine=AARCH64), "not a kernel module for x86-64"),
        (ko("name=mine", kind=EXECUTABLE), "not a kernel module for x86-64"),
        (ko(), "no .modinfo"),
        (lzma.compress(b"x")[:-4], "mine.ko"),
    ],
)
def test_files_that_are_not_modules_are_rejected(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "mine.ko"
    path.write_bytes(content)
    with pytest.raises(SetupError, match=complaint):
        modules.read(path)


def test_a_missing_file_is_reported(kernel: Kernel) -> None:
    with pytest.raises(SetupError, match=r"mine\.ko: No such file"):
        modules.load(kernel, "./mine.ko")


@pytest.mark.parametrize("text", ["", "debug=3", "debug=3 bare", ' debug="a b"  bare=Y', "dyndbg=+p async_probe", '"debug=1 2"'])
def test_parameters_that_the_module_has(kernel: Kernel, text: str) -> None:
    modules.check_parameters(modules.load(kernel, "8139cp")[-1], text)


@pytest.mark.parametrize(
    ("driver", "text", "expected"),
    [
        ("8139cp", "foo=1", "--module-parameters foo=1: 8139cp has no parameter foo; allowed are bare, debug"),
        ("8139cp", 'debug="foo" bar', "--module-parameters bar: 8139cp has no parameter bar; allowed are bare, debug"),
        ("mii", "foo", "--module-parameters foo: mii has no parameter foo; it has none"),
    ],
)
def test_a_parameter_that_the_module_has_not_is_named(kernel: Kernel, driver: str, text: str, expected: str) -> None:
    with pytest.raises(SetupError, match=f"^{expected}$"):
        modules.check_parameters(modules.load(kernel, driver)[-1], text)
