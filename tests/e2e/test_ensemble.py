# SPDX-License-Identifier: GPL-2.0-or-later
"""Ensembles, end to end: members differ and are repeatable; comparisons find what is there and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median_low
from typing import Any

import jsonschema
import pytest

from irqlab.compare import verdict
from irqlab.config.addresses import stream
from irqlab.config.ensemble import VARIANTS, Member
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.methods import catalogue, throughput
from irqlab.perturb import catalogue as perturb
from irqlab.results.ensemble import spreads
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import Cli, Refused
from tests.e2e.test_compare import slowed

DUT = DutConfig(schemes=Schemes(rx="napi", tx="off"))
MEMBERS = 5
PLANTED = 0.005
CALL = 5
"""Instructions that the call of the planted function takes."""
METRIC = "instructions_per_frame"
LOAD = 0.2
"""Share of the throughput. The processor has to idle: near its limit a NAPI driver uses all of it, whatever a frame costs."""
WINDOW = {"warmup_ns": 10_000_000, "duration_ns": 200_000_000, "drain_ns": 20_000_000}


@dataclass(frozen=True)
class Counts:
    """What came of comparisons: how often a difference was called, and the planted cost that was measured, as a share."""

    false: int
    found: int
    planted: float
    spread: float
    """The range of all members of the first driver, as a share."""


def instructions(driver: str, rate_pps: float, numbers: Iterable[int]) -> dict[int, float]:
    """Instructions per frame by member. Only the tester counts, which is faster than a whole trial."""
    names, wanted = tuple(perturb.perturbations()), list(numbers)
    load, found = Load(rate_pps=rate_pps), {}
    for group in ([0], *([n for n in wanted if n and n % VARIANTS == variant] for variant in range(VARIANTS))):
        members = [Member(number, 1, names) for number in group if number in wanted]
        if not members:
            continue
        bed = Testbed.resolve(TestbedConfig(driver, dut=DUT, member=members[0]))
        for member in members:
            with bed.open(pooled=True) as dut:
                perturb.begin(member, dut)
                dut.play_hosts(bed.nic.line_rate_bps)
                done = dut.run_trial(WINDOW, [stream(0, 1, load.arrivals_json(), load.size_json())])
            (sent,) = done["streams"]
            assert sent["lost"] == 0
            found[member.number] = done["instructions"] / sent["received_in_window"]
        bed.close()
    return found


def row(values: list[float], null: list[float] | None = None) -> dict[str, Any]:
    """A row of an ensemble as `compare` sees it."""

    def figures(values: list[float]) -> dict[str, Any]:
        return spreads([{"summary": {"metrics": {METRIC: value}}} for value in values])

    ensemble = {"figures": figures(values), **({"null": figures(null)} if null else {})}
    return {"summary": {"metrics": {METRIC: median_low(values)}}, "ensemble": ensemble}


def compared(home: Path, count: int) -> Counts:
    """Null comparisons of a driver with itself, and of the driver with a copy that has a planted cost; `count` of each.

    Each draws its members, all different, from a pool of 3/2 as many members as there are comparisons, and of half as many of
    the copy. So any two comparisons have few members in common.
    """
    driver = "irqmod_rtl8139cp"
    bed = Testbed.resolve(TestbedConfig(driver, dut=DUT))
    known = throughput.run(TrialRunner(bed), Workload(duration_ns=50_000_000))
    bed.close()
    rate_pps = throughput.rate_per_direction(known) * LOAD
    plain = instructions(driver, rate_pps, range(count * 3 // 2))
    loops = int((PLANTED * plain[0] - CALL) / 2)
    assert loops > 0
    planted = instructions(str(slowed(home, loops)), rate_pps, range(count * 3 // 2, count * 2))

    def differs(number: int, of_copy: bool) -> bool:
        random = Random(number)
        drawn = [plain[member] for member in random.sample(sorted(plain), 3 * MEMBERS)]
        after = [planted[member] for member in random.sample(sorted(planted), MEMBERS)] if of_copy else drawn[2 * MEMBERS :]
        (line,) = verdict.lines(row(drawn[:MEMBERS], drawn[MEMBERS : 2 * MEMBERS]), row(after))
        return line.differs

    middle = median_low(plain.values())
    return Counts(
        false=sum(differs(number, False) for number in range(count)),
        found=sum(differs(number, True) for number in range(count)),
        planted=median_low(planted.values()) / middle - 1,
        spread=(max(plain.values()) - min(plain.values())) / middle,
    )


@pytest.mark.long
def test_a_hundred_comparisons_find_what_is_planted_and_nothing_else(tmp_path: Path) -> None:
    counts = compared(tmp_path / "copy", 100)
    print(counts)
    assert abs(counts.planted - PLANTED) < 0.1 * PLANTED
    assert (counts.false, counts.found) == (0, 100)


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
