# SPDX-License-Identifier: GPL-2.0-or-later
"""The race hunt: finds faults planted in our drivers (tests/faults), replays them, and finds none in the drivers as they are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from irqlab.config.schemes import RX_SCHEMES
from irqlab.setup import drivers, kernel, qemu
from tests.e2e.conftest import Cli

FAULTS = Path(__file__).parents[1] / "faults"
FAST = "napi_late_ack"


def planted(fault: str, where: Path, *more: str) -> Path:
    """irqmod_i8255x with a patch of tests/faults, built; its engine, and `more` modules, lie where the lab looks for them, beside
    it."""
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
    built = drivers.build(kernel.resolve(), "irqmod_i8255x", *more, root=root)
    for module in (*built.glob("*/*.ko"), *built.glob("*/*.debug")):
        shutil.copy(module, where)
    return where / "irqmod_i8255x.ko"


def _without(arguments: tuple[str, ...], *options: str) -> list[str]:
    """The arguments without these options and their values."""
    words = list(arguments)
    for option in options:
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
    return words


CARD = ("--nic", "irqlab-82559")
"""A card whose completions take time."""
PLAIN = ("--nic", "i82557b")
"""QEMU's, for which the options of the other faults were found."""
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("fault", "options", "kind", "what"),
    [
        (FAST, ("--rx", "napi", "--tx", "interrupt"), "arrivals", "left"),
        pytest.param("napi_no_second_look", ("--rx", "napi", "--tx", "interrupt"), "arrivals", "left", marks=LONG),
        pytest.param("napi_stays_masked", ("--rx", "napi", "--tx", "interrupt"), "arrivals", "left", marks=LONG),
        pytest.param("de_no_second_look", ("--rx", "de", "--tx", "interrupt"), "arrivals", "left", marks=LONG),
        pytest.param(
            "tx_timer_not_armed", (*CARD, "--rx", "napi", "--tx", "off", "--until", "30000"), "transmit", "kept", marks=LONG
        ),
        pytest.param(
            "tx_timer_gives_up",
            (*CARD, "--rx", "napi", "--tx", "off", "--size", "1518", "--from", "960000", "--until", "1025000"),
            "transmit",
            "kept",
            marks=LONG,
        ),
        pytest.param(
            "one_cause_of_two",
            (
                *CARD,
                "--rx",
                "napi",
                "--tx",
                "interrupt",
                "--irq-delay",
                "5000",
                "--from",
                "5000",
                "--until",
                "40000",
                "--ports",
                "other",
            ),
            "transmit",
            "kept",
            marks=LONG,
        ),
        pytest.param(
            "ack_not_flushed",
            (*CARD, "--rx", "napi", "--tx", "interrupt", "--write-delay", "2000", "--from", "20000", "--until", "30000"),
            "arrivals",
            "left",
            marks=LONG,
        ),
        pytest.param(
            "no_look_after_start", ("--rx", "napi", "--tx", "off", "--instants", "200"), "rx-scheme", "late left", marks=LONG
        ),
        pytest.param(
            "receiver_not_restarted",
            ("--rx", "napi", "--tx", "off", "--ring", "16", "--instants", "300"),
            "overruns",
            "stuck",
            marks=LONG,
        ),
        pytest.param(
            "reclaim_unlocked",
            ("--rx", "napi", "--tx", "off", "--first", "12", "--burst", "6", "--instants", "1000"),
            "processors",
            # Both processors free the same packet, or neither does, or the DUT hangs: it depends on where code and data lie.
            "message kept",
            marks=LONG,
        ),
        pytest.param("mapping_error_leaks", (*CARD, "--rx", "napi", "--tx", "off"), "failures", "kept", marks=LONG),
    ],
)
def test_a_planted_fault_is_found_and_replayed(
    cli: Cli, tmp_path: Path, fault: str, options: tuple[str, ...], kind: str, what: str
) -> None:
    ports = () if "--ports" in options else ("--ports", "same")
    card = () if "--nic" in options else PLAIN
    asked = ("hunt", "--driver", str(planted(fault, tmp_path)), *card, *options, *ports)
    # With two processors the DUT may hang, which takes up to a minute to recognise, several times.
    timeout_s = 300 if kind != "processors" else 1200
    done = cli(*asked, "--what", kind, "--json", "found.json", timeout_s=timeout_s)
    assert done.returncode == 1, done.stderr
    (row,) = json.loads((tmp_path / "found.json").read_text())["measured"]["results"]
    assert row["summary"]["missed"] > 0
    finding = next(one for sample in row["samples"] for one in sample["findings"] if one["what"] in (*what.split(), "lost"))
    printed = " ".join(done.stdout.split())
    replay = re.search(r"; replay: (--[^.;]*)", printed)
    assert replay is not None, printed
    if fault == FAST:
        traced_and_debugged(cli, row, done.stdout)
    repeat = "3" if fault == FAST or kind == "processors" else "100"
    # A schedule's number says nothing without the limit.
    dropped = ("--from", "--until", "--ports", *(() if kind == "processors" else ("--instants",)))
    again = cli(*_without(asked, *dropped), *replay[1].split(), "--repeat", repeat, timeout_s=timeout_s)
    assert again.returncode == 1, again.stderr
    seen = re.search(r"It went wrong in (\d+) of ", again.stdout)
    assert seen is not None, again.stdout
    # Of a change of the scheme, each of the others is replayed: it goes wrong always, or never.
    kinds = {1} if kind != "rx-scheme" else set(range(1, len(RX_SCHEMES)))
    assert int(seen[1]) in {each * int(repeat) for each in kinds}, finding


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "options"),
    [
        (FAST, ("--rx", "napi", "--tx", "interrupt", "--what", "arrivals")),
        ("napi_no_second_look", ("--rx", "napi", "--tx", "interrupt", "--what", "arrivals")),
        ("napi_stays_masked", ("--rx", "napi", "--tx", "interrupt", "--what", "arrivals")),
        ("de_no_second_look", ("--rx", "de", "--tx", "interrupt", "--what", "arrivals")),
        ("tx_timer_not_armed", (*CARD, "--rx", "napi", "--tx", "off", "--what", "transmit")),
        ("tx_timer_gives_up", (*CARD, "--rx", "napi", "--tx", "off", "--size", "1518", "--what", "transmit")),
        ("one_cause_of_two", (*CARD, "--rx", "napi", "--tx", "interrupt", "--irq-delay", "5000", "--what", "transmit")),
        ("ack_not_flushed", (*CARD, "--rx", "napi", "--tx", "interrupt", "--write-delay", "2000", "--what", "arrivals")),
        ("no_look_after_start", ("--rx", "napi", "--tx", "off", "--what", "rx-scheme", "--instants", "200")),
        ("receiver_not_restarted", ("--rx", "napi", "--tx", "off", "--ring", "16", "--what", "overruns", "--instants", "300")),
        ("mapping_error_leaks", (*CARD, "--rx", "napi", "--tx", "off", "--what", "failures")),
    ],
)
def test_a_planted_fault_is_found_from_each_of_ten_states(cli: Cli, tmp_path: Path, fault: str, options: tuple[str, ...]) -> None:
    module = str(planted(fault, tmp_path))
    card = () if "--nic" in options else PLAIN
    limit = ("--traces", "0") if "--instants" in options else ("--instants", "3000", "--traces", "0")
    for state in range(10):
        done = cli("hunt", "--driver", module, *card, *options, *limit, "--state", str(state), timeout_s=600)
        assert done.returncode == 1, f"state {state}: {done.stdout}{done.stderr}"


def traced_and_debugged(cli: Cli, row: dict[str, Any], printed: str) -> None:
    """The finding has a trace, and GDB begins where the second frame arrives."""
    traced = next(one for sample in row["samples"] for one in sample["findings"] if one["trace"])
    steps = traced["trace"]
    arrival = next(n for n, step in enumerate(steps) if step["text"].startswith("the second frame arrives"))
    assert steps[arrival]["at_ns"] == traced["at_ns"] == traced["arrival_ns"]
    # The last look, or the acknowledgement that comes too late: it is called from there.
    assert "irqmod_napi" in traced["before"] or "i8255x_rx_ack" in traced["before"]
    assert {"enter", "write"} <= {step["what"] for step in steps[:arrival]}
    acknowledged = [step for step in steps[arrival:] if step["what"] == "write" and step["text"] == "eth0+0x1 = 0x40"]
    assert acknowledged, "the cause of the second frame is taken"
    (marked,) = [line for line in printed.splitlines() if line.startswith(">")]
    assert f" {traced['at_ns']} ns" in marked
    assert f" before {traced['before'].partition('+')[0]}" in marked
    assert 0 < row["summary"]["tried_instructions"] < row["summary"]["driver_instructions"]
    shown = cli("debug", "--at", "found.json", "--names-only", "--eval-command", "when", "--eval-command", "bt 8")
    assert shown.returncode == 0, shown.stderr
    assert f"{traced['replay']['second_ns']} ns after" in shown.stderr
    assert "irqmod_napi_end" in shown.stdout, "the frame arrives in the end of the poll"


@pytest.mark.parametrize(
    ("rx", "instants"), [("napi", 400), *(pytest.param(rx, 20_000, marks=pytest.mark.long) for rx in ("napi", "de"))]
)
def test_nothing_is_found_without_a_fault(cli: Cli, tmp_path: Path, rx: str, instants: int) -> None:
    asked = ("--driver", "irqmod_i8255x", "--rx", rx, "--tx", "interrupt", "--instants", str(instants))
    done = cli("hunt", *asked, "--json", "none.json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "none.json").read_text())["measured"]["results"]
    assert row["summary"]["missed"] == 0
    assert [sample["port"] for sample in row["samples"]] == ["same", "other"]
    assert all(sample["instants"] >= min(instants, 5_000) and not sample["findings"] for sample in row["samples"])


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["napi/off", "interrupt/interrupt"])
def test_nothing_is_found_if_writes_arrive_late(cli: Cli, tmp_path: Path, scheme: str) -> None:
    rx, tx = scheme.split("/")
    asked = ("--driver", "irqmod_i8255x", "--nic", "irqlab-82559", "--rx", rx, "--tx", tx, "--write-delay", "3000")
    done = cli("hunt", *asked, "--what", "arrivals", "--instants", "3000", "--json", "none.json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "none.json").read_text())["measured"]["results"]
    assert row["summary"]["missed"] == 0
    assert all(sample["instants"] > 1_000 for sample in row["samples"])


@pytest.mark.long
@pytest.mark.parametrize("release", qemu.RELEASES)
def test_two_processors_stop_and_go_on_alike(cli: Cli, tmp_path: Path, release: str) -> None:
    asked = ("hunt", "--driver", "irqmod_i8255x", "--rx", "napi", "--tx", "off", "--what", "processors")
    asked += ("--qemu", release)
    for name in ("one", "again"):
        done = cli(*asked, "--instants", "300", "--json", f"{name}.json", "--no-cache")
        assert done.returncode == 0, done.stderr
    (one,), (again,) = (json.loads((tmp_path / f"{name}.json").read_text())["measured"]["results"] for name in ("one", "again"))
    assert one["samples"] == again["samples"], "two runs are the same to the ns"
    (sample,) = one["samples"]
    assert (sample["missed"], sample["findings"]) == (0, [])
    assert sample["instants"] > 200
    assert sample["worst_ns"] > sample["alone_ns"], "one frame waits for the other processor"
