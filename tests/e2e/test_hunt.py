# SPDX-License-Identifier: GPL-2.0-or-later
"""The race hunt: finds faults planted in our drivers (tests/faults), replays them, and finds none in the drivers as they are."""

from __future__ import annotations

import json
import re
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
    for module in built.glob("*/*.ko"):
        shutil.copy(module, where)
    return where / "irqmod_i8255x.ko"


CARD = ("--nic", "irqlab-82559")
"""A card whose completions take time."""
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("fault", "options", "kind", "what"),
    [
        (FAST, ("--rx", "napi", "--tx", "interrupt"), "arrivals", "late"),
        pytest.param("napi_no_second_look", ("--rx", "napi", "--tx", "interrupt"), "arrivals", "late", marks=LONG),
        pytest.param("napi_stays_masked", ("--rx", "napi", "--tx", "interrupt"), "arrivals", "late", marks=LONG),
        pytest.param("de_no_second_look", ("--rx", "de", "--tx", "interrupt"), "arrivals", "late", marks=LONG),
        pytest.param(
            "tx_timer_not_armed", (*CARD, "--rx", "napi", "--tx", "off", "--until", "30"), "transmit", "kept", marks=LONG
        ),
        pytest.param(
            "tx_timer_gives_up",
            (*CARD, "--rx", "napi", "--tx", "off", "--size", "1518", "--from", "1000"),
            "transmit",
            "kept",
            marks=LONG,
        ),
        pytest.param("no_look_after_start", ("--rx", "napi", "--tx", "off"), "rx-scheme", "stuck", marks=LONG),
        pytest.param("receiver_not_restarted", ("--rx", "napi", "--tx", "off", "--ring", "16"), "overruns", "stuck", marks=LONG),
        pytest.param(
            "no_buffer_no_refill",
            ("--rx", "napi", "--tx", "off", "--ring", "16", "--first", "8"),
            "failures",
            "stuck",
            marks=LONG,
        ),
    ],
)
def test_a_planted_fault_is_found_and_replayed(
    cli: Cli, tmp_path: Path, fault: str, options: tuple[str, ...], kind: str, what: str
) -> None:
    hunt = ("hunt", "--driver", str(planted(fault, tmp_path)), *options, "--ports", "same")
    done = cli(*hunt, "--what", kind, "--json", "found.json")
    assert done.returncode == 1, done.stderr
    (row,) = json.loads((tmp_path / "found.json").read_text())["measured"]["results"]
    assert row["summary"]["missed"] > 0
    finding = next(one for sample in row["samples"] for one in sample["findings"] if one["what"] in (what, "lost"))
    printed = " ".join(done.stdout.split())
    replay = re.search(r"the same command with (--.*?) --repeat 100", printed)
    assert replay is not None, printed
    repeat = "3" if fault == FAST else "100"
    begin = [word for word in hunt if word not in ("--from", "--until", "1000", "30")]
    again = cli(*begin, *replay[1].split(), "--repeat", repeat)
    assert again.returncode == 1, again.stderr
    row = next(line for line in again.stdout.splitlines() if line.startswith("It went wrong in"))
    assert row.startswith(f"It went wrong in {repeat} of "), finding


@pytest.mark.parametrize("rx", ["napi", pytest.param("de", marks=pytest.mark.long)])
def test_nothing_is_found_without_a_fault(cli: Cli, tmp_path: Path, rx: str) -> None:
    done = cli("hunt", "--driver", "irqmod_i8255x", "--rx", rx, "--tx", "interrupt", "--json", "none.json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "none.json").read_text())["measured"]["results"]
    assert row["summary"]["missed"] == 0
    assert [sample["port"] for sample in row["samples"]] == ["same", "other"]
    assert all(sample["instants"] > 5_000 and not sample["findings"] for sample in row["samples"])
