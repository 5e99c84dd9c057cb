# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command named in the documentation and the Makefile exists and has a help text."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from irqlab.cli.app import app
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


@pytest.mark.parametrize("name", named())
def test_a_command_that_is_documented_is_there(name: str) -> None:
    found = CliRunner().invoke(app, [name, "--help"])
    assert found.exit_code == 0, found.output
    assert "Usage" in found.output
