# SPDX-License-Identifier: GPL-2.0-or-later
"""Ensembles, end to end: members differ and are repeatable; comparisons find what is there and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from irqlab.methods import catalogue
from irqlab.setup import drivers, kernel
from tests.e2e import rebuilt
from tests.e2e.conftest import Cli, Refused
from tests.e2e.test_compare import slowed

COMPARISONS = int(os.environ.get("IRQLAB_COMPARISONS", "4"))
"""How many comparisons without and with a cost there are, half of them with each driver."""
PLANTED = 0.005
COMMAND = ("--fail-above", "0.25%")
OURS = "irqmod_rtl8139cp"
SCHEMES = "+napi+off"


@dataclass(frozen=True)
class Pair:
    """Two modules to compare, and whether the second one costs more."""

    name: str
    before: str
    after: str
    costs: bool


def theirs(home: Path, instructions: float) -> Iterator[Pair]:
    """Copies of 8139cp; the driver takes so many instructions per frame."""
    text, loop = rebuilt.source(), rebuilt.loop(round((PLANTED * instructions - 1) / 2))
    plain = rebuilt.module(text, home / "plain")
    for number in range(COMPARISONS // 2):
        if number % 2 == 0:
            other = rebuilt.shuffled(text, number, home / f"shuffled-{number}")
        else:
            other = rebuilt.moved(plain, 16 * (1 + number * 37 % 255), home / f"moved-{number}")
        yield Pair("in another order" if number % 2 == 0 else "moved", str(plain), str(other), False)
        place = list(rebuilt.PLACES)[number % 2]
        slow = rebuilt.shuffled(rebuilt.after(text, rebuilt.PLACES[place], loop), number, home / f"slow-{number}")
        yield Pair(f"slower at {place}", str(plain), str(slow), True)


def ours(home: Path, instructions: float) -> Iterator[Pair]:
    """The same of our driver: moved, and with a function called for each frame received, which takes five instructions more."""
    source = drivers.find(OURS)
    assert source is not None
    plain = drivers.module_file(kernel.resolve(), source)
    slow = slowed(home / "slow", round((PLANTED * instructions - 5) / 2))
    for number in range(COMPARISONS - COMPARISONS // 2):
        for module, costs in ((plain, False), (slow, True)):
            # The engine is found beside the driver's directory.
            to = home / f"moved-{number}-{costs}"
            engine = rebuilt.moved(module.parent.parent / "irqmod/irqmod.ko", 16, to / "irqmod")
            assert engine.is_file()
            other = rebuilt.moved(module, 16 * (1 + number * 53 % 255), to / "driver")
            yield Pair("ours, slower" if costs else "ours, moved", f"{OURS}{SCHEMES}", f"{other}{SCHEMES}", costs)


@pytest.mark.long
def test_harmless_changes_pass_and_planted_costs_are_found(cli: Cli, tmp_path: Path) -> None:
    """Each comparison is the documented command; the trials of the unchanged drivers come from the cache after the first."""

    def cost(driver: str) -> float:
        file = tmp_path / "base.json"
        done = cli("compare", driver, "--json", str(file), timeout_s=3600)
        assert done.returncode == 0, done.stderr
        rows = [row for row in json.loads(file.read_text())["measured"]["results"] if row["method"] == "metrics"]
        return float(rows[0]["summary"]["metrics"]["instructions_per_frame"])

    plain = rebuilt.module(rebuilt.source(), tmp_path / "first")
    pairs = [*theirs(tmp_path / "theirs", cost(str(plain))), *ours(tmp_path / "ours", cost(f"{OURS}{SCHEMES}"))]
    wrong = []
    for pair in pairs:
        done = cli("compare", pair.before, pair.after, *COMMAND, timeout_s=3600)
        said = done.stdout.rstrip().splitlines()[-1]
        print(f"{pair.name}: {done.returncode}: {said}")
        failed = said.partition("; better")[0].partition("worse by more than allowed:")[2]
        if done.returncode != pair.costs or ("instructions per frame +" in failed) is not pair.costs:
            wrong.append((pair.name, done.returncode, said))
    assert not wrong


def test_members_differ_and_are_repeatable(cli: Cli, tmp_path: Path) -> None:
    short = ("--duration", "0.02", "--warmup", "0.01", "--perturb", "phase,slab")
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        done = cli("throughput", "--driver", "8139cp", *short, "--ensemble", "2", "--json", str(file), "--no-cache")
        assert done.returncode == 0, done.stderr
    assert "range of the members" in done.stdout
    one, other = (json.loads(file.read_text())["measured"] for file in files)
    assert one == other
    jsonschema.validate(json.loads(files[0].read_text()), catalogue.schema())
    first, second = one["results"]
    assert (first["ensemble"]["members"], second["ensemble"]) == (2, {"member": 1})
    spread = first["ensemble"]["figures"]["instructions_per_frame"]
    assert spread["min"] < spread["max"]
    assert {spread["min"], spread["max"]} == {row["instructions_per_frame"] for row in (first, second)}


def test_bad_ensembles_are_refused(refused: Refused) -> None:
    for arguments, said in (
        (("--ensemble", "0"), "--ensemble 0: allowed are"),
        (("--ensemble", "3", "--perturb", "moon"), "--perturb moon: allowed are align, entropy"),
        (("--perturb", "phase"), "--ensemble 5"),
    ):
        assert said in refused("throughput", "--driver", "8139cp", *arguments)
