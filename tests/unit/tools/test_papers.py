# SPDX-License-Identifier: GPL-2.0-or-later
"""Claims tested again on what is kept: with the votes of members that were measured, or with tables drawn from their ranges."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from irqlab.reproduce.table import tables_of
from tests.unit.paper_tables import mogul
from tools import papers
from tools.kept import Kept

TABLE = "name,x,y,x_min,x_max\na,2.0,5,1.0,3.0\nb,2.0,5,,\n"


def test_a_drawn_cell_is_the_least_the_median_or_the_greatest() -> None:
    every = [list(csv.DictReader(io.StringIO(drawn["t"]))) for drawn in papers.draws({"t": TABLE})]
    assert len(every) == papers.DRAWS
    assert {first["x"] for first, _ in every} == {"1.0", "2.0", "3.0"}
    assert {(first["y"], second["x"]) for first, second in every} == {("5", "2.0")}, "without a range"
    assert every == [list(csv.DictReader(io.StringIO(drawn["t"]))) for drawn in papers.draws({"t": TABLE})]


def _kept(*words: str, **ranges: tuple[float, float]) -> Kept:
    """Of made-up tables of mogul1997. `ranges`: of the CPU left of a process, by load."""
    tables = {name: table.to_csv() for name, table in tables_of(mogul(True)).items()}
    head, *rows = csv.reader(io.StringIO(tables["cpu"]))
    head += ["cpu_percent_min", "cpu_percent_max"]
    for row in rows:
        row += map(str, ranges.get(f"at_{row[2]}".replace(".", "_"), (row[5], row[5])))
    out = io.StringIO()
    csv.writer(out).writerows([head, *rows])
    return Kept("mogul1997", {"command": [*words], "findings": []}, {**tables, "cpu": out.getvalue()})


def _of(kept: Kept, words: str) -> dict[str, Any]:
    return next(one for one in papers.tested_again(kept).findings if words in one["claim"])


def test_without_an_ensemble_there_are_no_votes() -> None:
    found = _of(_kept("irqlab"), "Even without load")
    assert (found["verdict"], "draws" in found, "members" in found) == ("agrees", False, False)


def test_a_claim_that_the_members_ranges_turn_is_undecided() -> None:
    steady = _of(_kept("irqlab", "--ensemble", "3"), "Even without load")
    assert (steady["verdict"], steady["draws"]) == ("agrees", [50, 50])
    found = _of(_kept("irqlab", "--ensemble", "3", at_0_0=(90.0, 94.0)), "Even without load")
    assert found["verdict"] == "undecided"
    assert 0 < found["draws"][0] < 50


def test_measured_votes_stay_while_a_claim_says_the_same() -> None:
    kept = _kept("irqlab", "--ensemble", "3")
    one = _of(kept, "Even without load")
    voted = {name: value for name, value in one.items() if name != "draws"} | {"members": [2, 3]}
    same = _of(Kept("mogul1997", kept.content | {"findings": [voted]}, kept.tables), "Even without load")
    assert (same["verdict"], same["members"], "draws" in same) == ("undecided", [2, 3], False)
    other = voted | {"found": "95.0 %."}
    assert "draws" in _of(Kept("mogul1997", kept.content | {"findings": [other]}, kept.tables), "Even without load")
    nearer = voted | {"counts_as": "within 1"}
    assert "draws" in _of(Kept("mogul1997", kept.content | {"findings": [nearer]}, kept.tables), "Even without load")


def test_testing_again_changes_nothing_more() -> None:
    once = papers.tested_again(_kept("irqlab", "--ensemble", "3", at_0_0=(90.0, 94.0)))
    assert papers.tested_again(once) == once
    assert json.loads(json.dumps(once.content)) == once.content
