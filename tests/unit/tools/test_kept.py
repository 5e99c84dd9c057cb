# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of a paper's run, and what moved since."""

from __future__ import annotations

from typing import Any

import pytest

from irqlab.reproduce.claims import PRINT, WITH_COSTS, Because
from tools.kept import Kept, Took, claims, in_print, moved, not_the_papers, score, side_by_side, times


def finding(claim: str, verdict: str, source: str = "section 5") -> dict[str, Any]:
    return {"source": source, "claim": claim, "agrees": verdict == "agrees", "found": "1 | 2", "verdict": verdict}


def document(*findings: dict[str, Any]) -> dict[str, Any]:
    duts = [{"kernel": {"release": release}, "qemu": "QEMU 7.2"} for release in ("6.12", "6.1", "6.1")]
    return {
        "paper": {"name": "some1999", "source": "Some"},
        "command": ["irqlab", "reproduce", "some1999"],
        "environment": {"duts": duts, "host": "not kept"},
        "measured": {"findings": list(findings), "results": ["not kept"]},
    }


def kept(*findings: dict[str, Any], **tables: str) -> Kept:
    return Kept.of(document(*findings), tables, "abc")


def test_the_findings_and_their_circumstances_are_kept() -> None:
    content = kept(finding("a", "agrees")).content
    assert content["kernels"] == ["6.1", "6.12"]
    assert content["qemu"] == ["QEMU 7.2"]
    assert content["commit"] == "abc"
    assert content["findings"][0]["claim"] == "a"
    assert "not kept" not in str(content)


def test_the_same_run_has_not_moved() -> None:
    one = kept(finding("a", "agrees"), t="x,y\n1,text\n,3\n")
    assert list(moved(one, one)) == []


def test_verdicts_and_claims_that_moved_are_told() -> None:
    before = kept(finding("a", "agrees"), finding("b", "agrees"), finding("c", "differs"))
    after = kept(finding("a", "differs"), finding("c", "differs"), finding("d", "agrees"))
    assert list(moved(before, after)) == [
        "section 5: no longer tested: b",
        "section 5: agrees -> differs: a",
        "section 5: new (agrees): d",
    ]


def test_a_claim_tested_with_costs_is_not_the_one_without() -> None:
    without = finding("a", "differs")
    with_costs = finding("a", "agrees") | {"found": f"{WITH_COSTS}3"}
    assert list(moved(kept(without), kept(without, with_costs))) == ["section 5: new (agrees): a"]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("x,y\n1,100\n1,100\n", "x,y\n1,102\n1,150\n", "t.csv: 2 of 4 cells; the most: y: 100 -> 150"),
        ("x,y\n1,100\n", "x,y\n1,100.9\n", None),
        ("x,y\n1,0\n", "x,y\n1,0.0\n", None),
        ("x,y\n1,\n", "x,y\n1,5\n", "t.csv: 1 of 2 cells; the most: y: nothing -> 5"),
        ("x,y\n1,napi\n", "x,y\n1,de\n", "t.csv: 1 of 2 cells; the most: y: napi -> de"),
        ("x,y\n1,2\n", "x,y\n1,2\n3,4\n", "t.csv: other columns or rows: 2 lines -> 3"),
        ("x,y\n1,2\n", "x,z\n1,2\n", "t.csv: other columns or rows: 2 lines -> 2"),
    ],
)
def test_figures_that_moved_are_told(before: str, after: str, line: str | None) -> None:
    assert list(moved(kept(t=before), kept(t=after))) == ([line] if line else [])


def test_tables_that_come_and_go_are_told() -> None:
    assert list(moved(kept(old="x\n"), kept(new="x\n"))) == ["new.csv: new", "old.csv: gone"]


def test_the_papers_own_claims_are_counted() -> None:
    text = claims([kept(finding("a", "agrees"), finding("b", "differs"), finding("c", "met", "Aim of this project"))])
    assert "| [some1999](some1999.md) |  | 1 | 1 | 0 | 0 | 1 | 6.1, 6.12 |" in text


def test_an_undecided_claim_is_neither() -> None:
    assert "| [some1999](some1999.md) |  | 0 | 0 | 1 | 0 |" in claims([kept(finding("a", "undecided"))])


def test_what_does_not_count_is_told_by_itself() -> None:
    one = kept(*(finding(verdict, verdict) for verdict in ("agrees", "in sample", "by definition", "not tried", "not tried")))
    one.content["command"] += ["--ensemble", "3"]
    assert "| [some1999](some1999.md) |  | 1 | 0 | 0 | 4 | 3 |" in claims([one])
    assert score(one) == "1 agree, 0 differ (not counted: 1 in sample, 1 by definition, 2 not tried)"


def test_what_a_paper_prints_is_none_of_its_claims() -> None:
    one = kept(finding("a", "agrees"), finding("b.", "inconsistent", PRINT), finding("c", "consistent", PRINT) | {"agrees": True})
    assert score(one) == "1 agree, 0 differ"
    assert in_print(one.findings) == "- b. But 1 | 2\n"


def test_where_results_were_written_is_not_told() -> None:
    one = kept()
    one.content["command"] += ["--out", "build/papers/some1999"]
    assert one.asked == "irqlab reproduce some1999"


def test_claims_stand_beside_what_was_found_with_the_reason_for_that_verdict() -> None:
    found = [finding(claim, verdict) for claim, verdict in (("A b.", "agrees"), ("C d.", "differs"), ("E f.", "differs"))]
    found.append(finding("G.", "met", "Aim of this project"))
    because = {"A": Because("agrees", "if h"), "C": Because("differs", "[i](#j)"), "E": Because("agrees", "not this one")}
    assert side_by_side(found, because).splitlines()[2:] == [
        "| section 5 | A b. | 1 \\| 2 |  | agrees: if h |",
        "| section 5 | C d. | 1 \\| 2 |  | **differs**: [i](#j) |",
        "| section 5 | E f. | 1 \\| 2 |  | **differs**: not explained |",
    ]


def test_claims_tested_again_with_costs_are_counted_once() -> None:
    again = finding("a", "differs") | {"found": f"{WITH_COSTS}3"}
    assert "| [some1999](some1999.md) |  | 1 | 0 | 0 |" in claims([kept(finding("a", "agrees"), again)])


def test_claims_tested_again_with_costs_have_that_verdict_beside_the_other() -> None:
    found = [finding("A.", "agrees"), finding("B.", "agrees"), finding("A.", "differs") | {"found": f"{WITH_COSTS}3"}]
    found += [finding("C.", "not judged"), finding("C.", "agrees") | {"found": f"{WITH_COSTS}4", "counts_as": "x"}]
    assert side_by_side(found, {}, {"A": Because("differs", "so")}).splitlines()[2:] == [
        "| section 5 | A. | 1 \\| 2 |  | agrees | **differs**: so |",
        "| section 5 | B. | 1 \\| 2 |  | agrees |  |",
        "| section 5 | C. | 1 \\| 2 |  | not judged | agrees: 4 |",
    ]


def test_how_near_counts_and_who_agrees_stand_beside_a_verdict() -> None:
    of_members = finding("A.", "undecided") | {"members": [2, 3], "counts_as": "within 5 %"}
    of_draws = finding("B.", "undecided") | {"draws": [20, 50]}
    assert side_by_side([of_members, of_draws, finding("C.", "agrees") | {"members": [3, 3]}], {}).splitlines()[2:] == [
        "| section 5 | A. | 1 \\| 2 | within 5 % | **undecided** (2 of 3) |",
        "| section 5 | B. | 1 \\| 2 |  | **undecided** (20 of 50 draws) |",
        "| section 5 | C. | 1 \\| 2 |  | agrees |",
    ]


def test_what_is_not_the_papers_is_told_by_itself() -> None:
    found = [finding("A.", "agrees"), finding("B.", "missed", "Aim of this project")]
    assert not_the_papers(found).splitlines()[2:] == ["| B. | 1 \\| 2 | **missed** |"]


def test_times_are_told_with_a_reason_where_they_are_long() -> None:
    took = [Took("some1999", "quick", 30, 50, 2, "abc"), Took("some1999", "full", 400, 700, 2, "abc")]
    assert times(took, {"some1999": "long trials", "other": ""}).splitlines()[2:] == [
        "| some1999 | 30 s (50 s) | 6 min 40 s (11 min 40 s) | long trials |",
    ]
