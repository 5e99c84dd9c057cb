# SPDX-License-Identifier: GPL-2.0-or-later
"""The race hunt: finds faults planted in our drivers (tests/faults), replays them, and finds none in the drivers as they are."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from irqlab.setup import drivers, kernel
from tests.e2e.conftest import Cli

FAULTS = Path(__file__).parents[1] / "faults"
FAST = "napi_late_ack"


def planted(fault: str, where: Path) -> Path:
    """irqmod_i8255x with a patch of tests/faults, built; its engine lies where the lab looks for it, beside it."""
    root = where / "drivers"
    shutil.copytree(drivers.home(), root)
    done = subprocess.run(
        ["git", "apply", "-p2", "--directory=drivers", str(FAULTS / f"{fault}.patch")],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
        env={"GIT_CEILING_DIRECTORIES": str(where.parent), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    built = drivers.build(kernel.resolve(), "irqmod_i8255x", root=root)
    for module in (*built.glob("*/*.ko"), *built.glob("*/*.debug")):
        shutil.copy(module, where)
    return where / "irqmod_i8255x.ko"


@pytest.mark.parametrize(
    ("fault", "rx"),
    [
        (FAST, "napi"),
        pytest.param("napi_no_second_look", "napi", marks=pytest.mark.long),
        pytest.param("napi_stays_masked", "napi", marks=pytest.mark.long),
        pytest.param("de_no_second_look", "de", marks=pytest.mark.long),
    ],
)
def test_a_planted_fault_is_found_and_replayed(cli: Cli, tmp_path: Path, fault: str, rx: str) -> None:
    driver = planted(fault, tmp_path)
    schemes = ("--rx", rx, "--tx", "interrupt", "--ports", "same")
    done = cli("hunt", "--driver", str(driver), *schemes, "--json", "found.json")
    assert done.returncode == 1, done.stderr
    (row,) = json.loads((tmp_path / "found.json").read_text())["measured"]["results"]
    assert row["summary"]["missed"] > 0
    finding = row["samples"][0]["findings"][0]
    assert finding["what"] in ("late", "lost")
    replay = ["--at", str(finding["at_ns"]), "--lead", str(finding["lead"])]
    assert " ".join(replay) in " ".join(done.stdout.split())
    steps = finding["trace"]
    arrival = next(n for n, step in enumerate(steps) if step["text"].startswith("the second frame arrives"))
    assert steps[arrival]["at_ns"] == finding["at_ns"]
    assert {"enter", "write"} <= {step["what"] for step in steps[:arrival]}
    assert "What the driver executed" in done.stdout
    assert 0 < row["summary"]["tried_instructions"] < row["summary"]["driver_instructions"]
    if fault == FAST:
        shown = cli("debug", "--at", "found.json", "--names-only", "--eval-command", "when", "--eval-command", "bt 1")
        assert shown.returncode == 0, shown.stderr
        assert f"{finding['replay']['second_ns']} ns after" in shown.stderr
        assert "irqmod_napi_poll" in shown.stdout, "the frame arrives in the poll"
    repeat = "3" if fault == FAST else "100"
    again = cli("hunt", "--driver", str(driver), *schemes, *replay, "--repeat", repeat)
    assert again.returncode == 1, again.stderr
    assert f"It went wrong in {repeat} of {repeat} repetitions." in again.stdout


@pytest.mark.parametrize("rx", ["napi", pytest.param("de", marks=pytest.mark.long)])
def test_nothing_is_found_without_a_fault(cli: Cli, tmp_path: Path, rx: str) -> None:
    done = cli("hunt", "--driver", "irqmod_i8255x", "--rx", rx, "--tx", "interrupt", "--json", "none.json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "none.json").read_text())["measured"]["results"]
    assert row["summary"]["missed"] == 0
    assert [sample["port"] for sample in row["samples"]] == ["same", "other"]
    assert all(sample["instants"] > 5_000 and not sample["findings"] for sample in row["samples"])
