# SPDX-License-Identifier: GPL-2.0-or-later
"""irqlab.toml: options that need not be typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from irqlab.cli import defaults
from irqlab.cli.app import app
from irqlab.errors import IrqlabError

TEXT = """
driver = "my.ko"
mips = 500
module-parameters = "debug=1"
[hunt]
instants = 300
[profile.board]
mips = 1000
[profile.board.hunt]
instants = 20
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def values(text: str, command: str, profile: str | None = None) -> dict[str, object]:
    Path(defaults.FILE).write_text(text)
    tables = defaults.read(profile)
    assert tables is not None
    return defaults.of_command(tables, command, silent=True)


def test_without_a_file_there_are_none() -> None:
    assert defaults.read(None) is None


def test_a_command_gets_what_it_takes_and_sections_and_profiles_count_more(capsys: pytest.CaptureFixture[str]) -> None:
    common = {"driver": ["my.ko"], "mips": 500, "module_parameters": "debug=1"}
    assert values(TEXT, "throughput") == common
    assert values(TEXT, "hunt") == {**common, "instants": 300}
    assert values(TEXT, "hunt", "board") == {**common, "mips": 1000, "instants": 20}
    assert values(TEXT, "list") == {}
    defaults.of_command(defaults.read(None) or [], "hunt", silent=False)
    assert capsys.readouterr().err == "irqlab.toml: --driver my.ko --mips 500 --module-parameters debug=1 --instants 300\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("drivr = 'e100'", "irqlab.toml: drivr: no option of several commands; did you mean driver?"),
        ("instants = 3", "instants: no option of several commands; options of one command stand in its section"),
        ("[hunt]\ninstant = 3", r"\[hunt\] instant: no such option; did you mean instants?"),
        ("no-cache = 'yes'", "irqlab.toml: no-cache = 'yes': must be true or false"),
        ("driver = 5", "driver = 5: must be text, in quotes"),
        ("mips = '500'", "mips = '500': must be a whole number"),
        ("mips = true", "mips = True: must be a whole number"),
        ("[hnt]\ninstants = 3", r"\[hnt\]: no such command; did you mean hunt?"),
        ("driver = ", "irqlab.toml: Invalid value"),
        ("profile = 3", "profile: must be tables"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(IrqlabError, match=said.replace("?", r"\?")):
        values(text, "throughput" if "hunt" not in text else "hunt")


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(IrqlabError, match=r"--profile mine: there is no irqlab\.toml in this directory"):
        defaults.read("mine")
    with pytest.raises(IrqlabError, match=r"--profile mine: irqlab\.toml has board"):
        values(TEXT, "hunt", "mine")


def test_the_command_line_counts_most() -> None:
    """The values arrive: each is refused, with the option that it belongs to."""
    Path(defaults.FILE).write_text("driver = 'e100'\nmips = 3\n")
    found = CliRunner().invoke(app, ["throughput"])
    assert (found.exit_code, "mips 3" in found.output) == (2, True)
    found = CliRunner().invoke(app, ["throughput", "--mips", "7"])
    assert (found.exit_code, "mips 7" in found.output) == (2, True)
    Path(defaults.FILE).write_text("mips = 'fast'\n")
    found = CliRunner().invoke(app, ["throughput", "--driver", "e100"])
    assert (found.exit_code, "fast" in found.output) == (2, True)
