# SPDX-License-Identifier: GPL-2.0-or-later
"""Ensembles, end to end: members differ and are repeatable; comparisons find what is there and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from irqlab.methods import catalogue
from irqlab.setup import drivers, kernel
from tests.e2e import rebuilt
from tests.e2e.conftest import Cli, Refused
from tests.e2e.test_compare import slowed

MODULES = int(os.environ.get("IRQLAB_MODULES", "2"))
"""How many changed copies of each driver cost the same as the driver; half as many cost more."""
PLANTED = 0.005
COMMAND = ("--fail-above", "0.25%")
OURS = "irqmod_rtl8139cp"
SCHEMES = "+napi+off"


@dataclass(frozen=True)
class Modules:
    """Sides to compare with each other: `equal` have the same code, which in `slower` costs PLANTED more."""

    equal: tuple[str, ...]
    slower: tuple[str, ...]


def theirs(home: Path, instructions: float) -> Modules:
    """Copies of 8139cp: as it is, in another order, moved; the driver takes so many instructions per frame."""
    text, loop = rebuilt.source(), rebuilt.loop(round((PLANTED * instructions - 1) / 2))
    plain = rebuilt.module(text, home / "plain")
    equal = [plain]
    for number in range(MODULES):
        if number % 2 == 0:
            equal.append(rebuilt.shuffled(text, number, home / f"shuffled-{number}"))
        else:
            equal.append(rebuilt.moved(plain, 16 * (1 + number * 37 % 255), home / f"moved-{number}"))
    places = list(rebuilt.PLACES.values())
    slower = [
        rebuilt.shuffled(rebuilt.after(text, places[number % 2], loop), number, home / f"slow-{number}")
        for number in range(MODULES // 2)
    ]
    return Modules(tuple(map(str, equal)), tuple(map(str, slower)))


def ours(home: Path, instructions: float) -> Modules:
    """The same of our driver: moved, and with a function called for each frame received, which takes five instructions more."""
    source = drivers.find(OURS)
    assert source is not None
    plain = drivers.module_file(kernel.resolve(), source)
    slow = slowed(home / "slow", round((PLANTED * instructions - 5) / 2))

    def moved(module: Path, number: int) -> str:
        # The engine is found beside the driver's directory.
        to = home / f"{module.parent.parent.name}-{number}-{module == slow}"
        engine = rebuilt.moved(module.parent.parent / "irqmod/irqmod.ko", 16, to / "irqmod")
        assert engine.is_file()
        return f"{rebuilt.moved(module, 16 * (1 + number * 53 % 255), to / 'driver')}{SCHEMES}"

    equal = [f"{OURS}{SCHEMES}", *(moved(plain, number) for number in range(MODULES))]
    return Modules(tuple(equal), tuple(moved(slow, number) for number in range(MODULES // 2)))


@pytest.mark.long
@pytest.mark.parametrize("family", [theirs, ours])
def test_harmless_changes_pass_and_planted_costs_are_found(
    cli: Cli, tmp_path: Path, family: Callable[[Path, float], Modules]
) -> None:
    """Every side is compared with the unchanged one as documented, and by the files that this leaves with every other."""

    def compared(before: str, after: str, *more: str) -> tuple[int, str]:
        done = cli("compare", before, after, *COMMAND, *more, timeout_s=3600)
        return done.returncode, done.stdout.rstrip().rpartition("\n")[2] or done.stderr

    first = OURS + SCHEMES if family is ours else str(rebuilt.module(rebuilt.source(), tmp_path / "first"))
    done = cli("compare", first, "--json", "0.json", timeout_s=3600)
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads((tmp_path / "0.json").read_text())["measured"]["results"] if row["method"] == "metrics"]
    modules = family(tmp_path / "modules", float(rows[0]["summary"]["metrics"]["instructions_per_frame"]))
    every = [(module, False) for module in modules.equal] + [(module, True) for module in modules.slower]
    verdicts = {}
    for number, (module, slow) in enumerate(every[1:], 1):
        verdicts["0.json", module, slow] = compared("0.json", module, "--json", f"{number}.json")
        print(f"{module}: {verdicts['0.json', module, slow]}", flush=True)
    for first_number in range(1, len(modules.equal)):
        for number in range(first_number + 1, len(every)):
            pair = (f"{first_number}.json", f"{number}.json", every[number][1])
            verdicts[pair] = compared(*pair[:2])
    wrong = []
    for (before, after, slow), (code, said) in verdicts.items():
        failed = said.partition("; better")[0].partition("worse by more than allowed:")[2]
        if code != slow or ("instructions per frame +" in failed) is not slow:
            wrong.append((before, after, code, said))
    for slow, name in ((False, "the same code"), (True, f"{PLANTED:.1%} more")):
        codes = [code for (*_, of), (code, _) in verdicts.items() if of is slow]
        print(f"{name}: {len(codes)} comparisons, {sum(code == 1 for code in codes)} failed")
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
