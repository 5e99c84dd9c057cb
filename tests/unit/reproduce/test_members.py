# SPDX-License-Identifier: GPL-2.0-or-later
"""Reproductions with an ensemble: medians, ranges, bands, and verdicts on which the members agree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator

from irqlab.config.ensemble import Ensemble
from irqlab.config.testbed import TestbedConfig
from irqlab.present.columns import Col, Nested
from irqlab.report import render
from irqlab.reproduce import find, members, page
from irqlab.reproduce.claims import Claim, Finding, findings_of, judged
from irqlab.reproduce.document import Reproduction
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table
from irqlab.results.document import MethodResult
from irqlab.results.records import EnsembleRow
from irqlab.runner.jobs import JobRunner
from tests.data import reproduction_schema
from tests.unit.fake_session import FakeSession
from tests.unit.paper_tables import spanos


@dataclass(frozen=True)
class Inner:
    count: Annotated[int, Col("count")]


@dataclass(frozen=True)
class Row:
    name: Annotated[str, Col("Name")]
    b_us: Annotated[float | None, Col("B", "µs")]
    yes: Annotated[bool, Col("yes")]
    rx: Annotated[Inner, Nested()]


@dataclass(frozen=True)
class Tables:
    first: Table[Row]
    second: Table[Row] | None = None


def one(b_us: float | None, count: int, yes: bool = True, name: str = "a") -> Tables:
    return Tables(Table("t", Row, (Row("z", 1.0, True, Inner(7)), Row(name, b_us, yes, Inner(count)))))


def test_figures_are_medians_that_were_measured() -> None:
    found = members.medians([one(3.0, 1), one(1.0, 5, False), one(2.0, 3), one(9.0, 4)])
    assert found.first.rows == (Row("z", 1.0, True, Inner(7)), Row("a", 2.0, True, Inner(3)))
    assert members.medians([one(3.0, 1)]) == one(3.0, 1)


def test_what_members_do_not_have_in_common_is_the_first_ones() -> None:
    other = one(5.0, 5, name="b")
    assert members.medians([one(3.0, 1), other]).first == one(3.0, 1).first, "rows of other names"
    longer = Tables(Table("t", Row, (*one(1.0, 1).first.rows, Row("c", None, True, Inner(1)))))
    assert members.medians([one(3.0, 1), longer]) == one(3.0, 1)
    assert members.medians([one(None, 1), one(2.0, 5), one(3.0, 3)]).first.rows[1] == Row("a", None, True, Inner(3))
    assert members.medians([one(2.0, 1), one(None, 5), one(3.0, 3)]).first.rows[1].b_us == 2.0


def test_a_row_that_members_do_not_share_leaves_the_others_their_medians() -> None:
    def table(z_us: float, name: str, b_us: float) -> Table[Row]:
        return Table("t", Row, (Row("z", z_us, True, Inner(7)), Row(name, b_us, True, Inner(1))))

    tables = [table(1.0, "a", 9.0), table(3.0, "b", 5.0), table(2.0, "a", 7.0)]
    found = members.medians(tables)
    assert found == table(2.0, "a", 9.0)
    assert members.ranges(found, tables) == {"b_us": [[1.0, 3.0], [None, None]]}


def test_csv_has_the_ranges_of_what_differs() -> None:
    tables = [one(3.0, 1), one(1.0, 1), one(2.0, 1)]
    first = members.medians(tables).first
    ranges = members.ranges(first, [each.first for each in tables])
    assert ranges == {"b_us": [[1.0, 1.0], [1.0, 3.0]]}
    assert first.to_csv(ranges) == "name,b_us,yes,rx_count,b_us_min,b_us_max\nz,1.0,True,7,1.0,1.0\na,2.0,True,1,1.0,3.0\n"
    assert members.ranges(first, [tables[0].first, Table("t", Row, ())]) == {}
    assert members.ranges(first, [first, one(None, 1).first]) == {}


def claims(tables: Tables) -> list[Finding]:
    """Whether the second row's figure is below 2, and whether the first one's is."""
    text = "is below 2."
    return findings_of(
        [Claim("Table 1", f"{n} {text}", judged(lambda t, n=n: t.first.rows[n].b_us, lambda us: us < 2, str)) for n in (1, 0)],
        tables,
    )


def test_a_finding_on_which_members_differ_is_undecided() -> None:
    tables = [one(1.0, 1), one(1.5, 1), one(2.5, 1)]
    found = members.findings(claims, members.medians(tables), tables)
    assert [(f.verdict, f.members, f.holds) for f in found] == [("undecided", (2, 3), False), ("agrees", (3, 3), True)]
    assert found[0].line.endswith("Measured: 1.5 (2 of 3 members agree)")
    assert found[0].to_json()["members"] == (2, 3)
    alone = members.findings(claims, tables[0], [])
    assert [(f.verdict, f.members) for f in alone] == [("agrees", None), ("agrees", None)]
    assert "members" not in alone[0].to_json()


def test_a_member_that_has_not_measured_it_has_no_vote() -> None:
    tables = [one(1.0, 1), one(None, 1), one(1.5, 1)]
    assert members.findings(claims, tables[0], tables)[0].members == (2, 2)


@dataclass
class Cast(FakeSession):
    def environment(self) -> list[dict[str, Any]]:
        return []


def test_the_page_has_bands_and_ranges_and_the_document_too(tmp_path: Path) -> None:
    sets = iter([spanos(True, False), spanos(False, False)])
    paper: Paper[Any] = Paper(**{**vars(find("spanos2008")), "measure": lambda _: next(sets)})
    session = Cast(ensemble=Ensemble(2, ("phase",)))
    found = Reproduction.measure(paper, session, ["irqlab"])  # type: ignore[arg-type]
    content = json.loads(json.dumps(found.content))
    assert [error.message for error in Draft202012Validator(reproduction_schema.schema(found.tables)).iter_errors(content)] == []
    told = content["measured"]["ensemble"]
    assert (told["members"], told["perturb"]) == (2, ["phase"])
    assert "throughput_mbps" in told["ranges"]["table1_throughput"]
    assert "frame_bytes" not in told["ranges"]["table1_throughput"]
    assert {finding["verdict"] for finding in content["measured"]["findings"]} >= {"undecided"}
    found.content["environment"] = {"irqlab": "0", "host": {}, "duts": []}
    text = render(page.made(paper, found.tables, found.findings, found.content, found.members))
    plain = render(page.made(paper, found.tables, found.findings, found.content))
    assert "medians of 2 members" in text
    assert "Undecided, since members of the ensemble differ on it:" in text
    assert text.count("-band") > plain.count("-band")
    assert 'class="range"' in text


def test_each_member_measures_with_its_own_testbed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[TestbedConfig] = []
    said: list[str] = []

    def resolve(config: TestbedConfig) -> str:
        asked.append(config)
        return f"bed {len(asked)}"

    def run(_: Any, what: str, jobs: Any) -> dict[str, Any]:
        said.append(what)
        return {key: MethodResult.__new__(MethodResult) for key in jobs}

    monkeypatch.setattr("irqlab.reproduce.session.Testbed.resolve", resolve)
    monkeypatch.setattr(JobRunner, "run", run)
    session = Session(TestbedConfig("e100"), ensemble=Ensemble(3, ("phase",)))
    for _ in session.members():
        session.testbed()
        session.all("search", {"a": None})  # type: ignore[dict-item]
    assert [config.member and config.member.number for config in asked] == [0, 1, 2]
    assert said == ["search", "search #1", "search #2"]
    assert [result.ensemble for result in session.results] == [EnsembleRow(number) for number in range(3)]
    alone = Session(TestbedConfig("e100"))
    assert [alone.testbed() for _ in alone.members()] == ["bed 4"]
    assert asked[-1].member is None
