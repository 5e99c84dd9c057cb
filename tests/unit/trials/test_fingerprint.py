# SPDX-License-Identifier: GPL-2.0-or-later
"""The hash of the lab's own code, on a copy of the package in which files are changed."""

from __future__ import annotations

import ast
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from irqlab.qemu import machine
from irqlab.trials import fingerprint, testbed
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.iperf import IperfTrial


@pytest.fixture(autouse=True)
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path / "irqlab"
    shutil.copytree(fingerprint.ROOT, home, ignore=shutil.ignore_patterns("__pycache__", "data"))
    monkeypatch.setattr(fingerprint, "ROOT", home)
    _forget()
    yield home
    _forget()


def _forget() -> None:
    fingerprint.code_fingerprint.cache_clear()
    fingerprint.imports.cache_clear()


def _changes(copy: Path, module: str, file: str, text: str = "\n# changed\n") -> bool:
    """Whether another text in `file` is another hash of `module`."""
    before = fingerprint.code_fingerprint(module)
    with (copy / file).open("a") as out:
        out.write(text)
    _forget()
    return fingerprint.code_fingerprint(module) != before


@pytest.mark.parametrize(
    "file",
    ["trials/testbed.py", "dut/router.py", "dut/schemes.py", "qemu/machine.py", "qemu/rpc.py", "config/testbed.py",
     "setup/guestimage.py", "dut/__init__.py", "errors.py"],
)  # fmt: skip
def test_what_prepares_a_dut_changes_the_key_of_its_snapshot(copy: Path, file: str) -> None:
    assert _changes(copy, testbed.__name__, file)


@pytest.mark.parametrize("file", ["cli/app.py", "methods/throughput.py", "report/__init__.py", "results/document.py"])
def test_what_only_asks_and_shows_does_not(copy: Path, file: str) -> None:
    assert not _changes(copy, testbed.__name__, file)
    assert not _changes(copy, ForwardingTrial.__module__, file)


def test_a_kind_of_trial_depends_on_its_own_module(copy: Path) -> None:
    assert _changes(copy, ForwardingTrial.__module__, "trials/forwarding.py")
    assert not _changes(copy, ForwardingTrial.__module__, "trials/iperf.py")
    assert _changes(copy, IperfTrial.__module__, "trials/peers.py")


def test_a_booted_dut_depends_on_the_machine_alone(copy: Path) -> None:
    assert _changes(copy, machine.__name__, "qemu/hmp.py")
    assert not _changes(copy, machine.__name__, "dut/router.py")


def test_an_import_inside_a_function_counts(copy: Path) -> None:
    (copy / "new.py").write_text("X = 1\n")
    assert _changes(copy, machine.__name__, "qemu/machine.py", "\ndef f():\n    from irqlab import new\n")
    assert _changes(copy, machine.__name__, "new.py")


def test_a_file_that_is_renamed_is_another(copy: Path) -> None:
    before = fingerprint.code_fingerprint(machine.__name__)
    (copy / "qemu" / "hmp.py").rename(copy / "qemu" / "hmq.py")
    path = copy / "qemu" / "machine.py"
    path.write_text(path.read_text().replace("qemu.hmp", "qemu.hmq"))
    for other in ("watchdog.py", "gdb.py"):
        path = copy / "qemu" / other
        path.write_text(path.read_text().replace("qemu.hmp", "qemu.hmq"))
    _forget()
    assert fingerprint.code_fingerprint(machine.__name__) != before


def test_the_public_api_is_not_part_of_it() -> None:
    found = fingerprint.closure(testbed.__name__)
    assert {"irqlab.trials", "irqlab.dut.router", "irqlab.errors"} <= found
    assert "irqlab" not in found


def test_an_unknown_module_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"irqlab\.nowhere"):
        fingerprint.code_fingerprint("irqlab.nowhere")


def test_threads_parse_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials run side by side, and Python 3.11.2 cannot parse in several threads."""
    parsing: list[int] = []
    most: list[int] = []

    def parse(text: str) -> ast.Module:
        parsing.append(1)
        time.sleep(0.01)
        most.append(len(parsing))
        parsing.pop()
        return ast.parse(text)

    monkeypatch.setattr(
        fingerprint, "ast", SimpleNamespace(parse=parse, walk=ast.walk, Import=ast.Import, ImportFrom=ast.ImportFrom)
    )
    names = ["irqlab.units", "irqlab.files", "irqlab.errors", "irqlab.lab"]
    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(fingerprint.imports, names))
    assert most == [1] * len(names)
