# SPDX-License-Identifier: GPL-2.0-or-later
"""The list of commands: every command named in the documentation is there, and the list is shown without importing them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from irqlab.cli.app import app
from irqlab.cli.commands import PANELS, entries
from irqlab.methods import catalogue, declared
from irqlab.panels import RARE
from irqlab.setup import paths


def named() -> list[str]:
    """The commands in README, Makefile and docs."""
    root = paths.project_dir()
    files = [
        root / "README.md",
        root / "Makefile",
        *sorted((root / "docs").rglob("*.md")),
        *sorted((root / "drivers").rglob("*.md")),
    ]
    return sorted({name for file in files for name in re.findall(r"\./irqlab +([a-z]+)\b", file.read_text())})


def test_there_are_some() -> None:
    assert {"demo", "shell", "tap", "throughput", "reproduce"} <= set(named())


@pytest.mark.parametrize("name", sorted({*named(), *entries()}))
def test_a_command_that_is_documented_is_there(name: str) -> None:
    found = CliRunner().invoke(app, [name, "--help"])
    assert found.exit_code == 0, found.output
    assert "Usage" in found.output


def test_methods_say_the_same_before_they_are_imported() -> None:
    found = [(m.name, m.place, m.help, m.panel) for m in catalogue.methods().values() if m.run is not None]
    assert [(one.name, one.place, one.help, one.panel) for one in declared.declared()] == found
    assert {one.panel for one in declared.declared()} - {""} <= set(PANELS)


def test_the_list_of_commands_imports_none() -> None:
    code = "import sys; from irqlab.cli.app import app; app(['--help'], standalone_mode=False); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown, modules = done.stdout.rsplit("\n", 2)[0], done.stdout.rsplit("\n", 2)[1].split()
    assert all(panel in shown for panel in PANELS)
    assert "export" not in shown
    assert not {"irqlab.methods.method", "irqlab.cli.options", "numpy", "msgspec"} & set(modules)


def test_rare_options_are_shown_if_asked_for() -> None:
    short, full = (CliRunner().invoke(app, ["throughput", option]).output for option in ("--help", "--help-all"))
    assert "more options: irqlab throughput --help-all" in " ".join(short.split())
    assert RARE not in short
    assert RARE in full
    assert "--loss-tolerance" in full
    assert "--loss-tolerance" not in short
    assert len(short.splitlines()) < 100


def test_a_mistyped_command_is_recognised() -> None:
    found = CliRunner().invoke(app, ["trouhgput"])
    assert (found.exit_code, "Did you mean 'throughput'?" in found.output) == (2, True)


def test_names_can_be_completed(tmp_path: Path) -> None:
    variables = {**os.environ, "_IRQLAB_COMPLETE": "complete_bash", "COMP_WORDS": "irqlab thr", "COMP_CWORD": "1"}
    command = Path(sys.executable).with_name("irqlab")
    done = subprocess.run([command], env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["throughput"]
