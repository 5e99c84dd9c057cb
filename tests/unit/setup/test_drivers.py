# SPDX-License-Identifier: GPL-2.0-or-later
"""Building our own drivers: sources found, builds, error messages. Uses a small source tree of its own."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from irqlab.setup import SetupError, drivers, kernel, modules
from irqlab.setup.paths import cache_dir
from tests.own_cache import own_cache

ENGINE = """
#include <linux/module.h>
int engine(void);
int engine(void) { WARN_ON_ONCE(jiffies == 5); return 0; }
EXPORT_SYMBOL_GPL(engine);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("engine");
"""
NIC = """
#include <linux/module.h>
#include "../irqmod/engine.h"
static int __init nic(void) { return engine(); }
module_init(nic);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("nic");
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """drivers/: an engine, a driver that needs it, and one that does not compile. Builds go to a cache of their own."""
    monkeypatch.setenv("IRQLAB_CACHE", str(own_cache(tmp_path, "drivers")))
    root = tmp_path / "drivers"
    for folder, name, text in (("irqmod", "engine", ENGINE), ("my-nic", "nic", NIC), ("broken", "wrong", "int x = ;\n")):
        (root / folder).mkdir(parents=True)
        (root / folder / f"{name}.c").write_text("// SPDX-License-Identifier: GPL-2.0-only\n" + text)
    (root / "irqmod/engine.h").write_text("int engine(void);\n")
    (root / "irqmod/Kbuild").write_text("obj-m += irqmod.o\nirqmod-y := engine.o\n")
    (root / "my-nic/Kbuild").write_text("obj-m := \\\n\tirqmod_nic.o # the only one\nirqmod_nic-y := nic.o\n")
    (root / "broken/Kbuild").write_text("obj-m += irqmod_wrong.o\nirqmod_wrong-y := wrong.o\n")
    (root / "Kbuild").write_text("subdir-ccflags-y := -DTOP\nobj-m += irqmod/ my-nic/ \\\n\tbroken/\n")
    monkeypatch.setattr(drivers, "home", lambda: root)
    return root


@pytest.fixture
def dut_kernel() -> kernel.Kernel:
    found = kernel.present()
    if found is None:
        pytest.skip("needs the DUT's kernel (make setup)")
    return found


def test_all_sources_are_found_with_the_engine_first(tree: Path) -> None:
    assert [source.module for source in drivers.sources()] == ["irqmod", "irqmod_nic", "irqmod_wrong"]
    found = drivers.find("irqmod-nic")
    assert found is not None
    assert found.directory == "my-nic"
    assert drivers.find("e100") is None


def test_each_driver_is_built_with_the_engine_only(tree: Path) -> None:
    files = drivers._files(drivers._folders(["irqmod_nic"], drivers.home()), drivers.home())
    assert sorted(files) == ["Kbuild", "irqmod/Kbuild", "irqmod/engine.c", "irqmod/engine.h", "my-nic/Kbuild", "my-nic/nic.c"]
    assert files["Kbuild"].decode().split("\n") == ["subdir-ccflags-y := -DTOP", "", "obj-m := irqmod/ my-nic/", ""]


def test_build_results_are_not_sources(tree: Path) -> None:
    before = drivers._files(["my-nic"], drivers.home())
    for name in ("irqmod_nic.mod.c", "nic.o", "irqmod_nic.ko", ".nic.o.cmd", "modules.order", "Module.symvers"):
        (tree / "my-nic" / name).write_text("x")
    assert drivers._files(["my-nic"], drivers.home()) == before


def test_without_sources_there_are_no_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "home", lambda: tmp_path / "nowhere")
    assert drivers.sources() == []
    with pytest.raises(SetupError, match="no drivers in"):
        drivers._folders((), drivers.home())


def test_an_unknown_driver_is_reported_with_the_known_ones(tree: Path) -> None:
    with pytest.raises(SetupError, match="no driver irqmod_nik; allowed are irqmod, irqmod_nic, irqmod_wrong"):
        drivers._folders(["irqmod_nik"], drivers.home())


def test_builds_are_cached_and_reproducible(tree: Path, dut_kernel: kernel.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = modules.load(dut_kernel, "irqmod_nic")
    assert [module.name for module in loaded] == ["irqmod", "irqmod_nic"]
    place = drivers.build(dut_kernel, "irqmod_nic")
    inode = place.stat().st_ino
    assert drivers.build(dut_kernel, "irqmod_nic").stat().st_ino == inode
    shutil.rmtree(place)
    assert [module.sha256 for module in modules.load(dut_kernel, "irqmod_nic")] == [module.sha256 for module in loaded]
    built: list[Path] = []
    monkeypatch.setattr(drivers, "_compile", lambda scratch, *_: built.append(scratch))
    assert drivers.build(dut_kernel, "irqmod_nic") == place
    assert not built
    (tree / "my-nic/nic.c").write_text((tree / "my-nic/nic.c").read_text() + "/* changed */\n")
    assert drivers.build(dut_kernel, "irqmod_nic") != place
    assert len(built) == 1


def test_a_failed_build_is_shown_and_leaves_no_files(tree: Path, dut_kernel: kernel.Kernel) -> None:
    with pytest.raises(SetupError) as error:
        drivers.build(dut_kernel)
    assert "drivers/broken/wrong.c:2:9: error: expected expression" in str(error.value)
    assert list((cache_dir() / "drivers").iterdir()) == []


def test_lint_finds_what_an_ordinary_build_tolerates(tree: Path, dut_kernel: kernel.Kernel) -> None:
    shutil.rmtree(tree / "broken")
    source = tree / "my-nic/nic.c"
    source.write_text(source.read_text().replace("return engine();", "int unused = 3; return engine();"))
    complaints = drivers.lint(dut_kernel)
    assert any("unused" in line for line in complaints)
    assert not any("engine.c" in line for line in complaints), "it has nothing to complain about"
    assert modules.load(dut_kernel, "irqmod_nic")


def test_a_build_ends_with_the_lab(tmp_path: Path) -> None:
    """A process in the build tree holds one end of a pipe: when all are gone, the other end is closed."""
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / "alive")
    code = (
        "import sys\nfrom pathlib import Path\nfrom irqlab.setup import buildroot\n"
        "buildroot.get('bookworm').run('sh', '-c', 'sleep 600 >/out/alive; true', writable={'/out': Path(sys.argv[1])})"
    )
    lab = [sys.executable, "-c", code, str(tmp_path / "out")]
    # The pipe opens when a process in the tree has opened its end.
    with subprocess.Popen(lab) as started, (tmp_path / "out" / "alive").open("rb") as alive:
        started.kill()
        ready, _, _ = select.select([alive], [], [], 20)
        assert ready, "a process is still there"
        assert alive.read() == b""
