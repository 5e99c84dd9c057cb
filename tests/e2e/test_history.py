# SPDX-License-Identifier: GPL-2.0-or-later
"""irqlab history: kernels and drivers that are there, and some that are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli, Refused

SHORT = ("--size", "64", "--duration", "0.02", "--warmup", "0.01")


def test_what_is_missing_is_a_row_that_says_why(cli: Cli, tmp_path: Path) -> None:
    done = cli("history", "--kernels", "6.1,5.99", "--drivers", "e100,nonesuch", *SHORT, COLUMNS="250")
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "results/history/history.json").read_text())
    assert content["complete"]
    (good, *missing) = content["entries"]
    assert (good["driver"], good["kernel"], good["nic"]) == ("e100", "6.1", "i82557b")
    assert sum(good["by_owner"].values()) == pytest.approx(good["instructions_per_frame"], rel=1e-6)
    assert good["by_owner"]["driver"] > 100
    assert good["rate_pps"] == pytest.approx(good["throughput_pps"] / 2, rel=1e-3)
    assert [(one["driver"], one["kernel"]) for one in missing] == [("e100", "5.99"), ("nonesuch", "6.1"), ("nonesuch", "5.99")]
    assert all(one["throughput_pps"] is None and one["why"] for one in missing)
    assert "Debian has no kernel 5.99" in done.stdout
    assert "nonesuch" in (tmp_path / "results/history/history.html").read_text()


@pytest.mark.long
def test_two_kernels_get_the_same_load(cli: Cli, tmp_path: Path) -> None:
    done = cli("history", "--kernels", "6.1,6.12", "--drivers", "e100,8139cp", *SHORT, timeout_s=900)
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "results/history/history.json").read_text())
    assert [one["why"] for one in content["entries"]] == [""] * 4
    for before, after in (content["entries"][:2], content["entries"][2:]):
        assert before["rate_pps"] == after["rate_pps"]
        assert before["instructions_per_frame"] != after["instructions_per_frame"]
    assert [kernel["release"][:4] for kernel in content["kernels"]] == ["6.1.", "6.12"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--kernels", "6.1,,7.3"), "--kernels '6.1,,7.3': a name is missing"),
        (("--drivers", "e100+speed=9"), "+speed=9: allowed options are"),
        (("--drivers", "e100+kernel=6.1"), "kernels are named by --kernels"),
        (("--kernels", "5.99", "--drivers", "e100"), "e100 on 5.99: Debian has no kernel 5.99"),
    ],
)
def test_bad_input(refused: Refused, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in refused("history", *arguments)
