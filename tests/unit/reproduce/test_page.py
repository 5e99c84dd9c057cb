# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' pages and documents, made of tables alone; each page is rendered once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from irqlab import units
from irqlab.report import render
from irqlab.reproduce import PAPERS, document, find, page
from irqlab.reproduce.claims import AIM, Finding
from irqlab.reproduce.document import Reproduction
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.table import tables_from, tables_of
from tests.data import reproduction_schema
from tests.unit.fake_session import FakeSession
from tests.unit.paper_tables import MADE_UP

HOST: dict[str, Any] = {"irqlab": "0", "host": {}, "duts": []}


@dataclass
class _Session(FakeSession):
    def environment(self) -> list[dict[str, Any]]:
        return []


@cache
def reproduction(name: str) -> Reproduction:
    """A paper of which every claim holds."""
    paper = find(name)
    measured: Paper[Any] = Paper(**{**vars(paper), "measure": lambda _: MADE_UP[name](True)})
    found = Reproduction.measure(measured, _Session(), ["irqlab", "reproduce", name])  # type: ignore[arg-type]
    found.content["environment"] = HOST
    return found


@pytest.fixture(scope="session", params=PAPERS)
def rendered(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A paper's name, and its page."""
    found = reproduction(request.param)
    return request.param, render(page.made(found.paper, found.tables, found.findings, found.content))


def test_a_picture_comes_before_the_findings_and_has_what_was_published(rendered: tuple[str, str]) -> None:
    name, text = rendered
    picture, findings, sections = (text.index(mark) for mark in ('class="picture"', 'class="verdicts"', "<section"))
    assert picture < findings < sections
    shown = text[picture:findings]
    assert shown.count("<figure") >= 2
    published = {
        "spanos2008": "-paper",
        "rtl8139cp": "-paper",
        "salah2009": "cross-series",
        "lan78xx": "letter",
        "mogul1997": "-paper",
        "hybrid": "series-3",
    }[name]
    assert published in shown


def test_every_finding_is_in_the_list_with_its_verdict(rendered: tuple[str, str]) -> None:
    name, text = rendered
    listed = re.search(r'<ul class="verdicts">(.*?)</ul>', text, re.S)
    assert listed is not None
    items = re.findall(r'<li><strong class="(\w+)">([\w ]+)</strong>', listed[1])
    every = reproduction(name).findings
    assert items == [("good" if finding.holds else "none", finding.verdict) for finding in every], "all hold, or are not tested"
    of_paper = [finding for finding in every if finding.of_paper and finding.holds]
    again = sum(finding.again for finding in of_paper)
    claims = len(of_paper) - again
    assert f"What was measured agrees with {claims} of its {claims} claims tested." in text
    assert (f"With the costs of hardware it agrees with {again} of {again}." in text) == bool(again) == (name == "spanos2008")


def test_identifiers_are_unique_in_a_page(rendered: tuple[str, str]) -> None:
    identifiers = re.findall(r' id="([^"]*)"', rendered[1])
    assert len(identifiers) == len(set(identifiers))
    assert "@@" not in rendered[1]


def test_legends_refer_to_swatches_that_are_there(rendered: tuple[str, str]) -> None:
    assert set(re.findall(r'href="#(key-[^"]*)"', rendered[1])) <= set(re.findall(r' id="([^"]*)"', rendered[1]))


@pytest.mark.parametrize("name", PAPERS)
def test_the_document_is_of_the_schema_that_follows_from_the_rows(name: str) -> None:
    found = reproduction(name)
    schema = reproduction_schema.schema(found.tables)
    Draft202012Validator.check_schema(schema)
    content = json.loads(json.dumps(found.content))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(content)] == []
    table = next(iter(content["measured"]["tables"].values()))
    table["rows"][0][0] = ["no", "scalar"]
    assert list(Draft202012Validator(schema).iter_errors(content))


@pytest.mark.parametrize("name", PAPERS)
def test_headings_say_what_columns_hold(name: str) -> None:
    for table in tables_of(reproduction(name).tables).values():
        shown = page.table(table)
        assert len(shown.rows) == len(table.rows)
        assert [len(row) for row in shown.rows] == [len(shown.columns)] * len(shown.rows)


def test_files_are_the_page_the_document_and_a_csv_per_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "render", lambda _: "<html>")
    found = reproduction("rtl8139cp")
    (tmp_path / "out").mkdir()
    files = found.write(tmp_path / "out")
    names = [*tables_of(found.tables)]
    assert [file.name for file in files] == ["rtl8139cp.html", "rtl8139cp.json", *(f"{name}.csv" for name in names)]
    content = json.loads(files[1].read_text())
    assert (content["schema"], content["paper"]["name"]) == ("irqlab-reproduction/2", "rtl8139cp")
    assert content["measured"]["findings"] == [finding.to_json() for finding in found.findings]
    for name in names:
        heading = (tmp_path / "out" / f"{name}.csv").read_text().partition("\n")[0]
        assert heading == ",".join(content["measured"]["tables"][name]["columns"])


def test_a_finding_is_escaped() -> None:
    text = page.verdict(Finding(AIM, "a < b.", False, "<b>."))
    assert text == '<strong class="warn">missed</strong> Aim of this project: a &lt; b.<br>Measured: &lt;b&gt;.'


def test_a_grid_has_a_row_for_each_value_and_columns_for_the_others() -> None:
    gains = MADE_UP["spanos2008"](True).table2_improvement
    grid = page.grid(gains, "frame_bytes", "variant", ("improvement_percent", "paper_percent"), ("NAPI", "TX-OFF", "missing"))
    assert [column.text for column in grid.columns] == [
        "Frame, bytes", "NAPI, %", "paper", "TX-OFF, %", "paper", "missing, %", "paper",
    ]  # fmt: skip
    assert [cell.text for cell in grid.rows[0]] == ["64", "28.8", "28.8", "21.2", "21.2", units.NONE, units.NONE]
    assert len(grid.rows) == 8


def test_a_transposed_table_has_a_column_for_each_row() -> None:
    phases = MADE_UP["spanos2008"](True).table5_phases
    table = page.transposed(phases, "variant", ("rx_instructions", "rx_us"), "c")
    assert [column.text for column in table.columns][:2] == ["", "ORIGINAL"]
    assert [[cell.text for cell in row][:2] for row in table.rows] == [["T_RX, instructions", "100"], ["T_RX, µs", "0.4000"]]


def test_the_sections_are_the_papers_in_their_order(rendered: tuple[str, str]) -> None:
    sections = {
        "spanos2008": ["throughput", "interrupts", "livelock", "model", "phases", "hardware", "causes"],
        "salah2009": ["cliff", "budget", "figure7", "ping", "switching", "today", "why", "experiments"],
        "hybrid": ["kernels", "latency", "conditions", "softirqs", "cliff"],
        "rtl8139cp": ["receive", "period", "range", "ablation", "costs", "provenance"],
        "lan78xx": [
            "tcp-rx",
            "tcp-tx",
            "udp-rx",
            "udp-tx",
            "ratios",
            "ablation",
            "forwarding",
            "rrul",
            "causes",
            "processors",
            "sending",
        ],
        "mogul1997": ["unmodified", "polling", "screend", "cpu", "causes"],
    }[rendered[0]]
    assert re.findall(r'<section id="([^"]*)"', rendered[1]) == [*sections, "measured-on", "reproduce"]


@pytest.mark.parametrize("name", PAPERS)
def test_tables_are_read_from_their_csv_files(name: str) -> None:
    made = MADE_UP[name](True)
    named = tables_of(made)
    files = {one: table.to_csv() for one, table in named.items()}
    read = tables_of(tables_from(type(made), files))
    assert {one: table.rows for one, table in read.items()} == {one: table.rows for one, table in named.items()}
    first = next(iter(named))
    assert tables_from(type(made), {one: text for one, text in files.items() if one != first}) is None
